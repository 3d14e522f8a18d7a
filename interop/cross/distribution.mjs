// One configuration, served by our control plane to clients of several implementations: all must send their calls alike.
import { ControlPlane, Snapshot } from 'grpc-xds/control-plane';
import {
  anyRoute,
  assignment,
  cluster,
  listener,
  route,
  routeConfig,
  typed,
} from '../harness/resources.mjs';
import { call, demand, demandShare, demandShares, untilOnly } from './judging.mjs';

const CLIENTS = ['node', 'node-delta', 'go', 'python', 'java'];

/** The key of an endpoint on a ring: its address and port (gRFC A42). */
const ringKeyOf = ({ endpoint }) => {
  const { address, port_value: port } = endpoint.address.socket_address;
  return `${address}:${port}`;
};

const byRingKey = (a, b) => (ringKeyOf(a) < ringKeyOf(b) ? -1 : 1);

const headerRoute = (name, matcher, to) =>
  route({ prefix: '', headers: [{ name, ...matcher }] }, to);

const eds = (clusters) => ({
  clusters: Object.entries(clusters).map(([name, { extra }]) => cluster(name, extra)),
  endpoints: Object.entries(clusters).map(([name, { groups }]) => assignment(name, ...groups)),
});

/** Clusters a, b, c with one server each. */
const singles = (servers) =>
  Object.fromEntries(
    ['a', 'b', 'c'].map((name, i) => [name, { groups: [{ servers: [servers[i]] }] }]),
  );

const names = (servers) => servers.map(({ name }) => name);

const even = async (client, target, servers) => {
  await untilOnly(client, target, names(servers));
  const share = 1 / servers.length;
  demandShares(
    Object.fromEntries(names(servers).map((name) => [name, share])),
    await call(client, target, 300),
  );
};

const failsOverAndBack = async ({ client, target, servers: [a, b], backends }) => {
  await untilOnly(client, target, [a.name]);
  await backends.ask({ do: 'stop', name: a.name });
  await untilOnly(client, target, [b.name]);
  await backends.ask({ do: 'start', name: a.name });
  await untilOnly(client, target, [a.name]);
};

const RING_HASH = {
  lb_policy: 'RING_HASH',
  ring_hash_lb_config: { minimum_ring_size: 1024, hash_function: 'XX_HASH' },
};
const hashRoute = anyRoute('ring', {
  action: { hash_policy: [{ header: { header_name: 'key' } }] },
});

/** Which server each of some keys leads to; twice, because a key must not change its server. */
const serversOfKeys = async (client, target) => {
  const chosen = {};
  for (let i = 0; i < 40; i++) {
    const counts = await call(client, target, 2, { headers: { key: `user-${i}` } });
    demand(Object.keys(counts.peers).length === 1 && counts.codes[0] === 2, 'one server', counts);
    chosen[`user-${i}`] = Object.keys(counts.peers)[0];
  }
  return chosen;
};

