// Features that are loaded for the first configuration with them: calls while it comes, changes and goes 50 times a second, and what is
// left when it is gone. Route lookups are in route-lookup.test.ts.

import { setTimeout as sleep } from 'node:timers/promises';
import { credentials, Metadata, status } from '@grpc/grpc-js';
import { getSubchannelPool } from '@grpc/grpc-js/build/src/subchannel-pool';
import { createXdsChannelCredentials, inspect } from '../../src';
import { AuthorizationServer, extAuthzJson } from '../support/authorization-server';
import { DiagnosticRecorder } from '../support/diagnostic-recorder';
import type { EchoBackend, EchoClient } from '../support/echo-backend';
import { eventually } from '../support/eventually';
import { LiveTimers } from '../support/live-timers';
import { registerAnew, SERVICE, useSharedMesh, type MeshResources } from '../support/mesh';
import { revocationList } from '../support/revocation-lists';
import { TestCertificates } from '../support/test-certificates';
import { bootstrapWithFiles, serverTls, useFolder, verifiedTls } from '../support/tls';
import {
  edsClusterJson,
  endpointsJson,
  lbPolicyJson,
  listenerJson,
  routeConfigJson,
  routerFilter,
  routeToCluster,
  type Json,
} from '../support/xds-json';

jest.setTimeout(300_000);

/** For a long run: `CALLS=10000`. */
const CALLS = Number(process.env['CALLS'] ?? 250);
const CALL_MS = 1;
const FLIP_MS = 20;
/** There are calls during so many flips. */
const MIN_FLIPS = 5;
/** Calls that are counted where they arrive. */
const EXACT_CALLS = 250;
/** Calls that are started in one turn: a busy machine makes fewer than 1,000 a second. */
const MAX_BURST = 20;

const VARIABLES = ['GRPC_XDS_NODE_ENVOY_FEATURES', 'GRPC_EXPERIMENTAL_XDS_EXT_AUTHZ_ON_CLIENT'];

/** What a configuration has besides the route of all calls to the cluster `main`. */
interface Parts {
  readonly filters?: readonly Json[];
  /** Of the route. */
  readonly route?: Json;
  /** Of the action of the route. */
  readonly action?: Json;
  /** Of the cluster `main`. */
  readonly cluster?: Json;
  readonly backends?: readonly EchoBackend[];
  /** Further clusters, each with its backend. */
  readonly clusters?: Readonly<Record<string, EchoBackend>>;
}

/** How a feature is tested. */
interface Feature {
  /** With the feature, with other settings of it, and without it. */
  readonly configs: readonly [Parts, Parts, Parts];
  /** Whether the rules explain a failed call. Default: they explain none. */
  readonly isAllowed?: (error: Failure) => boolean;
  readonly onFlip?: (flips: number) => void;
  /** Default: 20. */
  readonly flipMs?: number;
  /** How often the feature has acted. @param failed The number of failed calls. */
  readonly effects: (failed: number) => number;
}

interface Failure {
  readonly code: status;
  readonly details: string;
}

const FILTERS = 'type.googleapis.com/envoy.extensions.filters.http';

const policy = (type: string, config: Json = {}): Json => ({
  load_balancing_policy: lbPolicyJson(type, config),
});

const added = (key: string, value: string): Json => ({ append: { header: { key, value } } });
const mutating = (request_mutations: readonly Json[]): readonly Json[] => [
  {
    name: 'mutation',
    typed_config: {
      '@type': `${FILTERS}.header_mutation.v3.HeaderMutation`,
      mutations: { request_mutations },
    },
  },
];
const always = { default_value: { numerator: 100 } };
const rateLimit = (max_tokens: number, fill_interval = '0.05s'): Json => ({
  '@type': `${FILTERS}.local_ratelimit.v3.LocalRateLimit`,
  stat_prefix: 'rate',
  token_bucket: { max_tokens, tokens_per_fill: max_tokens, fill_interval },
  filter_enabled: always,
  filter_enforced: always,
});
const mirrorTo = (cluster: string, percent = 100): Json => ({
  request_mirror_policies: [
    { cluster, runtime_fraction: { default_value: { numerator: percent } } },
  ],
});
const retries = (per_try_timeout: string): Json => ({
  retry_policy: {
    retry_on: 'deadline-exceeded',
    num_retries: 3,
    per_try_timeout,
    retry_back_off: { base_interval: '0.001s' },
  },
});

