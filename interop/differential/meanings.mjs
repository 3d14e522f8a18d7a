// Resources that some clients accept, and use in different ways: what becomes of a call by each of them.
import { ControlPlane, Snapshot } from 'grpc-xds/control-plane';
import { call } from '../cross/judging.mjs';
import {
  anyRoute,
  assignment,
  cluster,
  listener,
  routeConfig,
  typed,
} from '../harness/resources.mjs';

const LANGUAGES = ['node', 'go', 'python', 'java'];

const struct = (name, value) =>
  typed('xds.type.v3.TypedStruct', { type_url: `type.googleapis.com/${name}`, value });
const roundRobin = typed('envoy.extensions.load_balancing_policies.round_robin.v3.RoundRobin');
const weightedTarget = struct('weighted_target_experimental', {
  targets: {
    '{"region":"interop","zone":"zone-0"}': { weight: 1, childPolicy: [{ round_robin: {} }] },
  },
});
const priority = struct('priority_experimental', {
  children: { a: { config: [{ round_robin: {} }] } },
  priorities: ['a'],
});
const policies = (...list) => ({
  load_balancing_policy: {
    policies: list.map((typed_config) => ({ typed_extension_config: { name: 'p', typed_config } })),
  },
});
const thresholds = (...limits) => ({
  circuit_breakers: {
    thresholds: limits.map((max_requests) => ({ priority: 'DEFAULT', max_requests })),
  },
});
const fault = (abort) => [
  {
    name: 'fault',
    typed_config: typed('envoy.extensions.filters.http.fault.v3.HTTPFault', {
      abort: { ...abort, percentage: { numerator: 100 } },
    }),
  },
];
const aggregate =
  (name, changes = {}) =>
  (servers) => {
    const config = typed('envoy.extensions.clusters.aggregate.v3.ClusterConfig', {
      clusters: ['member'],
    });
    return {
      clusters: [
        { name: 'all', cluster_type: { name, typed_config: config }, ...changes },
        cluster('member'),
      ],
      endpoints: [assignment('member', { servers: [servers[0]] })],
    };
  };
/** One cluster with changes. */
const one = (extra) => (servers) => ({
  clusters: [cluster('all', extra)],
  endpoints: [assignment('all', { servers: [servers[0]] })],
});
/** A virtual host whose only route has these changes. */
const routeWith = (action) => ({ routes: [anyRoute('all', { action })] });
const MAX = 4_294_967_295;
const CAPITALS = 'XDSTP://a.test/envoy.config.route.v3.RouteConfiguration/x';

