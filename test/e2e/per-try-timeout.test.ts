import { Metadata, status } from '@grpc/grpc-js';
import { CountingServer, TalkClient } from '../support/counting-server';
import { eventually } from '../support/eventually';
import { Mesh, SERVICE, simpleResources } from '../support/mesh';
import type { Json } from '../support/xds-json';

jest.setTimeout(60_000);

const VARIABLE = 'GRPC_XDS_NODE_ENVOY_FEATURES';
const TRY_MS = 150;

/** For a long run: `CALLS=10000`. */
const CALLS = Number(process.env['CALLS'] ?? 300);

const retryPolicy = (changed: Json = {}): Json => ({
  retry_policy: {
    retry_on: 'deadline-exceeded',
    num_retries: 2,
    per_try_timeout: `${TRY_MS / 1000}s`,
    retry_back_off: { base_interval: '0.001s' },
    ...changed,
  },
});

describe('the timeout of a try', () => {
  const mesh = new Mesh();
  let client: TalkClient;
  let server: CountingServer | undefined;

  beforeAll(async () => {
    process.env[VARIABLE] = 'true';
    await mesh.begin();
  });
  beforeEach(() => {
    client = new TalkClient(`xds:///${SERVICE}`);
  });
  afterEach(() => {
    client.close();
    server?.stop();
  });
  afterAll(() => {
    mesh.stop();
    Reflect.deleteProperty(process.env, VARIABLE);
  });

  /** Serves a server that answers as said, and waits for a first call. */
  async function serve(
    route: Json,
    answer?: Parameters<typeof CountingServer.start>[0],
  ): Promise<CountingServer> {
    server = await CountingServer.start(answer);
    mesh.serve(simpleResources([server.port], route));
    return server;
  }

  it('has the call tried again, as often as the policy says', async () => {
    const { seen } = await serve(retryPolicy(), (call, previous) => {
      if (previous === 2) call.end();
    });
    expect(await client.talk()).toMatchObject({ code: status.OK });
    expect(seen.map(({ messages }) => messages)).toEqual([['hello'], ['hello'], ['hello']]);
  });

  it('fails the call after its last try, and cancels it at the server', async () => {
    const { seen, port } = await serve(retryPolicy(), () => {});
    const { code, details } = await client.talk();
    expect([status[code], details]).toEqual([
      'DEADLINE_EXCEEDED',
      expect.stringContaining(
        `Cluster "echo": 127.0.0.1:${port} has not answered a try within 0.15 s: see per_try_timeout of the route`,
      ),
    ]);
    await eventually(() => seen.map(({ isCancelled }) => isCancelled), [true, true, true]);
  });

  it('ends with the headers of the response', async () => {
    const { seen } = await serve(retryPolicy(), (call) => {
      call.sendMetadata(new Metadata());
      setTimeout(() => call.end(), 2 * TRY_MS);
    });
    expect(await client.talk()).toMatchObject({ code: status.OK });
    expect(seen).toHaveLength(1);
  });

  it.each([
    ['a policy that does not retry its status', { retry_on: 'unavailable' }],
    ['a timeout of 0', { per_try_timeout: '0s' }],
  ])('is not applied with %s', async (_name, changed) => {
    const { seen } = await serve(retryPolicy(changed), () => {});
    // The server may see the deadline first, and its text is shorter.
    expect((await client.talk(['hello'], 4 * TRY_MS)).details).toMatch(/^Deadline exceeded/);
    expect(seen).toHaveLength(1);
  });

  it('leaves nothing behind of calls that are answered', async () => {
    const { seen } = await serve(retryPolicy({ per_try_timeout: '30s' }));
    for (let i = 0; i < CALLS; i += 50) {
      await Promise.all(Array.from({ length: 50 }, () => client.talk()));
    }
    expect(seen).toHaveLength(CALLS);
    // A timer that is left would keep its call for half a minute.
    const timers = process.getActiveResourcesInfo().filter((name) => name === 'Timeout');
    expect(timers.length).toBeLessThan(50);
  });
});
