import { credentials } from '@grpc/grpc-js';
import { registerChannelCredentials } from '../../../src';
import { EchoClient } from '../../support/echo-backend';
import { eventually } from '../../support/eventually';
import { NODE_ID, SERVICE, simpleResources, registerAnew, useMesh } from '../../support/mesh';

describe('channel credentials of an application', () => {
  const mesh = useMesh();
  const clients: EchoClient[] = [];

  afterEach(() => {
    for (const client of clients.splice(0)) client.close();
  });

  /** A client whose bootstrap names credentials of a type. */
  function use(type: string, config?: object): EchoClient {
    const server = { server_uri: mesh.address, channel_creds: [{ type, config }] };
    registerAnew({ bootstrap: { xds_servers: [server], node: { id: NODE_ID } } });
    const client = new EchoClient(`xds:///${SERVICE}`);
    clients.push(client);
    return client;
  }

  it('are used by a bootstrap with their type, also after a later register()', async () => {
    const backend = await mesh.backend('b');
    mesh.serve(simpleResources([backend.port]));
    const seen: unknown[] = [];
    registerChannelCredentials({
      type: 'test_plain',
      parseConfig: ({ mood }) => {
        if (typeof mood !== 'string') throw new Error('mood: must be a string');
        return mood;
      },
      create(mood) {
        seen.push(mood);
        return credentials.createInsecure();
      },
    });
    expect(await use('test_plain', { mood: 'good' }).say()).toBe('b');
    registerAnew();
    expect(await use('test_plain', { mood: 'better', other: null }).say()).toBe('b');
    expect(seen).toEqual(['good', 'better']);
  });

  it('report all violations of their configuration', async () => {
    registerChannelCredentials({
      type: 'test_strict',
      parseConfig(config) {
        if (Object.keys(config).length === 0) throw new Error();
        throw new AggregateError([new Error('a: must be there'), new Error('b: must not')]);
      },
      create: () => credentials.createInsecure(),
    });
    const place = 'xds_servers\\[0\\]\\.channel_creds\\[0\\]\\.config';
    await expect(use('test_strict', { c: 1 }).say()).rejects.toMatchObject({
      details: expect.stringMatching(`${place}: a: must be there; ${place}: b: must not`),
    });
    await expect(use('test_strict').say()).rejects.toMatchObject({
      details: expect.stringMatching(`${place}: is invalid`),
    });
  });

  it('may fail to be created, which is in the status of waiting calls', async () => {
    let hasKey = false;
    const backend = await mesh.backend('b');
    mesh.serve(simpleResources([backend.port]));
    registerChannelCredentials({
      type: 'test_late',
      parseConfig: () => undefined,
      create() {
        if (hasKey) return credentials.createInsecure();
        throw new Error('the key has not been delivered');
      },
    });
    const client = use('test_late');
    const failure = await client.failure();
    expect(failure).toMatchObject({
      code: 14,
      details: expect.stringMatching(
        /cannot be used: channel credentials of type "test_late": the key has not been delivered/,
      ),
    });
    hasKey = true;
    await eventually(() => client.say().catch((error: Error) => error.message), 'b', 60_000);
  }, 90_000);

  it('need a name', () => {
    expect(() =>
      registerChannelCredentials({
        type: '',
        parseConfig: () => undefined,
        create: () => credentials.createInsecure(),
      }),
    ).toThrow('type of registerChannelCredentials() must be a string that is not empty');
  });
});