/** By title: the statuses of a call by each client, why ours is what it is, and the resources of its channel. */
const MEANINGS = {
  'two limits, the first of no calls': {
    said: '14, 14, 14, 0',
    because: 'A32: the first entry for the priority DEFAULT; grpc-java takes the last',
    resources: one(thresholds(0, 1000)),
  },
  'two limits, the second of no calls': {
    said: '0, 0, 0, 14',
    because: 'A32: the first entry for the priority DEFAULT; grpc-java takes the last',
    resources: one(thresholds(1000, 0)),
  },
  'weighted_target alone': {
    said: '14, 14, 14, 14',
    because:
      'its children have only the endpoints that the client itself assigns to them (decisions/resource-validation.md)',
    resources: one(policies(weightedTarget)),
  },
  'weighted_target before round_robin': {
    said: '0, 14, 14, 14',
    because:
      'A52: the first policy that is supported; this one is not, as its calls would fail (decisions/resource-validation.md)',
    resources: one(policies(weightedTarget, roundRobin)),
  },
  'priority alone': {
    said: '14, 14, 14, 14',
    because:
      'its children have only the endpoints that the client itself assigns to them (decisions/resource-validation.md)',
    resources: one(policies(priority)),
  },
  'priority before round_robin': {
    said: '0, 14, 14, 14',
    because:
      'A52: the first policy that is supported; this one is not, as its calls would fail (decisions/resource-validation.md)',
    resources: one(policies(priority, roundRobin)),
  },
  'an aggregate': {
    said: '0, 0, 0, 0',
    because: 'A37',
    resources: aggregate('envoy.clusters.aggregate'),
  },
  'an aggregate of another name': {
    said: '0, 14, 0, 14',
    because: 'A37: what is in typed_config decides, and no name',
    resources: aggregate('other'),
  },
  'an aggregate of lb_policy CLUSTER_PROVIDED': {
    said: '0, 14, 14, 14',
    because:
      'A75: the policy of an aggregate is not used; Envoy demands this one, so that servers of both send it',
    resources: aggregate('envoy.clusters.aggregate', { lb_policy: 'CLUSTER_PROVIDED' }),
  },
  'an xdstp name of routes in capitals': {
    said: '0, 14, 0, 0',
    because: 'A47: a name that begins with xdstp: is of the new style, and this one does not',
    routes: CAPITALS,
    resources: one({}),
  },
  'a fault of HTTP status 0': {
    said: '14, 0, 0, 2',
    because: 'a mistake, which Envoy refuses (decisions/resource-validation.md)',
    filters: fault({ http_status: 0 }),
    resources: one({}),
  },
  'HTTP options that are empty': {
    said: '14, 0, 14, 0',
    because: 'A75: HttpProtocolOptions; grpc-go and grpc-java do not read the field',
    resources: one({ upstream_config: {} }),
  },
  'a ring of at most 100, without a least': {
    said: '14, 14, 13, 14',
    because: 'A42: 1,024 unless set, which is above the largest',
    resources: one({ lb_policy: 'RING_HASH', ring_hash_lb_config: { maximum_ring_size: 100 } }),
  },
  'a ring whose least is above the most': {
    said: '14, 14, 14, 14',
    because: 'A42: the least is not above the most',
    resources: one({
      lb_policy: 'RING_HASH',
      ring_hash_lb_config: { minimum_ring_size: 100, maximum_ring_size: 10 },
    }),
  },
  'a ring that is too large': {
    said: '14, 14, 14, 0',
    because: 'A42: at most 8,388,608',
    resources: one({
      lb_policy: 'RING_HASH',
      ring_hash_lb_config: { maximum_ring_size: 8_388_609 },
    }),
  },
  'an update of weights in negative time': {
    said: '14, 0, 14, 0',
    because:
      'a duration is not negative, as in the schema of Envoy (decisions/resource-validation.md)',
    resources: one(
      policies(
        typed(
          'envoy.extensions.load_balancing_policies.client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin',
          { weight_update_period: '-1s' },
        ),
      ),
    ),
  },
  'a route of the longest time: negative': {
    said: '14, 0, 14, 0',
    because:
      'a duration is not negative, as in the schema of Envoy (decisions/resource-validation.md)',
    host: routeWith({ max_stream_duration: { max_stream_duration: '-1s' } }),
    resources: one({}),
  },
  'ring_hash without a hash': {
    said: '0, 14, 0, 14',
    because: 'A42: DEFAULT_HASH is XX_HASH',
    resources: one(
      policies(typed('envoy.extensions.load_balancing_policies.ring_hash.v3.RingHash')),
    ),
  },
  'a virtual host without routes': {
    said: '14, 14, 14, 13',
    because: 'A28: a call that no route matches is UNAVAILABLE',
    host: { routes: [] },
    resources: one({}),
  },
  'the highest number of retries': {
    said: '0, 0, 14, 2',
    because: 'A44: more than 4 are 4',
    host: routeWith({ retry_policy: { retry_on: 'unavailable', num_retries: MAX } }),
    resources: one({}),
  },
  'outlier detection at intervals of 0': {
    said: '0, 0, 0, 13',
    because: 'A50: a valid duration; it ends grpc-java with an exception',
    resources: one({ outlier_detection: { interval: '0s' } }),
  },
  'outlier detection for the highest number of hosts': {
    said: '0, 0, 0, 13',
    because: 'A50: there are never as many; grpc-java reads the number as negative',
    resources: one({ outlier_detection: { success_rate_minimum_hosts: MAX } }),
  },
  'a locality of the highest weight': {
    said: '0, 0, 0, 14',
    because: 'A27: at most 2^32 - 1; grpc-java reads the number as negative',
    resources: ([server]) => ({
      clusters: [cluster('all')],
      endpoints: [assignment('all', { servers: [server], weight: MAX })],
    }),
  },
  'an override of a filter without a name': {
    said: '0, 0, 14, 0',
    because: 'A39: an override for a filter that does not exist is no error',
    host: {
      typed_per_filter_config: { '': typed('envoy.extensions.filters.http.fault.v3.HTTPFault') },
    },
    resources: one({}),
  },
};

const snapshotOf = (name, { routes = `${name}-routes`, filters, host, resources }, servers) => {
  const config = routeConfig([anyRoute('all')], routes);
  Object.assign(config.virtual_hosts[0], host);
  return Snapshot.from({
    listeners: [listener({ name, routes, filters })],
    routes: [config],
    ...resources(servers),
  });
};

/** How one call ends in each client: its status. */
const callAll = async (clients, target) => {
  const answers = await Promise.all(
    Object.values(clients).map((client) => call(client, target, 1, { failFast: true })),
  );
  return {
    said: answers.map(({ codes }) => Object.keys(codes).join()).join(', '),
    messages: answers.map(({ message }) => message.slice(0, 200)),
  };
};

const run = async ({ peers, servers, step, resources: wanted }) => {
  const controlPlane = new ControlPlane();
  const { address } = await controlPlane.start();
  const clients = {};
  for (const name of LANGUAGES) clients[name] = await peers.client(name, address);
  try {
    for (const [index, [title, meaning]] of Object.entries(MEANINGS).entries()) {
      if (!title.includes(wanted)) continue;
      const name = `meaning-${index}`;
      const target = `xds:///${name}`;
      controlPlane.setSnapshot(snapshotOf(name, meaning, servers), { allowInconsistent: true });
      await step(title, async () => {
        const { said, messages } = await callAll(clients, target);
        if (said === meaning.said) return;
        throw new Error(
          `expected ${meaning.said}, got ${said}:\n      ${messages.join('\n      ')}`,
        );
      });
      for (const client of Object.values(clients)) await client.ask({ do: 'close', target });
    }
  } finally {
    for (const client of Object.values(clients)) await client.stop();
    await controlPlane.close({ force: true });
  }
};

export const meaningCases = [
  {
    name: 'meanings: what becomes of calls',
    languages: ['go', 'python', 'java'],
    run,
  },
];
