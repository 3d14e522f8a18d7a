import { Metadata, ServerCredentials } from '@grpc/grpc-js';
import { CallFailedError, registerHttpFilter, shutdown, type RequestFilter } from '../../src';
import { XdsServerCredentials, type ServingStateListener } from '../../src/server';
import { eventually } from '../support/eventually';
import { callServer, inlineRoutes, serverChain, useServerWorld } from '../support/xds-server-world';
import { routerFilter, type Json } from '../support/xds-json';
import { registerAnew } from '../support/mesh';

const world = useServerWorld();
let rejections: unknown[];
const onRejection = (reason: unknown) => void rejections.push(reason);

beforeEach(() => {
  rejections = [];
  process.on('unhandledRejection', onRejection);
});

afterEach(async () => {
  // A rejection that nothing handles is reported in the next turn.
  await new Promise(setImmediate);
  process.off('unhandledRejection', onRejection);
  expect(rejections).toEqual([]);
});

const plain = () => new XdsServerCredentials(ServerCredentials.createInsecure());

describe('a filter of an application', () => {
  let number = 0;

  /** Returns the status of a call through a filter, and its trailers. */
  async function callThrough(createServerFilter: () => RequestFilter | undefined) {
    const type = `test.Filter${number++}`;
    registerHttpFilter({ configTypes: [type], parseConfig: () => 0, createServerFilter });
    const filter: Json = {
      name: 'own',
      typed_config: {
        '@type': 'type.googleapis.com/xds.type.v3.TypedStruct',
        type_url: `type.googleapis.com/${type}`,
        value: {},
      },
    };
    const http_filters = [filter, routerFilter];
    world.serve([world.listener([serverChain({ ...inlineRoutes(), http_filters })])]);
    await world.bind(world.server());
    const client = world.client();
    const trailers = new Promise<Metadata>((resolve) => {
      const same = (bytes: Buffer) => bytes;
      client
        .makeUnaryRequest('/test.Echo/Say', same, same, Buffer.alloc(0), () => undefined)
        .once('status', ({ metadata }) => resolve(metadata));
    });
    return { status: await callServer(client), trailers: (await trailers).getMap() };
  }

  it('ends a call with its status and the trailers of that', async () => {
    const metadata = new Metadata();
    metadata.set('retry-hint', 'never');
    const failure = { code: 8, details: 'quota', metadata };
    const seen = await callThrough(() => ({
      onRequest: () => {
        throw new CallFailedError(failure);
      },
    }));
    expect(seen.status).toBe('RESOURCE_EXHAUSTED: quota');
    expect(seen.trailers).toMatchObject({ 'retry-hint': 'never' });
  });

  const fault = (): never => {
    throw new TypeError('secret');
  };

  it.each<[name: string, create: () => unknown]>([
    ['throws when it is created', fault],
    ['is created late', () => Promise.reject(new Error('secret'))],
    ['is none', () => 'secret'],
    ['throws', () => ({ onRequest: fault })],
    ['judges late', () => ({ onRequest: () => Promise.reject(new Error('secret')) })],
    ['passes late', () => ({ onRequest: () => Promise.resolve() })],
    ['returns a refusal', () => ({ onRequest: () => ({ code: 7, details: 'secret' }) })],
    [
      'ends a call with OK',
      () => ({
        onRequest: () => {
          throw new CallFailedError({ code: 0, details: 'secret' });
        },
      }),
    ],
  ])('that %s lets no call through, and says nothing of it', async (_name, create) => {
    const { status } = await callThrough(create as () => RequestFilter);
    expect(status).not.toContain('secret');
    expect(world.calls).toBe(0);
    expect(world.states).toEqual([{ state: 'SERVING', error: undefined }]);
  });
});

describe('listenerName', () => {
  it.each<[name: string, listenerName: () => unknown]>([
    ['returns a promise', () => Promise.resolve('x')],
    ['returns a promise that is rejected', () => Promise.reject(new Error('no name'))],
    ['returns nothing', () => undefined],
    [
      'throws',
      () => {
        throw new Error('no name');
      },
    ],
  ])('that %s is an error of bindAsync', async (_name, listenerName) => {
    const { error } = await world.bind(
      world.server({ listenerName: listenerName as () => string }),
    );
    expect(error?.message).toMatch(/bindAsync\(\): 127\.0\.0\.1:\d+: the function listenerName/);
  });
});

describe('a listener of the state', () => {
  it('may unbind the address, and end the server, while it is notified', async () => {
    const server = world.server({
      onServingState: (address) => {
        server.unbind(address);
        server.forceShutdown();
      },
    });
    const bound = world.bind(server);
    world.serve([world.listener()]);
    expect((await bound).error?.message ?? '').toMatch(/^$|unbound/);
    await eventually(() => world.connects(), 'refused');
    await new Promise((resolve) => server.tryShutdown(resolve));
  });

  it('may return a promise that is rejected', async () => {
    const seen: string[] = [];
    const onServingState: unknown = (_address: string, state: string) => {
      seen.push(state);
      return Promise.reject(new Error('of the application'));
    };
    world.serve([world.listener()]);
    const server = world.server({ onServingState: onServingState as ServingStateListener });
    server.addServingStateListener(world.address, () => {
      throw new Error('of the application');
    });
    await world.bind(server);
    expect(await callServer(world.client())).toBe('OK');
    expect(seen).toEqual(['SERVING']);
  });
});

it('an address is bound again after shutdown() of the package', async () => {
  world.serve([world.listener()]);
  registerAnew({ bootstrap: world.bootstrap });
  const server = world.server({ bootstrap: undefined });
  expect((await world.bind(server)).error).toBeNull();
  await shutdown();
  await eventually(() => world.connects(), 'refused');
  registerAnew({ bootstrap: world.bootstrap });
  expect(await world.bind(server)).toEqual({ error: null, port: world.port });
  expect(await callServer(world.client())).toBe('OK');
  server.bindAsync(world.address, plain(), () => undefined);
  await shutdown();
});
