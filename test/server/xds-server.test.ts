import { ServerCredentials } from '@grpc/grpc-js';
import { XdsServerCredentials, type XdsServer } from '../../src/server';
import { eventually } from '../support/eventually';
import {
  callServer,
  openStream,
  rbacFilter,
  rdsRoutes,
  serverChain,
  serverRouteConfig,
  inlineRoutes,
  useServerWorld,
} from '../support/xds-server-world';
import { routerFilter } from '../support/xds-json';

const world = useServerWorld();

const lastState = () => world.states.at(-1)?.state;

it('listens once there is a Listener, and says so', async () => {
  const server = world.server();
  const bound = world.bind(server);
  expect(await world.connects()).toBe('refused');
  world.serve([world.listener()]);
  expect(await bound).toEqual({ error: null, port: world.port });
  expect(world.states).toEqual([{ state: 'SERVING', error: undefined }]);
  expect(await callServer(world.client())).toBe('OK');
});

it('takes new routes on the connections that there are', async () => {
  const listener = world.listener([serverChain(rdsRoutes('r'))]);
  world.serve([listener], [serverRouteConfig('r')]);
  await world.bind(world.server());
  const client = world.client();
  expect(await callServer(client)).toBe('OK');
  world.serve([listener], [serverRouteConfig('r', [])]);
  const after = await eventually(
    () => callServer(client),
    (status) => status !== 'OK',
  );
  expect(after).toMatch(/^UNAVAILABLE: no route of this server/);
  expect(world.peers.size).toBe(1);
});

describe('an address', () => {
  it('is not served for a Listener of another address, and is once that is corrected', async () => {
    const bound = world.bind(world.server());
    const wrong = { socket_address: { address: '10.9.8.7', port_value: world.port } };
    world.serve([world.listener([serverChain()], { address: wrong })]);
    await eventually(lastState, 'NOT_SERVING');
    expect(world.states[0]?.error).toContain('10.9.8.7');
    expect(await world.connects()).toBe('refused');
    world.serve([world.listener()]);
    expect(await bound).toEqual({ error: null, port: world.port });
    expect(await callServer(world.client())).toBe('OK');
  });

  it('is not served when its Listener is deleted: streams go on, and it is served again by the same one', async () => {
    world.serve([world.listener()]);
    await world.bind(world.server());
    const stream = openStream(world.client());
    const echo = () =>
      new Promise<string>((resolve) => {
        stream.once('data', (data: Buffer) => resolve(String(data)));
        stream.write(Buffer.from('still here'));
      });
    expect(await echo()).toBe('still here');
    world.serve([]);
    await eventually(lastState, 'NOT_SERVING');
    expect(world.states.at(-1)?.error).toContain(world.listenerName);
    expect(await world.connects()).toBe('refused');
    expect(await echo()).toBe('still here');
    world.serve([world.listener()]);
    await eventually(lastState, 'SERVING');
    expect(await callServer(world.client())).toBe('OK');
    expect(await echo()).toBe('still here');
    stream.end();
    await new Promise((resolve) => stream.once('end', resolve));
  });

  it('stays served while its control plane is gone, and is changed by the next one', async () => {
    world.serve([world.listener()]);
    await world.bind(world.server());
    void world.controlPlane.close({ force: true });
    expect(await callServer(world.client())).toBe('OK');
    const denied = [rbacFilter('DENY', [{ any: true }]), routerFilter];
    const chain = serverChain({ ...inlineRoutes(), http_filters: denied });
    await world.restartControlPlane([world.listener([chain])]);
    const after = await eventually(
      () => callServer(world.client()),
      (status) => status !== 'OK',
    );
    expect(after).toBe('PERMISSION_DENIED: unauthorized RPC request rejected');
    expect(world.states).toEqual([{ state: 'SERVING', error: undefined }]);
  });
});

