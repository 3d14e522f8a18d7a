import { status } from '@grpc/grpc-js';
import { ControlPlane, Snapshot } from '../../src/control-plane';
import { EchoBackend, EchoClient } from '../support/echo-backend';
import { eventually } from '../support/eventually';
import { simpleResources, type MeshResources, registerAnew } from '../support/mesh';
import { endpointsJson, listenerJson, routeConfigJson, routeToCluster } from '../support/xds-json';

// A process knows two control planes: one for names without an authority, one for those of the authority
// "team". Each has a backend of its own.

let old: ControlPlane;
let team: ControlPlane;
let oldBackend: EchoBackend;
let teamBackend: EchoBackend;
const ports = new Map<ControlPlane, number>();
const clients: EchoClient[] = [];

async function start(controlPlane: ControlPlane, port?: number): Promise<ControlPlane> {
  ports.set(controlPlane, (await controlPlane.start(port)).port);
  return controlPlane;
}

function serverOf(controlPlane: ControlPlane) {
  return {
    server_uri: `127.0.0.1:${ports.get(controlPlane)}`,
    channel_creds: [{ type: 'insecure' }],
  };
}

function client(target: string): EchoClient {
  const created = new EchoClient(target);
  clients.push(created);
  return created;
}

function serve(controlPlane: ControlPlane, resources: MeshResources): void {
  controlPlane.setSnapshot(Snapshot.from(resources), { allowInconsistent: true });
}

beforeEach(async () => {
  [old, team] = [await start(new ControlPlane({})), await start(new ControlPlane({}))];
  [oldBackend, teamBackend] = [await EchoBackend.start('old'), await EchoBackend.start('team')];
});

afterEach(() => {
  for (const created of clients.splice(0)) created.close();
  oldBackend.stop();
  teamBackend.stop();
  void old.close({ force: true });
  void team.close({ force: true });
});

const ENVOY = 'envoy.config';
const name = (type: string, id: string) => `xdstp://team/${ENVOY}.${type}/${id}`;
const LISTENER = name('listener.v3.Listener', 'echo');
const ROUTES = name('route.v3.RouteConfiguration', 'routes');
const CLUSTER = name('cluster.v3.Cluster', 'c');
const ENDPOINTS = name('endpoint.v3.ClusterLoadAssignment', 'e');

/** The resources of the authority, each with context parameters that refer to it in another order. */
function teamResources(port: number): MeshResources {
  return {
    listeners: [listenerJson(LISTENER, `${ROUTES}?zone=b&env=test#ignored`)],
    routes: [
      routeConfigJson(`${ROUTES}?env=test&zone=b`, [routeToCluster(`${CLUSTER}?z=1&a=%7e`)]),
    ],
    clusters: [
      {
        name: `${CLUSTER}?a=~&z=1`,
        type: 'EDS',
        eds_cluster_config: { eds_config: { self: {} }, service_name: `${ENDPOINTS}?y=2&x=1` },
        lb_policy: 'ROUND_ROBIN',
      },
    ],
    endpoints: [endpointsJson(`${ENDPOINTS}?x=1&y=2`, [{ zone: 'a', ports: [port] }])],
  };
}

function bootstrap(teamServers: readonly ControlPlane[] = [team]) {
  return {
    xds_servers: [serverOf(old)],
    node: { id: 'test-node' },
    authorities: { team: { xds_servers: teamServers.map(serverOf) } },
  };
}

describe('a process with two authorities', () => {
  it('gets everything of a target from the servers of its authority, by names in any spelling', async () => {
    registerAnew({ bootstrap: bootstrap() });
    serve(old, simpleResources([oldBackend.port]));
    serve(team, teamResources(teamBackend.port));
    await expect(client('xds://team/echo').say()).resolves.toBe('team');
    await expect(client('xds:///echo.test:50051').say()).resolves.toBe('old');
  });

  it('may go from a listener of one authority to endpoints of the other', async () => {
    registerAnew({ bootstrap: bootstrap() });
    const { clusters, endpoints } = teamResources(teamBackend.port);
    serve(team, { listeners: [], routes: [], clusters, endpoints });
    const resources = simpleResources([oldBackend.port]);
    const routes = [
      routeConfigJson('echo.test:50051-routes', [routeToCluster(`${CLUSTER}?a=~&z=1`)]),
    ];
    serve(old, { ...resources, routes });
    await expect(client('xds:///echo.test:50051').say()).resolves.toBe('team');
  });

  it('fails calls to a target of an authority that it does not know', async () => {
    registerAnew({ bootstrap: bootstrap() });
    const failure = await client('xds://nobody/echo').failure();
    expect(failure.code).toBe(status.UNAVAILABLE);
    expect(failure.details).toContain('authority "nobody" is not among the authorities');
  });

  it('fails calls whose resources lead to an authority that it does not know', async () => {
    registerAnew({ bootstrap: bootstrap() });
    const resources = simpleResources([oldBackend.port]);
    const unknown = `xdstp://nobody/${ENVOY}.route.v3.RouteConfiguration/r`;
    serve(old, { ...resources, listeners: [listenerJson('echo.test:50051', unknown)] });
    const failure = await client('xds:///echo.test:50051').failure();
    expect(failure.code).toBe(status.UNAVAILABLE);
    expect(failure.details).toContain(unknown);
    expect(failure.details).toContain('authority "nobody" is not among the authorities');
  });

  it('makes calls to one authority while the server of the other cannot be reached', async () => {
    registerAnew({ bootstrap: bootstrap() });
    serve(team, teamResources(teamBackend.port));
    void old.close({ force: true });
    await expect(client('xds://team/echo').say()).resolves.toBe('team');
    const failure = await client('xds:///echo.test:50051').failure();
    expect(failure.details).toContain('cannot be reached');
  });
});

describe('an authority with a second server (gRFC A71)', () => {
  it('is served by that from the start, and by the first as soon as it answers', async () => {
    registerAnew({ bootstrap: bootstrap([team, old]) });
    const port = ports.get(team);
    void team.close({ force: true });
    serve(old, teamResources(oldBackend.port));
    const calls = client('xds://team/echo');
    await expect(calls.say()).resolves.toBe('old');
    team = new ControlPlane({});
    serve(team, teamResources(teamBackend.port));
    await start(team, port);
    await eventually(() => calls.say(), 'team', 60_000);
  });

  it('turns to it for a new target while the first is away, and loses no call', async () => {
    registerAnew({ bootstrap: bootstrap([team, old]) });
    serve(team, teamResources(teamBackend.port));
    serve(old, {
      ...teamResources(oldBackend.port),
      listeners: [LISTENER, name('listener.v3.Listener', 'late')].map((listener) =>
        listenerJson(listener, `${ROUTES}?env=test&zone=b`),
      ),
    });
    const early = client('xds://team/echo');
    await expect(early.say()).resolves.toBe('team');
    void team.close({ force: true });
    await expect(early.say()).resolves.toBe('team');
    await expect(client('xds://team/late').say()).resolves.toBe('old');
    await expect(early.say()).resolves.toBe('team');
    expect(old.clients()).toHaveLength(1);
  });
});
