import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { addAdminServicesToServer, Client, credentials, Server } from '@grpc/grpc-js';
import { explainCall, inspect, ready, shutdown } from '../../src';
import { ControlPlane, Snapshot } from '../../src/control-plane';
import { processRuntime } from '../../src/register';
import type { ServerClient } from '../../src/runtime/server-client';
import { ListenerWatch } from '../../src/server/listener/listener-watch';
import { eventually } from '../support/eventually';
import { bootstrapFor, NODE_ID, registerAnew } from '../support/mesh';
import { MetricsReader } from '../support/metrics-reader';
import { StatusClient } from '../support/status-client';
import {
  edsClusterJson,
  endpointsJson,
  filterChainJson,
  listenerJson,
  routeConfigJson,
  routeToCluster,
  socketListenerJson,
} from '../support/xds-json';
import { bind } from '../support/listen';

const NAME = 'server/10.0.0.1:8080';
const resources = (prefix = '/') => ({
  listeners: [
    socketListenerJson(NAME, [filterChainJson('routes')]),
    listenerJson('shop', 'routes'),
  ],
  routes: [routeConfigJson('routes', [{ ...routeToCluster('c'), match: { prefix } }])],
  clusters: [edsClusterJson('c')],
  endpoints: [endpointsJson('c', [])],
});

