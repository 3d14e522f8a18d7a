// Cases of failover between localities, and of fallback to another control plane.
import { setTimeout as sleep } from 'node:timers/promises';
import {
  assignment,
  anyRoute,
  cluster,
  listener,
  oneCluster,
  routeConfig,
} from '../harness/resources.mjs';
import {
  allOf,
  describeStats,
  isOnly,
  noneFailed,
  untilOnly,
  verdict,
} from '../harness/verdict.mjs';

/** Two localities, the first preferred. */
const byPriority = (primary, secondary) =>
  oneCluster([
    { servers: primary, priority: 0 },
    { servers: secondary, priority: 1 },
  ]);

const onPrimaryFailure = {
  name: 'secondary_locality_gets_requests_on_primary_failure',
  expect: 'primary only → secondary only while the primary is down → primary only',
  async run(mesh) {
    const servers = await mesh.ownServers(4);
    const [primary, secondary] = [servers.slice(0, 2), servers.slice(2)];
    mesh.serve(byPriority(primary, secondary));
    const client = await mesh.client();
    const before = await untilOnly(client, primary);
    await Promise.all(primary.map((server) => server.stop()));
    const during = await untilOnly(client, secondary);
    await Promise.all(primary.map((server) => server.start()));
    return allOf(before, during, await untilOnly(client, primary));
  },
};

const onPartialFailure = {
  name: 'secondary_locality_gets_no_requests_on_partial_primary_failure',
  expect: 'with one of two servers of the primary down, the other one gets all',
  async run(mesh) {
    const servers = await mesh.ownServers(4);
    const [primary, secondary] = [servers.slice(0, 2), servers.slice(2)];
    mesh.serve(byPriority(primary, secondary));
    const client = await mesh.client();
    const before = await untilOnly(client, primary);
    await primary[0].stop();
    const after = await untilOnly(client, [primary[1]]);
    return allOf(before, after);
  },
};

const gentleFailover = {
  name: 'gentle_failover',
  expect: 'both localities share the calls while the control plane says so, then the primary alone',
  async run(mesh) {
    const servers = await mesh.servers(5);
    const [primary, secondary] = [servers.slice(0, 3), servers.slice(3)];
    mesh.serve(byPriority(primary, secondary));
    const client = await mesh.client();
    const before = await untilOnly(client, primary);
    // What Traffic Director does when most of the primary is unhealthy: one priority for both.
    mesh.serve(oneCluster([{ servers: primary.slice(0, 1) }, { servers: secondary }]));
    const shared = await untilOnly(client, [primary[0], ...secondary]);
    mesh.serve(byPriority(primary, secondary));
    const after = await untilOnly(client, primary);
    return allOf(before, shared, after, await noneFailed(client));
  },
};

/** Calls per second that clients have reported since the last time it was asked; undefined if there was no report. */
const reportedRate = (controlPlane) => {
  let last = { issued: 0, intervalMs: 0 };
  return () => {
    const [load] = controlPlane.loads();
    if (load === undefined || load.intervalMs === last.intervalMs) return undefined;
    const issued = load.localities.reduce((sum, locality) => sum + locality.issued, 0);
    const rate = ((issued - last.issued) * 1000) / (load.intervalMs - last.intervalMs);
    last = { issued, intervalMs: load.intervalMs };
    return rate;
  };
};

const loadBasedFailover = {
  name: 'load_based_failover',
  expect:
    'of 100 calls/s all go to the primary with room for 120; with room for 20, a fifth; with room for 120 again, all',
  async run(mesh) {
    const servers = await mesh.servers(4);
    const [primary, secondary] = [servers.slice(0, 2), servers.slice(2)];
    const extra = { clusterExtra: { lrs_server: { self: {} } } };
    const [first, second] = [
      { servers: primary, priority: 0 },
      { servers: secondary, priority: 1 },
    ];
    const rateOf = reportedRate(mesh.controlPlane);
    let room = 120;
    /** What Traffic Director does by itself: what is too much for the primary goes to the secondary. */
    const share = () => {
      const rate = rateOf();
      if (rate === undefined) return;
      const overflow = { ...second, priority: 0, weight: Math.max(1, Math.round(rate - room)) };
      const groups = rate > room ? [{ ...first, weight: room }, overflow] : [first, second];
      mesh.serve(oneCluster(groups, extra));
    };
    mesh.controlPlane.setLoadReporting({ intervalMs: 2000 });
    mesh.serve(oneCluster([first, second], extra));
    const timer = setInterval(share, 200);
    try {
      const client = await mesh.client();
      const steps = [await untilOnly(client, primary)];
      room = 20;
      const isFifth = (stats) => {
        const calls = primary.reduce((sum, { name }) => sum + (stats.byPeer.get(name) ?? 0), 0);
        return isOnly(servers)(stats) && Math.abs(calls / 300 - 0.2) <= 0.1;
      };
      const stats = await client.statsUntil(isFifth, 300);
      steps.push(verdict(isFifth(stats), describeStats(stats)));
      room = 120;
      steps.push(await untilOnly(client, primary));
      return allOf(...steps, await noneFailed(client));
    } finally {
      clearInterval(timer);
    }
  },
};

