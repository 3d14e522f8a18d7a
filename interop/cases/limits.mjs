// Cases of limits, ejection, custom policies and affinity.
import { status } from '@grpc/grpc-js';
import {
  anyRoute,
  assignment,
  cluster,
  clustersOf,
  listener,
  oneCluster,
  route,
  routeConfig,
  SERVICE,
  typed,
} from '../harness/resources.mjs';
import {
  allOf,
  describeCodes,
  describeStats,
  noneFailed,
  shareOf,
  untilEven,
  untilOnly,
  verdict,
} from '../harness/verdict.mjs';
import { pollUntil } from '../harness/waiting.mjs';

const UNARY = '/grpc.testing.TestService/UnaryCall';

const circuitBreaking = {
  name: 'circuit_breaking',
  also: 'circuit_breaking_test: test_circuit_breaking',
  expect:
    'calls kept open settle at 500 (UnaryCall) and 1000 (EmptyCall); 800 after the limit is raised',
  async run(mesh) {
    const [one, two] = await mesh.servers(2);
    const limit = (max) => ({ circuit_breakers: { thresholds: [{ max_requests: max }] } });
    const serve = (unaryLimit) =>
      mesh.serve(
        clustersOf({ one: [one], two: [two] }, [route({ path: UNARY }, 'one'), anyRoute('two')], {
          clusterExtra: { one: limit(unaryLimit), two: limit(1000) },
        }),
      );
    serve(500);
    const client = await mesh.client({
      rpc: 'UnaryCall,EmptyCall',
      qps: 200,
      metadata: 'UnaryCall:rpc-behavior:keep-open,EmptyCall:rpc-behavior:keep-open',
    });
    // Calls must stay open for the whole case. There is no flag for that which clients of all languages have.
    await client.configure({
      methods: ['UnaryCall', 'EmptyCall'],
      headers: [{ key: 'rpc-behavior', value: 'keep-open' }],
      timeoutSec: 120,
    });
    const untilAt = (method, max) =>
      pollUntil(
        () => client.totals(method),
        ({ inFlight }) => Math.abs(inFlight - max) <= max * 0.01,
      );
    const settlesAt = async (method, max) => {
      const { inFlight, started } = await untilAt(method, max);
      // And comes back to it, however many calls are sent: for a moment, those about to be refused count, too.
      await pollUntil(
        () => client.totals(method),
        (totals) => totals.started - started >= max / 2,
      );
      const later = await untilAt(method, max);
      const isStable = Math.abs(later.inFlight - max) <= max * 0.01;
      return verdict(isStable, `${method} ${inFlight}, later ${later.inFlight}`);
    };
    const steps = [await settlesAt('UnaryCall', 500), await settlesAt('EmptyCall', 1000)];
    serve(800);
    steps.push(await settlesAt('UnaryCall', 800));
    return allOf(...steps);
  },
};

const outlierDetection = {
  name: 'outlier_detection',
  also: 'outlier_detection_test: test_outlier_detection',
  expect: 'of 5 servers the one that fails is ejected: 4 even; once it does not fail: 5 even',
  async run(mesh) {
    const servers = await mesh.servers(5);
    const detection = {
      interval: '2s',
      base_ejection_time: '4s',
      success_rate_request_volume: 20,
      enforcing_success_rate: 100,
    };
    mesh.serve(oneCluster([{ servers }], { clusterExtra: { outlier_detection: detection } }));
    const client = await mesh.client();
    const all = await untilEven(client, servers);
    const [bad, ...good] = servers;
    const headers = [{ key: 'rpc-behavior', value: `hostname=${bad.name} error-code-2` }];
    await client.configure({ headers });
    const ejected = await untilEven(client, good);
    await client.configure({});
    return allOf(all, ejected, await untilEven(client, servers));
  },
};