describe('the client of the servers of a process', () => {
  let controlPlane: ControlPlane;
  let port: number;
  let bootstrap: ReturnType<typeof bootstrapFor>;
  let folder: string;
  const cleanups: (() => void)[] = [];
  const told: string[] = [];

  beforeEach(async () => {
    controlPlane = new ControlPlane({ snapshot: Snapshot.from(resources()) });
    ({ port } = await controlPlane.start());
    bootstrap = bootstrapFor(`127.0.0.1:${port}`);
    folder = mkdtempSync(join(tmpdir(), 'grpc-xds-'));
    told.length = 0;
  });
  afterEach(() => {
    for (const cleanup of cleanups.splice(0).reverse()) cleanup();
    void controlPlane.close({ force: true });
    rmSync(folder, { recursive: true });
  });

  function acquire(option?: unknown): ServerClient {
    const acquired = processRuntime().acquireServerClient(option);
    if (!acquired.ok) throw new Error(acquired.error);
    cleanups.push(() => acquired.value.release());
    return acquired.value;
  }

  function follow(server: ServerClient): ListenerWatch {
    const watch = new ListenerWatch({
      ...server,
      name: NAME,
      address: { host: '10.0.0.1', port: 8080 },
      watcher: {
        onServing: ({ name }) => told.push(`serving ${name}`),
        onRoutes: (name) => told.push(`routes ${name}`),
        onNotServing: (reason) => told.push(`not serving ${reason}`),
      },
    });
    cleanups.push(() => watch.release());
    return watch;
  }

  const until = (...expected: readonly string[]) =>
    eventually(
      () => [...told],
      (now) => now.length >= expected.length,
    ).then((now) => expect(now).toEqual(expected));

  const openStreams = () => controlPlane.clients().length;

  // First in this file: later, the process is registered.
  it('works before register(), which then sets the bootstrap of what is created later', async () => {
    const server = acquire(bootstrap);
    follow(server);
    await until(`serving ${NAME}`);
    const channel = new Client('xds:///shop', credentials.createInsecure());
    expect(channel.getChannel().getTarget()).toBe('dns:xds:///shop');
    channel.close();
    const reason = 'register() of grpc-xds has not been called in this process';
    expect(explainCall('xds:///shop', '/a/b')).toMatchObject({ kind: 'unrouted', reason });
    await expect(ready('xds:///shop', Date.now())).rejects.toThrow(reason);
    expect(processRuntime().acquireServerClient(undefined)).toEqual({
      ok: false,
      error: expect.stringContaining('xDS bootstrap is missing'),
    });
    registerAnew({ bootstrap });
    acquire();
    expect(processRuntime().acquireServerClient('{')).toEqual({
      ok: false,
      error: expect.stringMatching(
        /^xDS bootstrap given to XdsServer\(\{ bootstrap \}\) is not JSON: /,
      ),
    });
    expect(processRuntime().acquireServerClient(7)).toEqual({
      ok: false,
      error: 'XdsServer({ bootstrap }) must be an object or JSON text',
    });
  });

  it('shares one stream with channels, and is shown as #server by inspect() and CSDS', async () => {
    registerAnew({ bootstrap });
    const server = acquire();
    follow(server);
    await until(`serving ${NAME}`);
    const channel = new Client('xds:///shop', credentials.createInsecure());
    cleanups.push(() => channel.close());
    channel.getChannel().getConnectivityState(true);
    await eventually(() => inspect({ target: 'xds:///shop' }).targets[0]?.resources.length, 4);
    expect(openStreams()).toBe(1);
    expect(inspect({ target: '#server' }).targets).toMatchObject([
      {
        target: '#server',
        nodeId: NODE_ID,
        state: 'ready',
        waitingFor: [],
        channels: [],
        resources: [
          { name: NAME, status: 'ACKED' },
          { name: 'routes', status: 'ACKED' },
        ],
      },
    ]);

    const admin = new Server();
    addAdminServicesToServer(admin);
    cleanups.push(() => admin.forceShutdown());
    const adminPort = await bind(admin);
    const status = new StatusClient(`127.0.0.1:${adminPort}`);
    cleanups.push(() => status.close());
    const { config } = await status.fetch();
    const own = config.find(({ client_scope }) => client_scope === '#server');
    expect(
      own?.generic_xds_configs.map(({ name, client_status }) => [name, client_status]),
    ).toEqual([
      [NAME, 'ACKED'],
      ['routes', 'ACKED'],
    ]);
  });

  it('is described by what it lacks', async () => {
    controlPlane.setSnapshot(Snapshot.from({ listeners: [socketListenerJson(NAME, [])] }));
    registerAnew({ bootstrap });
    const server = acquire();
    expect(inspect({ target: '#server' }).targets).toMatchObject([{ state: 'ready' }]);
    follow(server);
    await eventually(() => inspect({ target: '#server' }).targets[0]?.state, 'failed');
    expect(inspect({ target: '#server' }).targets).toMatchObject([
      {
        failure: expect.stringContaining(`Listener "${NAME}": update from management server`),
        failingSince: expect.stringMatching(/^2/),
      },
    ]);
  });

  it('is the target #server of metrics (gRFC A78)', async () => {
    const reader = new MetricsReader('MeterProvider', {
      enableMetrics: ['grpc.xds_client.resources'],
    });
    registerAnew({ bootstrap });
    follow(acquire());
    await until(`serving ${NAME}`);
    const series = await reader.series('grpc.xds_client.resources');
    const labels = {
      'grpc.target': '#server',
      'grpc.xds.cache_state': 'acked',
      'grpc.xds.authority': '#old',
      'grpc.xds.resource_type': 'envoy.config.listener.v3.Listener',
    };
    expect(series).toContainEqual(expect.objectContaining({ labels, value: 1 }));
    await reader.stop();
  });

  it('closes with its last reference, and with the last watch leaves the stream', async () => {
    registerAnew({ bootstrap });
    const [first, second] = [acquire(), acquire()];
    expect(first.client).toBe(second.client);
    follow(first);
    await until(`serving ${NAME}`);
    first.release();
    first.release();
    expect(inspect({ target: '#server' }).targets).toHaveLength(1);
    second.release();
    expect(inspect({ target: '#server' }).targets).toEqual([]);
    await eventually(openStreams, 0);
  });

  it('ends with shutdown(), and there is another one after register()', async () => {
    registerAnew({ bootstrap });
    const server = acquire();
    const watch = follow(server);
    await until(`serving ${NAME}`);
    await shutdown();
    expect(server.shutdown.aborted).toBe(true);
    await eventually(openStreams, 0);
    watch.release();
    server.release();
    expect(processRuntime().acquireServerClient(undefined)).toEqual({
      ok: false,
      error: 'shutdown() of grpc-xds was called: call register() before',
    });
    registerAnew({ bootstrap });
    follow(acquire());
    await until(`serving ${NAME}`, `serving ${NAME}`);
  });

  it('starts a server from the saved snapshot, and changes nothing once the same is sent', async () => {
    const snapshotPath = join(folder, 'snapshot');
    registerAnew({ bootstrap, snapshotPath });
    const earlier = acquire();
    follow(earlier);
    await until(`serving ${NAME}`);
    await eventually(() => existsSync(snapshotPath), true);
    earlier.release();
    await eventually(openStreams, 0);
    void controlPlane.close({ force: true });
    registerAnew({ bootstrap, snapshotPath });
    const watch = follow(acquire());
    await until(`serving ${NAME}`, `serving ${NAME}`);
    expect(watch.routesOf('routes')).toMatchObject({ ok: true });

    controlPlane = new ControlPlane({ snapshot: Snapshot.from(resources('/other')) });
    await controlPlane.start(port);
    // The listener is the same, its routes are not.
    await until(`serving ${NAME}`, `serving ${NAME}`, 'routes routes');
  });
});