describe('a changed Listener (gRFC A36)', () => {
  const changed = (name: string) => world.listener([serverChain(inlineRoutes(), { name })]);

  it('drains the connections of the one before, and accepts new ones all the time', async () => {
    world.serve([changed('one')]);
    await world.bind(world.server());
    const client = world.client();
    const stream = openStream(client);
    const ended = new Promise<number>((resolve) =>
      stream.once('status', ({ code }: { code: number }) => resolve(code)),
    );
    expect(await callServer(client)).toBe('OK');
    world.serve([changed('two')]);
    await eventually(
      () => callServer(client),
      () => world.peers.size === 2,
    );
    stream.on('data', () => stream.end());
    stream.write(Buffer.from('x'));
    expect(await ended).toBe(0);
    expect(world.states).toHaveLength(1);
  });

  it('drains nothing if it differs in what has no effect, and uses routes that change then', async () => {
    const listener = (stat_prefix: string) =>
      world.listener([serverChain({ ...rdsRoutes('r'), stat_prefix })], { stat_prefix });
    world.serve([listener('one')], [serverRouteConfig('r')]);
    await world.bind(world.server({ drainGraceTimeMs: 50 }));
    const client = world.client();
    const stream = openStream(client);
    expect(await callServer(client)).toBe('OK');
    world.serve([listener('two')], [serverRouteConfig('r')]);
    world.serve([listener('three')], [serverRouteConfig('r', [])]);
    const refused = await eventually(
      () => callServer(client),
      (status) => status !== 'OK',
    );
    expect(refused).toContain('UNAVAILABLE');
    expect(world.peers.size).toBe(1);
    const echoed = new Promise((resolve) => stream.once('data', resolve));
    stream.write(Buffer.from('x'));
    expect(await echoed).toEqual(Buffer.from('x'));
    const ended = new Promise((resolve) => stream.once('status', resolve));
    stream.end();
    expect(await ended).toMatchObject({ code: 0 });
  });

  it('cancels calls that outlast the grace time', async () => {
    world.serve([changed('one')]);
    await world.bind(world.server({ drainGraceTimeMs: 50 }));
    const stream = openStream(world.client());
    const ended = new Promise<number>((resolve) => {
      stream.once('error', () => undefined);
      stream.once('status', ({ code }: { code: number }) => resolve(code));
    });
    await new Promise((resolve) => {
      stream.once('data', resolve);
      stream.write(Buffer.from('x'));
    });
    world.serve([changed('two')]);
    expect(await ended).not.toBe(0);
  });

  it('fails no call under load', async () => {
    world.serve([changed('0')]);
    await world.bind(world.server({ drainJitterMs: 20 }));
    const statuses = new Map<string, number>();
    let isOver = false;
    const load = Array.from({ length: 4 }, async () => {
      const client = world.client();
      while (!isOver) {
        const all = await Promise.all(Array.from({ length: 5 }, () => callServer(client)));
        for (const each of all) statuses.set(each, (statuses.get(each) ?? 0) + 1);
      }
    });
    // A client that has not come yet would not see the change, and would be waited for in vain.
    const allHaveConnected = (times: number) =>
      eventually(
        () => world.peers.size,
        (size) => size >= 4 * times,
      );
    await allHaveConnected(1);
    for (let i = 1; i <= 2; i++) {
      world.serve([changed(String(i))]);
      await allHaveConnected(1 + i);
    }
    isOver = true;
    await Promise.all(load);
    expect([...statuses.keys()]).toEqual(['OK']);
  });

  it('closes no connection if it is the same, or if it is rejected', async () => {
    world.serve([changed('one')]);
    await world.bind(world.server());
    const client = world.client();
    expect(await callServer(client)).toBe('OK');
    world.serve([world.listener([serverChain({ route_config: {}, http_filters: [] })])]);
    const isRejected = () =>
      world.controlPlane
        .clients()
        .some(({ types }) => [...types.values()].some(({ rejection }) => rejection !== undefined));
    await eventually(isRejected, true);
    world.serve([changed('one')]);
    expect(await callServer(client)).toBe('OK');
    expect(world.peers.size).toBe(1);
    expect(world.states).toHaveLength(1);
  });
});

describe('the filter chain of a connection', () => {
  it('is that of its addresses; without one it is closed without a byte', async () => {
    world.stop();
    await world.begin('0.0.0.0');
    const allowed = serverChain(inlineRoutes(), {
      name: 'allowed',
      filter_chain_match: { prefix_ranges: [{ address_prefix: '127.0.0.1', prefix_len: 32 }] },
    });
    const filters = [rbacFilter('DENY', [{ any: true }]), routerFilter];
    const denied = serverChain(
      { ...inlineRoutes(), http_filters: filters },
      {
        name: 'denied',
        filter_chain_match: { prefix_ranges: [{ address_prefix: '127.0.0.2', prefix_len: 32 }] },
      },
    );
    world.serve([world.listener([allowed, denied])]);
    await world.bind(world.server());
    expect(await callServer(world.client())).toBe('OK');
    expect(await callServer(world.client(undefined, '127.0.0.2'))).toMatch(/^PERMISSION_DENIED/);
    expect(await world.connects('127.0.0.3')).toBe('closed');
    expect(await world.connects()).toBe('open');
  });
});