const customLb = {
  name: 'custom_lb',
  also: 'custom_lb_test: test_custom_lb_config',
  expect: 'a policy nobody knows is skipped, the next one makes every call end with DATA_LOSS',
  async run(mesh) {
    const servers = await mesh.servers(1);
    const policy = (name, value) => ({
      typed_extension_config: {
        name,
        typed_config: typed('xds.type.v3.TypedStruct', { type_url: `x/${name}`, value }),
      },
    });
    const policies = [
      policy('test.ThisLoadBalancerDoesNotExist', { foo: 'bar' }),
      policy('test.RpcBehaviorLoadBalancer', { rpcBehavior: 'error-code-15' }),
    ];
    const clusterExtra = { load_balancing_policy: { policies } };
    mesh.serve(oneCluster([{ servers }], { clusterExtra }));
    const client = await mesh.client();
    return shareOf(await client.codesOfNext(100), status.DATA_LOSS, 1, 0);
  },
};

/** A cluster with a ring, and a route that hashes the header of the affinity cases. */
const ring = (groups) =>
  oneCluster(groups, {
    clusterExtra: { lb_policy: 'RING_HASH' },
    routes: [
      anyRoute('main', { action: { hash_policy: [{ header: { header_name: 'xds_md' } }] } }),
    ],
  });

const readyOf = async (client) =>
  (await client.subchannelStates(SERVICE)).filter((state) => state === 'READY').length;

/** All calls go to one server, over the only connection. */
const oneReady = async (client, rpc) => {
  const stats = await client.statsUntil(
    ({ byPeer, failures }) => byPeer.size === 1 && failures === 0,
  );
  const ready = await pollUntil(
    () => readyOf(client),
    (count) => count === 1,
    { patienceMs: 5000 },
  );
  const passed = stats.byPeer.size === 1 && stats.failures === 0 && ready === 1;
  const measured = `${rpc}: ${describeStats(stats)}; ${ready} connected`;
  return { ...verdict(passed, measured), peer: [...stats.byPeer.keys()][0] };
};

const sticky = { rpc: 'EmptyCall', metadata: 'EmptyCall:xds_md:empty_ytpme' };

const affinity = {
  name: 'affinity_test: test_affinity',
  expect:
    'of 3 servers one gets 100 calls over 1 connection; once it is unhealthy, another one does',
  async run(mesh) {
    const servers = await mesh.servers(3);
    mesh.serve(ring([{ servers }]));
    const client = await mesh.client(sticky);
    const first = await oneReady(client, 'healthy');
    const resources = ring([{ servers }]);
    const index = servers.findIndex(({ name }) => name === first.peer);
    resources.endpoints[0].endpoints[0].lb_endpoints[index].health_status = 'UNHEALTHY';
    mesh.serve(resources);
    const isOther = ({ byPeer, failures }) =>
      byPeer.size === 1 && failures === 0 && !byPeer.has(first.peer);
    const stats = await client.statsUntil(isOther);
    const second = verdict(isOther(stats), describeStats(stats));
    return allOf(first, second, await noneFailed(client, 'EmptyCall'));
  },
};

const headerAffinity = {
  name: 'affinity: TestHeaderBasedAffinity',
  expect: 'with the header 1 of 3 servers over 1 connection; without it all 3',
  async run(mesh) {
    const servers = await mesh.servers(3);
    mesh.serve(ring([{ servers }]));
    const client = await mesh.client(sticky);
    const one = await oneReady(client, 'with');
    await client.configure({ methods: ['EmptyCall'] });
    const all = await untilOnly(client, servers, 150);
    const ready = await readyOf(client);
    return allOf(one, all, verdict(ready === 3, `${ready} connected`));
  },
};

const twoHeaders = {
  name: 'affinity: TestHeaderBasedAffinityMultipleHeaders',
  expect: 'calls with another value of the header go to another server: 2 connected',
  async run(mesh) {
    const servers = await mesh.servers(3);
    mesh.serve(ring([{ servers }]));
    const client = await mesh.client(sticky);
    const one = await oneReady(client, 'one value');
    for (let i = 0; i < 30; i++) {
      await client.configure({
        methods: ['EmptyCall', 'UnaryCall'],
        headers: [
          { method: 'EmptyCall', key: 'xds_md', value: 'empty_ytpme' },
          { method: 'UnaryCall', key: 'xds_md', value: String(i) },
        ],
      });
      const { byMethod } = await client.stats(50);
      const [peer] = byMethod.get('UnaryCall')?.keys() ?? [];
      if (peer === undefined || peer === one.peer) continue;
      const ready = await readyOf(client);
      const measured = `value ${i}: ${peer}; ${ready} connected`;
      return allOf(one, verdict(ready === 2, measured));
    }
    return allOf(one, verdict(false, '30 values, always the same server'));
  },
};

