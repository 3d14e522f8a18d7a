import { status } from '@grpc/grpc-js';
import { CountingServer, TalkClient } from '../support/counting-server';
import { eventually } from '../support/eventually';
import { Mesh, SERVICE } from '../support/mesh';
import {
  edsClusterJson,
  endpointsJson,
  listenerJson,
  routeConfigJson,
  routeToCluster,
  type Json,
} from '../support/xds-json';

jest.setTimeout(120_000);

const VARIABLE = 'GRPC_XDS_NODE_ENVOY_FEATURES';

/** For a long run: `CALLS=10000`. */
const CALLS = Number(process.env['CALLS'] ?? 100);

const toMirror = (percent?: number): Json => ({
  request_mirror_policies: [
    {
      cluster: 'mirror',
      ...(percent !== undefined && {
        runtime_fraction: { default_value: { numerator: percent } },
      }),
    },
  ],
});

describe('the mirror of a route', () => {
  const mesh = new Mesh({ controlPlane: { loadReporting: { intervalMs: 100 } } });
  let client: TalkClient;
  const servers: CountingServer[] = [];

  beforeAll(async () => {
    process.env[VARIABLE] = 'true';
    await mesh.begin();
  });
  beforeEach(() => {
    client = new TalkClient(`xds:///${SERVICE}`);
  });
  afterEach(() => {
    client.close();
    for (const server of servers.splice(0)) server.stop();
  });
  afterAll(() => {
    mesh.stop();
    Reflect.deleteProperty(process.env, VARIABLE);
  });

  type Answer = Parameters<typeof CountingServer.start>[0];

  async function start(answer?: Answer): Promise<CountingServer> {
    const server = await CountingServer.start(answer);
    servers.push(server);
    return server;
  }

  interface Service {
    readonly route: Json;
    readonly host?: Json;
    readonly mirrorCluster?: Json;
    readonly main?: Answer;
    readonly mirror?: Answer;
  }

  async function serve({ route, host = {}, mirrorCluster = {}, ...answers }: Service) {
    const main = await start(answers.main);
    const mirror = await start(answers.mirror);
    const routes = routeConfigJson('routes', [routeToCluster('main', route)]);
    const hosts = (routes['virtual_hosts'] as readonly Json[]).map((each) => ({
      ...each,
      ...host,
    }));
    const lrs = { lrs_server: { self: {} } };
    mesh.serve({
      listeners: [listenerJson(SERVICE, 'routes')],
      routes: [{ ...routes, virtual_hosts: hosts }],
      clusters: [
        edsClusterJson('main', lrs),
        edsClusterJson('mirror', { ...lrs, ...mirrorCluster }),
      ],
      endpoints: [
        endpointsJson('main', [{ zone: 'a', ports: [main.port] }]),
        endpointsJson('mirror', [{ zone: 'a', ports: [mirror.port] }]),
      ],
    });
    return { main, mirror };
  }

  /** Calls until a copy has come: the first calls do not wait for the connection of the mirror. */
  async function untilMirrored({ mirror }: { readonly mirror: CountingServer }): Promise<void> {
    await eventually(async () => {
      await client.talk();
      return mirror.calls > 0;
    }, true);
  }

  async function callAll(count: number): Promise<void> {
    for (let i = 0; i < count; i += 25) {
      const calls = Array.from({ length: Math.min(25, count - i) }, () => client.talk());
      for (const { code } of await Promise.all(calls)) expect(code).toBe(status.OK);
    }
  }

  it('gets each call once, with all of its messages', async () => {
    const scene = await serve({ route: toMirror() });
    await untilMirrored(scene);
    const { main, mirror } = scene;
    const before = [main.calls, mirror.calls];
    await callAll(CALLS);
    const many = Array.from({ length: 50 }, (_, i) => `message ${i}`);
    expect(await client.talk(many)).toMatchObject({ code: status.OK });
    await eventually(
      () => [main.calls, mirror.calls].map((calls, i) => calls - (before[i] ?? 0)),
      [CALLS + 1, CALLS + 1],
    );
    await eventually(() => mirror.seen.at(-1)?.isComplete, true);
    expect(mirror.seen.at(-1)?.messages).toEqual(many);
  });

  it('is counted by its own cluster', async () => {
    const scene = await serve({ route: toMirror() });
    mesh.controlPlane.clearLoads();
    await untilMirrored(scene);
    await callAll(20);
    const issued = (name: string) => {
      const loads = mesh.controlPlane.loads().find(({ cluster }) => cluster === name);
      return loads?.localities.reduce((sum, locality) => sum + locality.issued, 0) ?? 0;
    };
    await eventually(
      () => [scene.main.calls - issued('main'), scene.mirror.calls - issued('mirror')],
      [0, 0],
    );
  });

  it('gets the share of the calls that the policy says, and none with 0 %', async () => {
    const half = await serve({ route: toMirror(50) });
    await untilMirrored(half);
    const before = half.mirror.calls;
    await callAll(400);
    await eventually(
      () => half.mirror.calls - before,
      (calls) => calls > 140 && calls < 260,
    );
    const none = await serve({ route: toMirror(0) });
    await eventually(async () => {
      await client.talk();
      return none.main.calls > 0;
    }, true);
    await callAll(20);
    expect(none.mirror.calls).toBe(0);
  });

  it('is that of the virtual host unless the route has its own', async () => {
    const scene = await serve({ route: {}, host: toMirror() });
    await untilMirrored(scene);
    const other = await serve({ route: toMirror(0), host: toMirror() });
    await eventually(async () => {
      await client.talk();
      return other.main.calls > 0;
    }, true);
    expect(other.mirror.calls).toBe(0);
  });

  it('does not concern calls when it fails, is slow or is gone', async () => {
    const scene = await serve({
      route: toMirror(),
      mirrorCluster: { circuit_breakers: { thresholds: [{ max_requests: 5 }] } },
      mirror: () => {},
    });
    await untilMirrored(scene);
    await callAll(50);
    // The first ones are never answered, and take all places.
    expect(scene.mirror.calls).toBe(5);
    scene.mirror.stop();
    await callAll(50);
    const failing = await serve({
      route: toMirror(),
      mirror: (call) => call.emit('error', { code: status.INTERNAL, details: 'broken' }),
    });
    await untilMirrored(failing);
    await callAll(20);
  });

  it('gets no copies of retries', async () => {
    const retry = {
      retry_on: 'unavailable',
      num_retries: 2,
      retry_back_off: { base_interval: '0.001s' },
    };
    const scene = await serve({
      route: { ...toMirror(), retry_policy: retry },
      main: (call, previous) => {
        if (previous === 2) call.end();
        else call.emit('error', { code: status.UNAVAILABLE, details: 'again' });
      },
    });
    await untilMirrored(scene);
    const before = [scene.main.calls, scene.mirror.calls];
    await callAll(10);
    await eventually(
      () => [scene.main.calls, scene.mirror.calls].map((calls, i) => calls - (before[i] ?? 0)),
      [30, 10],
    );
  });

  it('has a copy cancelled whose call ends before its last message', async () => {
    const scene = await serve({ route: toMirror() });
    await untilMirrored(scene);
    const before = scene.mirror.calls;
    const { call, outcome } = client.open();
    call.write(Buffer.from('first'));
    await eventually(() => scene.mirror.seen[before]?.messages, ['first']);
    call.cancel();
    expect(await outcome).toMatchObject({ code: status.CANCELLED });
    await eventually(() => scene.mirror.seen[before]?.isCancelled, true);
  });

  it('follows a configuration that changes while calls run', async () => {
    const first = await serve({ route: toMirror() });
    await untilMirrored(first);
    let isOver = false;
    const outcomes: status[] = [];
    const load = Array.from({ length: 10 }, async () => {
      while (!isOver) outcomes.push((await client.talk()).code);
    });
    for (let i = 0; i < 4; i++) {
      const scene = await serve({ route: i % 2 === 0 ? {} : toMirror() });
      await eventually(() => scene.main.calls > 0, true);
    }
    isOver = true;
    await Promise.all(load);
    expect(outcomes.filter((code) => code !== status.OK)).toEqual([]);
  });
});