/** Each: the resources by servers, and what every client must do. `compare` is what must be equal in all of them. */
const CASES = {
  'round_robin: equal shares': {
    resources: (servers) => ({
      routes: [anyRoute('all')],
      ...eds({ all: { groups: [{ servers: servers.slice(0, 3) }] } }),
    }),
    check: ({ client, target, servers }) => even(client, target, servers.slice(0, 3)),
  },
  'weighted clusters: 10, 30, 60': {
    resources: (servers) => ({
      routes: [
        {
          match: { prefix: '' },
          route: {
            weighted_clusters: {
              clusters: [
                { name: 'a', weight: 10 },
                { name: 'b', weight: 30 },
                { name: 'c', weight: 60 },
              ],
            },
          },
        },
      ],
      ...eds(singles(servers)),
    }),
    check: async ({ client, target, servers }) => {
      const three = names(servers.slice(0, 3));
      await untilOnly(client, target, three);
      const counts = await call(client, target, 400);
      demandShares({ [three[0]]: 0.1, [three[1]]: 0.3, [three[2]]: 0.6 }, counts);
    },
  },
  'localities: weights 1 and 3': {
    resources: ([a, b]) => {
      const { clusters, endpoints } = eds({
        all: { groups: [{ servers: [a] }, { servers: [b] }] },
      });
      endpoints[0].endpoints[1].load_balancing_weight = 3;
      return { routes: [anyRoute('all')], clusters, endpoints };
    },
    check: async ({ client, target, servers: [a, b] }) => {
      await untilOnly(client, target, [a.name, b.name]);
      demandShares({ [a.name]: 0.25, [b.name]: 0.75 }, await call(client, target, 400));
    },
  },
  'headers: exact, prefix, suffix, range, regular expression, presence, inversion': {
    resources: (servers) => ({
      routes: [
        headerRoute('exact', { string_match: { exact: 'yes' } }, 'b'),
        headerRoute('prefix', { string_match: { prefix: 'ye' } }, 'b'),
        headerRoute('suffix', { string_match: { suffix: 'es' } }, 'b'),
        headerRoute('range', { range_match: { start: 10, end: 20 } }, 'b'),
        headerRoute('regex', { safe_regex_match: { regex: 'y[aeiou]s+' } }, 'b'),
        headerRoute('present', { present_match: true }, 'b'),
        headerRoute('absent', { present_match: true, invert_match: true }, 'c'),
        anyRoute('a'),
      ],
      ...eds(singles(servers)),
    }),
    check: async ({ client, language, target, servers: [a, b, c] }) => {
      const expected = [
        [{ absent: '1', exact: 'yes' }, b],
        [{ absent: '1', exact: 'no' }, a],
        [{ absent: '1', prefix: 'yes' }, b],
        [{ absent: '1', suffix: 'yes' }, b],
        [{ absent: '1', suffix: 'yesno' }, a],
        [{ absent: '1', range: '10' }, b],
        // The end is not part of the range (gRFC A28), but is in grpc-java 1.75.
        ...(language === 'java' ? [] : [[{ absent: '1', range: '20' }, a]]),
        [{ absent: '1', regex: 'yess' }, b],
        [{ absent: '1', regex: 'xyes' }, a],
        [{ absent: '1', present: 'x' }, b],
        [{}, c],
      ];
      for (const [headers, server] of expected) {
        const counts = await call(client, target, 5, { headers });
        demand(
          counts.peers[server.name] === 5,
          `${server.name} for ${JSON.stringify(headers)}`,
          counts,
        );
      }
    },
  },
  'paths: each method has its cluster': {
    resources: (servers) => ({
      routes: [route({ path: '/grpc.testing.TestService/EmptyCall' }, 'b'), anyRoute('a')],
      ...eds(singles(servers)),
    }),
    check: async ({ client, target, servers: [a, b] }) => {
      await untilOnly(client, target, [b.name], { method: 'EmptyCall' });
      await untilOnly(client, target, [a.name]);
    },
  },
  'priorities: the second while the first is away': {
    resources: ([a, b]) => ({
      routes: [anyRoute('all')],
      ...eds({ all: { groups: [{ servers: [a] }, { servers: [b], priority: 1 }] } }),
    }),
    check: failsOverAndBack,
  },
  'aggregate cluster: the second while the first is away': {
    resources: ([a, b]) => {
      const members = eds({ a: { groups: [{ servers: [a] }] }, b: { groups: [{ servers: [b] }] } });
      const config = typed('envoy.extensions.clusters.aggregate.v3.ClusterConfig', {
        clusters: ['a', 'b'],
      });
      const cluster_type = { name: 'envoy.clusters.aggregate', typed_config: config };
      const all = { name: 'all', cluster_type };
      return { routes: [anyRoute('all')], ...members, clusters: [all, ...members.clusters] };
    },
    check: failsOverAndBack,
  },
  'ring_hash: a key leads to the same server from everywhere': {
    resources: (servers) => ({
      routes: [hashRoute],
      ...eds({ ring: { groups: [{ servers }], extra: RING_HASH } }),
    }),
    check: ({ client, target }) => serversOfKeys(client, target),
    mustAgree: true,
  },
  'ring_hash with weights: a key leads to the same server from everywhere': {
    resources: (servers) => {
      const { clusters, endpoints } = eds({ ring: { groups: [{ servers }], extra: RING_HASH } });
      // C-core rounds the entries in the order of the update, the others in that of the keys (docs/decisions/resource-validation.md).
      const ordered = endpoints[0].endpoints[0].lb_endpoints.sort(byRingKey);
      ordered.forEach((endpoint, i) => {
        endpoint.load_balancing_weight = i + 1;
      });
      return { routes: [hashRoute], clusters, endpoints };
    },
    check: ({ client, target }) => serversOfKeys(client, target),
    mustAgree: true,
  },
  'drops: 30 of 100': {
    resources: ([a]) => {
      const { clusters, endpoints } = eds({ all: { groups: [{ servers: [a] }] } });
      const drop_percentage = { numerator: 30, denominator: 'HUNDRED' };
      endpoints[0].policy = { drop_overloads: [{ category: 'some', drop_percentage }] };
      return { routes: [anyRoute('all')], clusters, endpoints };
    },
    check: async ({ client, target }) => {
      const counts = await call(client, target, 400);
      demandShare('status 14', 0.3, counts.codes[14] ?? 0, counts);
    },
  },
  'faults: 25 of 100 are aborted': {
    filters: [
      {
        name: 'fault',
        typed_config: typed('envoy.extensions.filters.http.fault.v3.HTTPFault', {
          abort: { grpc_status: 10, percentage: { numerator: 25, denominator: 'HUNDRED' } },
        }),
      },
    ],
    resources: ([a]) => ({
      routes: [anyRoute('all')],
      ...eds({ all: { groups: [{ servers: [a] }] } }),
    }),
    check: async ({ client, target }) => {
      const counts = await call(client, target, 400);
      demandShare('status 10', 0.25, counts.codes[10] ?? 0, counts);
    },
  },
};