type Counts = Readonly<Record<string, number>>;

/** How often there is each of some names. */
function countsOf(names: readonly string[]): Counts {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

interface LoadResult {
  /** How many calls had each answer. */
  readonly answers: ReadonlyMap<string, number>;
  readonly failures: readonly Failure[];
}

/** Makes calls at 1,000 a second. */
async function callAll(client: EchoClient, count: number): Promise<LoadResult> {
  const answers = new Map<string, number>();
  const failures: Failure[] = [];
  const calls: Promise<void>[] = [];
  let dueAt = performance.now();
  while (calls.length < count) {
    const now = performance.now();
    dueAt = Math.max(dueAt, now - MAX_BURST * CALL_MS);
    for (; dueAt <= now && calls.length < count; dueAt += CALL_MS) {
      const metadata = new Metadata();
      metadata.set('secret', 's');
      metadata.set('user', `user ${calls.length % 100}`);
      const call = client.say({ metadata }).then(
        (answer) => void answers.set(answer, (answers.get(answer) ?? 0) + 1),
        ({ code, details }: Failure) => void failures.push({ code, details }),
      );
      calls.push(call);
    }
    await sleep(1);
  }
  await Promise.all(calls);
  return { answers, failures };
}

/** The number of calls during the flips. */
const callsOf = ({ flipMs = FLIP_MS }: Feature) => Math.max(CALLS, (MIN_FLIPS * flipMs) / CALL_MS);

/** Returns what there is more of than before. */
function grown(before: Counts, after: Counts): Counts {
  const more = Object.entries(after).filter(([name, count]) => count > (before[name] ?? 0));
  return Object.fromEntries(more);
}

/** Prints the figures of a long run. */
function report(figures: object): void {
  if (process.env['CALLS'] !== undefined) process.stderr.write(`${JSON.stringify(figures)}\n`);
}

const pool = getSubchannelPool(true);

describe('calls at 1,000 a second', () => {
  beforeAll(() => {
    for (const name of VARIABLES) process.env[name] = 'true';
  });
  const mesh = useSharedMesh({ features: ['trusted_xds_server'] });
  const folder = useFolder();
  const certificates = new TestCertificates();
  const root = certificates.authority('root');
  const certificateOf = { a: root.sign('a'), b: root.sign('b') };
  let backends: readonly [EchoBackend, EchoBackend, EchoBackend];
  let client: EchoClient;
  let timers: LiveTimers;
  const authorizers: AuthorizationServer[] = [];

  beforeAll(async () => {
    const ca_certificate_file = folder.write('ca.pem', root.certificate);
    const crl_file = folder.write('listed.crl', String(revocationList(root, [certificateOf.b])));
    const files = {
      plain: { ca_certificate_file },
      listed: { ca_certificate_file, crl_file },
      strict: {
        ca_certificate_file,
        crl_file: folder.write('strict.crl', String(revocationList(root))),
        fail_revocation_undetermined: true,
      },
    };
    timers = new LiveTimers();
    registerAnew({ bootstrap: bootstrapWithFiles(mesh.address, files, ['trusted_xds_server']) });
  });
  beforeEach(async () => {
    backends = await Promise.all([mesh.backend('a'), mesh.backend('b'), mesh.backend('c')]);
  });
  afterEach(() => {
    for (const server of authorizers.splice(0)) server.stop();
    mesh.closeClients();
  });
  afterAll(() => {
    timers.stop();
    certificates.close();
    for (const name of VARIABLES) Reflect.deleteProperty(process.env, name);
  });

  const open = () =>
    mesh.client({}, undefined, createXdsChannelCredentials(credentials.createInsecure()));

  function resourcesOf(parts: Parts): MeshResources {
    const { filters = [], route, action, cluster, clusters = {} } = parts;
    const ports = (parts.backends ?? backends).map(({ port }) => port);
    const lbPolicies = { circuit_breakers: { thresholds: [{ max_requests: 100_000 }] } };
    const others = Object.entries(clusters);
    return {
      listeners: [listenerJson(SERVICE, 'routes', { http_filters: [...filters, routerFilter] })],
      routes: [routeConfigJson('routes', [{ ...routeToCluster('main', action), ...route }])],
      clusters: [
        edsClusterJson('main', { ...lbPolicies, ...cluster }),
        ...others.map(([name]) => edsClusterJson(name, lbPolicies)),
      ],
      endpoints: [
        endpointsJson('main', [{ zone: 'a', ports }]),
        ...others.map(([name, { port }]) => endpointsJson(name, [{ zone: 'a', ports: [port] }])),
      ],
    };
  }

  /** What the process has. */
  function processCounts(): Counts {
    // Instead of every 10 s.
    Reflect.apply(Reflect.get(pool, 'unrefUnusedSubchannels'), pool, []);
    const sockets = process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap');
    const targets = inspect().targets.map(({ target }) => `target ${target}`);
    return { ...countsOf([...sockets, ...targets]), ...timers.count() };
  }

  /** What the client has, by its own report and that of the control plane. */
  function clientCounts(): Counts {
    const { targets, certificates } = inspect();
    const [target] = targets;
    const subchannels = (target?.channels ?? []).flatMap((channel) => channel.subchannels);
    return {
      ...processCounts(),
      ...countsOf([
        ...(JSON.stringify(target?.policies).match(/"policy":"[^"]*"/g) ?? []),
        ...subchannels.map(({ address }) => `subchannel ${address}`),
        ...(target?.resources ?? []).map(({ type, name }) => `${type} ${name}`),
        ...subscriptions().flatMap(({ subscribed }) => subscribed.map((each) => `watched ${each}`)),
        ...certificates.map(() => 'certificate'),
      ]),
    };
  }

  const subscriptions = () => [...(mesh.controlPlane.clients()[0]?.types.values() ?? [])];
  /** The versions that the client has accepted. */
  const versions = () =>
    subscriptions()
      .map(({ ackedVersion }) => ackedVersion)
      .join();

  /** Whether the client has accepted what is served. */
  function isAccepted(): boolean {
    const types = subscriptions();
    return types.length === 4 && types.every((type) => type.ackedVersion === type.sentVersion);
  }

  /** Whether all endpoints of the client are READY. */
  function isConnected(): boolean {
    const states = JSON.stringify(inspect().targets[0]?.policies).match(/"state":"[^"]*"/g);
    return new Set(states).size === 1;
  }

  const prepareFeature: Readonly<Record<string, () => Feature | Promise<Feature>>> = {
    'certificate revocation lists': async () => {
      const names = ['a', 'b'] as const;
      const secured = await Promise.all(
        names.map((name) => mesh.backend(name, serverTls(certificateOf[name]))),
      );
      const lists = [[certificateOf.b], []].map((revoked) => String(revocationList(root, revoked)));
      const handshakes = new DiagnosticRecorder('grpc-xds:tls-handshake');
      let refused = 0;
      const by = (instance: string): Parts => ({
        backends: secured,
        cluster: { transport_socket: verifiedTls(instance) },
      });
      return {
        configs: [by('listed'), by('strict'), by('plain')],
        // New calls wait for connections by the new configuration, and no handshake takes only 20 ms on a busy machine.
        flipMs: 100,
        onFlip: (flips) => folder.write('listed.crl', lists[(flips >> 2) % 2] ?? ''),
        effects() {
          refused += JSON.stringify(handshakes.take()).split('VERIFICATION_FAILED').length - 1;
          return refused;
        },
      };
    },
    'header mutation': () => {
      let changed = 0;
      const onCall = (metadata: Metadata) => {
        const seen = ['order', 'secret'].flatMap((name) => metadata.get(name)).join();
        expect(['first,s', 'second', 's']).toContain(seen);
        if (seen !== 's') changed++;
      };
      for (const backend of backends) backend.onCall = onCall;
      return {
        configs: [
          { filters: mutating([added('order', 'first')]) },
          { filters: mutating([added('order', 'second'), { remove: 'secret' }]) },
          {},
        ],
        effects: () => changed,
      };
    },
    'a local rate limit': () => {
      const filters = [{ name: 'rate', typed_config: rateLimit(1_000_000) }];
      return {
        configs: [
          { filters },
          { filters, route: { typed_per_filter_config: { rate: rateLimit(5) } } },
          {},
        ],
        isAllowed: ({ code, details }) =>
          code === status.UNAVAILABLE &&
          details.includes('HTTP filter "rate" limits the rate of calls'),
        effects: (failed) => failed,
      };
    },
    Maglev: () => {
      const action = { hash_policy: [{ header: { header_name: 'user' } }] };
      const [a, b, c] = backends;
      const cluster = (table_size: number) => policy('maglev.v3.Maglev', { table_size });
      return {
        configs: [
          { action, cluster: cluster(1021) },
          { action, cluster: cluster(251), backends: [a, b] },
          { action },
        ],
        effects: () => c.calls,
      };
    },
    ...Object.fromEntries(
      [
        ['round_robin', 'round_robin.v3.RoundRobin'],
        ['least_request', 'least_request.v3.LeastRequest'],
        [
          'weighted_round_robin',
          'client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin',
        ],
      ].map(([name = '', type = '']) => [
        `slow start of ${name}`,
        (): Feature => {
          const [a, b, c] = backends;
          const cluster = (slow_start_window: string) =>
            policy(type, { slow_start_config: { slow_start_window } });
          return {
            configs: [
              { cluster: cluster('10s'), backends: [a, b] },
              { cluster: cluster('0.03s'), backends: [b, c] },
              { cluster: policy(type) },
            ],
            effects: () => Math.min(a.calls, b.calls, c.calls),
          };
        },
      ]),
    ),
    'a timeout of tries': () => {
      let tries = 0;
      let firsts = 0;
      const onCall = (metadata: Metadata) => {
        if (metadata.get('grpc-previous-rpc-attempts').length > 0) tries++;
        else if (firsts++ % 10 === 0) return sleep(300);
        return undefined;
      };
      for (const backend of backends) backend.onCall = onCall;
      return {
        configs: [{ action: retries('0.1s') }, { action: retries('0.05s') }, {}],
        isAllowed: ({ code, details }) =>
          code === status.DEADLINE_EXCEEDED && details.includes('has not answered a try within'),
        effects: () => tries,
      };
    },
    mirroring: async () => {
      const [first, second] = [await mesh.backend('first'), await mesh.backend('second')];
      return {
        configs: [
          { action: mirrorTo('first'), clusters: { first } },
          { action: mirrorTo('second', 50), clusters: { second } },
          {},
        ],
        effects: () => first.calls + second.calls,
      };
    },
    ext_authz: async () => {
      const allowing = await AuthorizationServer.start();
      const denying = await AuthorizationServer.start();
      authorizers.push(allowing, denying);
      denying.answer = () => ({ status: { code: 7 }, denied_response: { status: { code: 403 } } });
      const by = ({ target }: AuthorizationServer): Parts => ({
        filters: [{ name: 'authz', typed_config: extAuthzJson(target) }],
      });
      return {
        configs: [by(allowing), by(denying), {}],
        isAllowed: ({ code, details }) =>
          code === status.PERMISSION_DENIED &&
          details.includes(`denied by authorization server "${denying.target}"`),
        effects: () => Math.min(allowing.checks.length, denying.checks.length),
      };
    },
  };

  /** Makes calls with each configuration until the feature has acted: what it needs is loaded then. @returns the failures. */
  async function tryAll({ configs, effects }: Feature): Promise<readonly Failure[]> {
    const failures: Failure[] = [];
    const callOften = async () => failures.push(...(await callAll(client, 20)).failures);
    do {
      for (const config of configs) {
        mesh.serve(resourcesOf(config));
        await eventually(async () => (await callOften()) >= 0 && isAccepted(), true);
        await callOften();
      }
    } while (effects(failures.length) === 0);
    await eventually(isConnected, true);
    return failures;
  }

  /** Makes calls while the configuration flips. */
  async function callThroughFlips(feature: Feature): Promise<LoadResult> {
    const { configs, onFlip, effects, flipMs = FLIP_MS } = feature;
    const resources = configs.map(resourcesOf);
    let [accepted, last] = [0, versions()];
    const before = effects(0);
    let flips = 0;
    const flipping = setInterval(() => {
      if (versions() !== last) accepted++;
      last = versions();
      const next = resources[flips++ % resources.length];
      if (next !== undefined) mesh.serve(next);
      onFlip?.(flips);
    }, flipMs);
    const startedAt = performance.now();
    const result = await callAll(client, callsOf(feature));
    clearInterval(flipping);
    const seconds = (performance.now() - startedAt) / 1000;
    report({
      seconds,
      flips,
      accepted,
      effects: effects(result.failures.length) - before,
    });
    expect(flips).toBeGreaterThan(3);
    return result;
  }

  it.each(Object.entries(prepareFeature))(
    'end by the rules while the configuration flips, and leave nothing behind: %s',
    async (name, prepare) => {
      const idle = processCounts();
      const feature = await prepare();
      const { configs, isAllowed = () => false } = feature;
      const isUnexplained = (error: Failure) => !isAllowed(error);
      client = open();
      expect((await tryAll(feature)).filter(isUnexplained)).toEqual([]);
      const before = clientCounts();
      report({ feature: name });
      const { answers, failures } = await callThroughFlips(feature);
      report({ answers: Object.fromEntries(answers), failures: failures.length });
      expect(failures.filter(isUnexplained)).toEqual([]);
      const answered = [...answers.values()].reduce((sum, count) => sum + count, 0);
      expect(answered + failures.length).toBe(callsOf(feature));
      mesh.serve(resourcesOf(configs[2]));
      await eventually(() => grown(before, clientCounts()), {});
      mesh.closeClients();
      await eventually(() => grown(idle, processCounts()), {});
    },
  );

  describe('with one configuration', () => {
    it('reach their mirror once, and their cluster once for each try', async () => {
      const mirror = await mesh.backend('mirror');
      const tries: string[] = [];
      const onCall = (metadata: Metadata) => {
        const [previous = '0'] = metadata.get('grpc-previous-rpc-attempts').map(String);
        tries.push(previous);
        return previous === '2' ? undefined : new Promise<void>(() => {});
      };
      const action = { ...mirrorTo('mirror'), ...retries('1s') };
      mesh.serve(resourcesOf({ action, clusters: { mirror } }));
      client = open();
      await eventually(async () => {
        await callAll(client, 1);
        return mirror.calls > 0 && isConnected();
      }, true);
      for (const backend of backends) backend.onCall = onCall;
      mirror.calls = 0;
      const { failures } = await callAll(client, EXACT_CALLS);
      expect(failures).toEqual([]);
      expect(countsOf(tries)).toEqual({ 0: EXACT_CALLS, 1: EXACT_CALLS, 2: EXACT_CALLS });
      await eventually(() => mirror.calls, EXACT_CALLS);
    });

    it('share the tokens of a local rate limit on all channels of a target', async () => {
      const filters = [{ name: 'rate', typed_config: rateLimit(100, '3600s') }];
      mesh.serve(resourcesOf({ filters }));
      const results = await Promise.all([open(), open()].map((each) => callAll(each, 150)));
      expect(results.flatMap(({ failures }) => failures)).toHaveLength(200);
      mesh.serve(resourcesOf({ filters: [...filters, ...mutating([added('order', 'first')])] }));
      await eventually(isAccepted, true);
      expect((await callAll(open(), 10)).failures).toHaveLength(10);
    });
  });
});
