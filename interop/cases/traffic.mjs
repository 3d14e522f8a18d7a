// Cases of gRPC's xds-test-descriptions: who gets the calls.
import {
  assignment,
  anyRoute,
  cluster,
  clustersOf,
  listener,
  oneCluster,
  route,
  routeConfig,
  SERVICE,
} from '../harness/resources.mjs';
import {
  allOf,
  describeStats,
  isEven,
  noneFailed,
  untilEven,
  untilOnly,
  verdict,
} from '../harness/verdict.mjs';

const pingPong = {
  name: 'ping_pong',
  also: 'app_net_test: test_ping_pong; baseline_test: test_traffic_director_grpc_setup',
  expect: 'each of 4 servers gets at least 1 call',
  async run(mesh) {
    const servers = await mesh.servers(4);
    mesh.serve(oneCluster([{ servers }]));
    return untilOnly(await mesh.client(), servers);
  },
};

const roundRobin = {
  name: 'round_robin',
  also: 'round_robin_test: test_round_robin',
  expect: '100 calls spread evenly over 4 servers',
  async run(mesh) {
    const servers = await mesh.servers(4);
    mesh.serve(oneCluster([{ servers }]));
    return untilEven(await mesh.client(), servers);
  },
};

const backendsRestart = {
  name: 'backends_restart',
  expect: 'no call succeeds without servers; restarted, they get what they got before',
  async run(mesh) {
    const servers = await mesh.ownServers(2);
    mesh.serve(oneCluster([{ servers }]));
    const client = await mesh.client();
    const before = await untilEven(client, servers);
    await Promise.all(servers.map((server) => server.stop()));
    const stats = await client.statsUntil(({ failures }) => failures === 100);
    const down = verdict(stats.failures === 100, describeStats(stats));
    await Promise.all(servers.map((server) => server.start()));
    return allOf(before, down, await untilEven(client, servers));
  },
};

const removeInstanceGroup = {
  name: 'remove_instance_group',
  also: 'remove_neg_test: test_remove_neg',
  expect: 'after one of two groups is removed the other gets all; no failures',
  async run(mesh) {
    const servers = await mesh.servers(4);
    const groups = [servers.slice(0, 2), servers.slice(2)].map((group) => ({ servers: group }));
    mesh.serve(oneCluster(groups));
    const client = await mesh.client();
    const both = await untilOnly(client, servers);
    mesh.serve(oneCluster(groups.slice(0, 1)));
    const one = await untilOnly(client, servers.slice(0, 2));
    return allOf(both, one, await noneFailed(client));
  },
};

const changeBackendService = {
  name: 'change_backend_service',
  also: 'change_backend_service_test: test_change_backend_service',
  expect: 'after the route names another cluster it gets all; no failures',
  async run(mesh) {
    const servers = await mesh.servers(4);
    const clusters = { first: servers.slice(0, 2), second: servers.slice(2) };
    mesh.serve(clustersOf(clusters, [anyRoute('first')]));
    const client = await mesh.client();
    const first = await untilOnly(client, clusters.first);
    mesh.serve(clustersOf(clusters, [anyRoute('second')]));
    const second = await untilOnly(client, clusters.second);
    return allOf(first, second, await noneFailed(client));
  },
};

const trafficSplitting = {
  name: 'traffic_splitting',
  expect: '1000 calls go to two clusters, 20 % and 80 %, within 5 % of the calls',
  async run(mesh) {
    const [a, b] = await mesh.servers(2);
    const weighted = [
      { name: 'a', weight: 20 },
      { name: 'b', weight: 80 },
    ];
    const split = { match: { prefix: '' }, route: { weighted_clusters: { clusters: weighted } } };
    mesh.serve(clustersOf({ a: [a], b: [b] }, [split]));
    const client = await mesh.client({ qps: 250 });
    await untilOnly(client, [a, b]);
    const stats = await client.stats(1000);
    const share = (stats.byPeer.get(a.name) ?? 0) / 1000;
    return verdict(Math.abs(share - 0.2) <= 0.05 && stats.failures === 0, describeStats(stats));
  },
};

const apiListener = {
  name: 'api_listener',
  also: 'api_listener_test: test_api_listener',
  expect:
    'a second listener of the same name takes over, the first is deleted: traffic never stops',
  async run(mesh) {
    const servers = await mesh.servers(2);
    const clusters = [cluster('main')];
    const endpoints = [assignment('main', { servers })];
    const routesOf = (...names) => names.map((name) => routeConfig([anyRoute('main')], name));
    const step = (routes, listeners) => mesh.serve({ listeners, routes, clusters, endpoints });
    step(routesOf('first'), [listener({ routes: 'first' })]);
    const client = await mesh.client();
    const first = await untilEven(client, servers);
    step(routesOf('first', 'second'), [listener({ routes: 'first' })]);
    step(routesOf('first', 'second'), [listener({ routes: 'second' })]);
    const both = await untilEven(client, servers);
    step(routesOf('second'), [listener({ routes: 'second' })]);
    const second = await untilEven(client, servers);
    return allOf(first, both, second, await noneFailed(client));
  },
};