const sessionAffinity = {
  name: 'app_net_ssa_test: test_session_affinity_policy',
  expect: 'a cookie is set; calls that bring it all go to the server that set it',
  async run(mesh) {
    const servers = await mesh.servers(3);
    const name = 'envoy.extensions.filters.http.stateful_session.v3.StatefulSession';
    const cookie = typed(
      'envoy.extensions.http.stateful_session.cookie.v3.CookieBasedSessionState',
      {
        cookie: { name: 'psm', ttl: '100s' },
      },
    );
    const filter = {
      name: 'session',
      typed_config: typed(name, { session_state: { name: 'cookie', typed_config: cookie } }),
    };
    mesh.serve({
      listeners: [listener({ filters: [filter] })],
      routes: [routeConfig([anyRoute('main')])],
      clusters: [
        cluster('main', {
          common_lb_config: { override_host_status: { statuses: ['UNKNOWN', 'HEALTHY'] } },
        }),
      ],
      endpoints: [assignment('main', { servers })],
    });
    const client = await mesh.client();
    const spread = await untilEven(client, servers, { count: 99 });
    const { metadata } = await client.stats(1, { metadataKeys: ['set-cookie'] });
    const [call] = metadata;
    const value = call?.metadata.find(({ key }) => key === 'set-cookie')?.value.split(';')[0];
    if (value === undefined) return allOf(spread, verdict(false, 'no cookie was set'));
    await client.configure({ headers: [{ key: 'cookie', value }] });
    const stats = await client.stats(100);
    const isSticky = stats.byPeer.get(call.peer) === 100;
    return allOf(spread, verdict(isSticky, `cookie of ${call.peer}: ${describeStats(stats)}`));
  },
};

const timeout = {
  name: 'timeout',
  expect:
    'limit 3 s on UnaryCall, both sleep 4 s: DEADLINE_EXCEEDED and OK; 2 s with 1 s from the application: DEADLINE_EXCEEDED; no sleep: OK',
  async run(mesh) {
    const servers = await mesh.servers(1);
    const limit = { max_stream_duration: '3s', grpc_timeout_header_max: '3s' };
    const routes = [
      route({ path: UNARY }, 'main', { action: { max_stream_duration: limit } }),
      anyRoute('main'),
    ];
    mesh.serve(oneCluster([{ servers }], { routes }));
    const client = await mesh.client({ rpc: 'UnaryCall,EmptyCall', qps: 50 });
    const both = ['UnaryCall', 'EmptyCall'];
    const after = async (seconds, { timeoutSec = 0, methods = both } = {}) => {
      const value = `sleep-${seconds}`;
      const headers = seconds === 0 ? [] : [{ key: 'rpc-behavior', value }];
      // Calls sent before must have ended.
      await client.configure({ methods: both });
      await Promise.all(both.map((method) => client.untilQuiet(method)));
      await client.configure({ methods, headers, timeoutSec });
      return Promise.all(methods.map((method) => client.codesOfNext(50, method)));
    };
    const [unary, empty] = await after(4);
    const short = { timeoutSec: 1, methods: ['UnaryCall'] };
    const [application] = await after(2, short);
    const [fast] = await after(0);
    const check = (text, codes, code) => {
      const { passed } = shareOf(codes, code, 1, 0.1);
      return verdict(passed, `${text}: ${describeCodes(codes)}`);
    };
    return allOf(
      check('timeout_exceeded', unary, status.DEADLINE_EXCEEDED),
      check('timeout_different_route', empty, status.OK),
      check('app_timeout_exceeded', application, status.DEADLINE_EXCEEDED),
      check('timeout_not_exceeded', fast, status.OK),
    );
  },
};

export const cases = [
  circuitBreaking,
  outlierDetection,
  customLb,
  timeout,
  affinity,
  headerAffinity,
  twoHeaders,
  sessionAffinity,
];