const failover = {
  name: 'failover_test: test_failover',
  expect:
    'of 3 primary servers 1 unhealthy: the other 2; all unhealthy: the secondary; then the primary',
  async run(mesh) {
    const servers = await mesh.servers(4);
    const [primary, secondary] = [servers.slice(0, 3), servers.slice(3)];
    const serve = (unhealthy) => {
      const resources = byPriority(primary, secondary);
      const [{ endpoints }] = resources.endpoints;
      endpoints[0].lb_endpoints.forEach((endpoint, i) => {
        if (i < unhealthy) endpoint.health_status = 'UNHEALTHY';
      });
      mesh.serve(resources);
    };
    serve(0);
    const client = await mesh.client();
    const steps = [await untilOnly(client, primary)];
    serve(1);
    steps.push(await untilOnly(client, primary.slice(1)));
    serve(3);
    steps.push(await untilOnly(client, secondary));
    serve(0);
    steps.push(await untilOnly(client, primary));
    return allOf(...steps, await noneFailed(client));
  },
};

/** Everything for a cluster of that name with one server. */
const configOf = (name, server) => ({
  listeners: [listener()],
  routes: [routeConfig([anyRoute(name)])],
  clusters: [cluster(name)],
  endpoints: [assignment(name, { servers: [server] })],
});

/** A bootstrap with two control planes, the first preferred. */
const twoServers = (mesh, first, second) => ({
  xds_servers: mesh.xdsServers(first.address, second.address),
});

const startUp = { qps: 20 };

const onStartup = {
  name: 'fallback_test: test_fallback_on_startup',
  expect:
    'both down: calls fail → fallback up: its server → primary up: its server → primary down: stays → both down: stays',
  async run(mesh) {
    const [one, two] = await mesh.servers(2);
    const first = await mesh.addControlPlane();
    const second = await mesh.addControlPlane();
    await first.server.close({ force: true });
    await second.server.close({ force: true });
    const client = await mesh.client(startUp, twoServers(mesh, first, second));
    const failed = await client.stats(5);
    const steps = [verdict(failed.failures === 5, describeStats(failed))];
    mesh.serveOn(second.server, configOf('of-fallback', two));
    await second.server.start(second.port);
    steps.push(await untilOnly(client, [two], 20));
    mesh.serveOn(first.server, configOf('of-primary', one));
    await first.server.start(first.port);
    steps.push(await untilOnly(client, [one], 20));
    await first.server.close({ force: true });
    await sleep(1000);
    steps.push(await stillOnly(client, one));
    await second.server.close({ force: true });
    await sleep(1000);
    steps.push(await stillOnly(client, one));
    return allOf(...steps);
  },
};

const stillOnly = async (client, server) => {
  const stats = await client.stats(20);
  return verdict(isOnly([server])(stats), describeStats(stats));
};

/** Kills a control plane as soon as a resource is asked for, before the response leaves the process. */
const killOnRequest = (name, getServer) => ({
  onClientEvent: (event) => {
    if (event.kind === 'subscribed' && event.names.includes(name))
      void getServer().close({ force: true });
  },
});

const midStartup = {
  name: 'fallback_test: test_fallback_mid_startup',
  expect:
    'primary dies when asked for the cluster: the server of the fallback → primary up: its server',
  async run(mesh) {
    const [one, two] = await mesh.servers(2);
    let isFragile = true;
    const first = await mesh.addControlPlane(
      killOnRequest('of-primary', () => (isFragile ? first.server : { kill() {} })),
    );
    const second = await mesh.addControlPlane();
    mesh.serveOn(first.server, configOf('of-primary', one));
    mesh.serveOn(second.server, configOf('of-fallback', two));
    const client = await mesh.client(startUp, twoServers(mesh, first, second));
    const fallenBack = await untilOnly(client, [two], 20);
    isFragile = false;
    await first.server.start(first.port);
    return allOf(fallenBack, await untilOnly(client, [one], 20), await noneFailed(client));
  },
};

const midUpdate = {
  name: 'fallback_test: test_fallback_mid_update',
  expect:
    'primary dies when asked for a new cluster: the server of the fallback → primary up: the new one',
  async run(mesh) {
    const [one, two, three] = await mesh.servers(3);
    let isFragile = true;
    const first = await mesh.addControlPlane(
      killOnRequest('of-update', () => (isFragile ? first.server : { kill() {} })),
    );
    const second = await mesh.addControlPlane();
    mesh.serveOn(first.server, configOf('of-primary', one));
    mesh.serveOn(second.server, configOf('of-fallback', two));
    const client = await mesh.client(startUp, twoServers(mesh, first, second));
    const before = await untilOnly(client, [one], 20);
    mesh.serveOn(first.server, configOf('of-update', three));
    const fallenBack = await untilOnly(client, [two], 20);
    isFragile = false;
    await first.server.start(first.port);
    const after = await untilOnly(client, [three], 20);
    return allOf(before, fallenBack, after, await noneFailed(client));
  },
};

export const cases = [
  onPrimaryFailure,
  onPartialFailure,
  gentleFailover,
  loadBasedFailover,
  failover,
  onStartup,
  midStartup,
  midUpdate,
];