/** Traffic arrives only while the listener has the name that the client calls. */
const portMatch = (name, { target, expect, other }) => ({
  name,
  expect,
  async run(mesh) {
    const servers = await mesh.servers(2);
    const serve = (listenerName) =>
      mesh.serve({ ...oneCluster([{ servers }]), listeners: [listener({ name: listenerName })] });
    serve(other);
    const client = await mesh.client({ server: `xds:///${target}` });
    await client.configure({ timeoutSec: 2 });
    const stats = await client.stats(20);
    const none = verdict(stats.failures === 20, describeStats(stats));
    serve(target);
    return allOf(none, await untilEven(client, servers));
  },
});

const portMatches = [
  portMatch('forwarding_rule_port_match', {
    target: 'psm.test:8080',
    other: 'psm.test:8000',
    expect: 'calls arrive only when the listener has the port of the target',
  }),
  portMatch('forwarding_rule_default_port', {
    target: 'psm.test',
    other: 'psm.test:8000',
    expect: 'without a port in the target, calls arrive only at a listener without one',
  }),
];

const dualstack = {
  name: 'dualstack_test: test_dualstack',
  expect:
    'servers on IPv4, on IPv6 and on both get the calls evenly, each listed with both addresses',
  async run(mesh) {
    const servers = [
      await mesh.server('ipv4', ['--address_type=IPV4']),
      await mesh.server('ipv6', ['--address_type=IPV6']),
      await mesh.server('both', ['--address_type=IPV4_IPV6']),
    ];
    const socket = (address, port) => ({ socket_address: { address, port_value: port } });
    const endpoints = servers.map(({ port }) => ({
      endpoint: {
        address: socket('127.0.0.1', port),
        additional_addresses: [{ address: socket('::1', port) }],
      },
    }));
    mesh.serve(oneCluster([{ endpoints }]));
    return untilEven(await mesh.client(), servers, { count: 99 });
  },
};

const subsetting = {
  name: 'subsetting_test: test_subsetting_basic',
  expect: 'of 4 servers, a subset of 2 gets all calls of a client, evenly',
  async run(mesh) {
    const servers = await mesh.servers(4);
    const type = 'envoy.extensions.load_balancing_policies';
    const typed = (name, value) => ({
      typed_extension_config: {
        name,
        typed_config: { '@type': `type.googleapis.com/${type}.${name}`, ...value },
      },
    });
    const child = { policies: [typed('round_robin.v3.RoundRobin')] };
    const policy = typed('random_subsetting.v3.RandomSubsetting', {
      subset_size: 2,
      child_policy: child,
    });
    mesh.serve(
      oneCluster([{ servers }], {
        clusterExtra: { load_balancing_policy: { policies: [policy] } },
      }),
    );
    const client = await mesh.client();
    const subsetOf = ({ byPeer }) => servers.filter(({ name }) => byPeer.has(name));
    const isSubset = (stats) =>
      subsetOf(stats).length === 2 && isEven(subsetOf(stats), 0.05)(stats);
    const stats = await client.statsUntil(isSubset);
    return verdict(isSubset(stats), describeStats(stats));
  },
};

const federation = {
  name: 'federation_test: test_federation',
  expect: 'calls to a name of another authority go by what its own control plane says',
  async run(mesh) {
    const [own, theirs] = await mesh.servers(2);
    mesh.serve(oneCluster([{ servers: [own] }]));
    const other = await mesh.addControlPlane();
    const prefix = (type) => `xdstp://other.test/envoy.config.${type}`;
    const name = `${prefix('listener.v3.Listener')}/psm.test`;
    mesh.serveOn(other.server, {
      listeners: [listener({ name, routes: `${prefix('route.v3.RouteConfiguration')}/routes` })],
      routes: [
        routeConfig(
          [route({ prefix: '' }, `${prefix('cluster.v3.Cluster')}/main`)],
          `${prefix('route.v3.RouteConfiguration')}/routes`,
        ),
      ],
      clusters: [
        cluster(`${prefix('cluster.v3.Cluster')}/main`, {
          eds_cluster_config: {
            eds_config: { ads: {} },
            service_name: `${prefix('endpoint.v3.ClusterLoadAssignment')}/main`,
          },
        }),
      ],
      endpoints: [
        assignment(`${prefix('endpoint.v3.ClusterLoadAssignment')}/main`, { servers: [theirs] }),
      ],
    });
    const bootstrap = {
      authorities: { 'other.test': { xds_servers: mesh.xdsServers(other.address) } },
    };
    const [here, there] = await Promise.all([
      mesh.client({ server: `xds:///${SERVICE}` }, bootstrap),
      mesh.client({ server: 'xds://other.test/psm.test' }, bootstrap),
    ]);
    return allOf(await untilOnly(here, [own]), await untilOnly(there, [theirs]));
  },
};

export const cases = [
  pingPong,
  roundRobin,
  backendsRestart,
  removeInstanceGroup,
  changeBackendService,
  trafficSplitting,
  apiListener,
  ...portMatches,
  dualstack,
  subsetting,
  federation,
];