/**
 * Throws when keys lead to other servers in one implementation than in another. Not compared is grpc-java, which puts
 * brackets and a slash around the address that it hashes (gRFC A42: the address as `host:port`).
 */
const demandAgreement = (answers) => {
  const compared = Object.entries(answers).filter(([language]) => language !== 'java');
  const [[first, expected], ...others] = compared;
  for (const [language, answer] of others) {
    const differing = Object.keys(expected).filter((key) => expected[key] !== answer[key]);
    if (differing.length === 0) continue;
    const [key] = differing;
    throw new Error(
      `${differing.length} keys differ: ${key} is ${expected[key]} in ${first}, ${answer[key]} in ${language}`,
    );
  }
};

/**
 * @param cases Entries of `CASES`.
 * @param hop Starts what is between the control plane, whose address it has, and the clients; see `Setup` in go-control-plane.mjs.
 */
const runCases = async ({ peers, servers, backends, step, available }, { cases, hop }) => {
  const controlPlane = new ControlPlane();
  const started = await controlPlane.start();
  const address = await hop(started.address);
  const languages = CLIENTS.filter((name) => available.has(name));
  const clients = {};
  try {
    await step(`start ${languages.join(', ')}`, async () => {
      await Promise.all(
        languages.map(async (name) => (clients[name] = await peers.client(name, address))),
      );
    });
    for (const [index, [name, { resources, filters, check, mustAgree }]] of cases.entries()) {
      const service = `distribution-${index}`;
      const { routes, ...rest } = resources(servers);
      const snapshot = Snapshot.from({
        listeners: [listener({ name: service, filters })],
        routes: [routeConfig(routes)],
        ...rest,
      });
      controlPlane.setSnapshot(snapshot);
      const target = `xds:///${service}`;
      const answers = {};
      for (const language of languages) {
        const client = clients[language];
        await step(`${name}: ${language}`, async () => {
          answers[language] = await check({ client, language, target, servers, backends });
        });
        await client.ask({ do: 'close', target });
      }
      if (mustAgree) await step(`${name}: all agree`, () => demandAgreement(answers));
    }
  } finally {
    await Promise.all(Object.values(clients).map((client) => client.stop()));
    await controlPlane.close({ force: true });
  }
};

export const distributionCases = [
  {
    name: 'the same distribution from every implementation',
    languages: ['go'],
    run: (context) =>
      runCases(context, { cases: Object.entries(CASES), hop: (address) => address }),
  },
  {
    name: 'the same distribution behind a relay',
    languages: ['go'],
    run: async (context) => {
      let relay;
      try {
        const hop = async (address) => {
          relay = await context.peers.relay(address, { listen: '127.0.0.1:0' });
          return relay.address;
        };
        await runCases(context, { cases: context.sample(Object.entries(CASES)), hop });
      } finally {
        await relay?.stop();
      }
    },
  },
];