describe('bindAsync', () => {
  const credentials = new XdsServerCredentials(ServerCredentials.createInsecure());
  const bind = (address: string) => () =>
    world.server().bindAsync(address, credentials, () => undefined);

  it.each([
    ['localhost:50051', /its Listener is found by an IP address/],
    ['dns:///shop:50051', /its Listener is found by an IP address/],
    ['unix:/tmp/x', /use a Server of @grpc\/grpc-js/],
    ['127.0.0.1:0', /the port must be from 1 to 65535/],
    ['127.0.0.1:65536', /the port must be from 1 to 65535/],
    ['127.0.0.1', /its Listener is found by an IP address/],
    [':::50051', /its Listener is found by an IP address/],
    ['[127.0.0.1]:50051', /its Listener is found by an IP address/],
  ])('refuses %s, with the cure', (address, cure) => {
    expect(bind(address)).toThrow(cure);
  });

  it.each([undefined, null, 1, {}, Object.create(null), Symbol('x'), ['127.0.0.1:1']])(
    'refuses %p',
    (address: unknown) => {
      const server = world.server();
      const legal = 'an IP address with a port, such as 0.0.0.0:50051';
      const text = address as string;
      expect(() => server.bindAsync(text, credentials, () => undefined)).toThrow(
        `grpc-xds: address of bindAsync() must be ${legal}`,
      );
      expect(() => server.unbind(text)).toThrow(`address of unbind() must be ${legal}`);
      expect(() => server.removeServingStateListener(text, () => undefined)).toThrow(legal);
      if (text !== undefined) expect(() => server.drain(text)).toThrow(legal);
    },
  );

  it('and drain() refuse what is no address, credentials or callback', () => {
    const server = world.server();
    const no = undefined as never;
    expect(() => server.drain('')).toThrow('cannot bind ""');
    expect(() => server.drain(world.address, NaN)).toThrow('graceTimeMs of drain()');
    expect(() => server.bindAsync(world.address, no, () => undefined)).toThrow('credentials of');
    expect(() => server.bindAsync(world.address, credentials, no)).toThrow('callback of bindAsync');
    expect(() => server.tryShutdown(no)).toThrow('callback of tryShutdown()');
    expect(() => server.addServingStateListener(world.address, no)).toThrow('listener of');
  });

  it('serves one address for all that bind it with the same credentials', async () => {
    world.serve([world.listener()]);
    const server = world.server();
    const bound = await Promise.all([world.bind(server), world.bind(server)]);
    expect(bound.map(({ error }) => error)).toEqual([null, null]);
    expect(await world.bind(server)).toEqual({ error: null, port: world.port });
    const other = await world.bind(server, ServerCredentials.createInsecure());
    expect(other.error?.message).toContain('incompatible credentials');
  });

  it('ends with an error if the address is unbound, or the server shut down, before it is served', async () => {
    const server = world.server();
    const unbound = world.bind(server);
    server.unbind(world.address);
    expect((await unbound).error?.message).toContain('unbound before it was served');
    const shut = world.bind(server);
    server.tryShutdown(() => undefined);
    expect((await shut).error?.message).toContain('shut down before it was served');
    expect(() => void world.bind(server).catch(() => undefined)).not.toThrow();
    expect(bindNow(server)).toThrow('bindAsync() called after shutdown');
  });

  it('ends with an error without a bootstrap', async () => {
    const { error } = await world.bind(world.server({ bootstrap: '{}' }));
    expect(error?.message).toContain('bootstrap');
  });

  function bindNow(server: XdsServer) {
    return () => server.bindAsync(world.address, credentials, () => undefined);
  }
});

describe('tryShutdown', () => {
  it('waits for calls, on connections that were drained, too', async () => {
    world.serve([world.listener([serverChain(inlineRoutes(), { name: 'one' })])]);
    const server = world.server();
    await world.bind(server);
    const stream = openStream(world.client());
    await new Promise((resolve) => {
      stream.once('data', resolve);
      stream.write(Buffer.from('x'));
    });
    world.serve([world.listener([serverChain(inlineRoutes(), { name: 'two' })])]);
    const client = world.client();
    expect(await callServer(client)).toBe('OK');
    let isDown = false;
    const down = new Promise<Error | undefined>((resolve) => server.tryShutdown(resolve)).then(
      (error) => {
        isDown = true;
        return error;
      },
    );
    await eventually(() => world.connects(), 'refused');
    expect(isDown).toBe(false);
    const ended = new Promise<number>((resolve) =>
      stream.once('status', ({ code }: { code: number }) => resolve(code)),
    );
    stream.end();
    stream.resume();
    expect(await ended).toBe(0);
    expect(await down).toBeUndefined();
    await eventually(() => world.controlPlane.clients().length, 0);
  });

  it('start() does nothing', () => {
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- it is what is tested
    expect(() => world.server().start()).not.toThrow();
  });
});
