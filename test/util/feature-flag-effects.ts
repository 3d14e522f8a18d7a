import { PriorityConfig } from '../../src/lb/priority/config';
import { parseBootstrap } from '../../src/bootstrap/bootstrap-parser';
import { CredentialsRegistry } from '../../src/security/credentials/credentials-registry';
import { builtInChannelCredentials } from '../../src/security/credentials/management-credentials';
import { createPolicyRegistry } from '../../src/lb/registry/create-policy-registry';
import type { PolicyEnvironment } from '../../src/lb/registry/policy-table';
import { emptyEndpointSet, type EndpointSet } from '../../src/lb/endpoints/endpoint-set';
import { PickFirstConfig } from '../../src/lb/pick-first/config';
import { WeightedRoundRobinConfig } from '../../src/lb/weighted-round-robin/config';
import type { LbConfig } from '../../src/resources/extension-points';
import { createServerAccess } from '../../src/runtime/built-in-parts';
import { createClientPool } from '../../src/runtime/process-clients';
import type { FeatureFlags } from '../../src/util/feature-flags';
import { StatusCode } from '../../src/util/status-code';
import { Violations } from '../../src/util/violations';
import { createBudgets } from '../../src/xds-client/budgets';
import { serverWith } from '../resources/decode-json';
import { FakeClock } from '../support/fake-clock';
import { FakeNetwork } from '../support/fake-transport';
import {
  LbHarness,
  makeEndpoint,
  makeEndpointSet,
  makeLocality,
  pick,
  singleLocality,
} from '../support/lb-harness';
import type { Json } from '../support/xds-json';
import { RecordingWatcher } from '../xds-client/harness';
import { TestResourceType } from '../xds-client/test-resource';
import { filtersOf, resourceFlagEffects, type FlagEffect } from './resource-flag-effects';

const [A, B] = ['10.0.0.1:80', '10.0.0.2:80'];

const hasFilter =
  (type: string): FlagEffect =>
  (environment) =>
    filtersOf(environment).isSupported(`envoy.extensions.${type}`);

const hasServerFilter =
  (type: string): FlagEffect =>
  (environment) =>
    filtersOf(environment).forServers.isSupported(`envoy.extensions.${type}`);

const hasPolicy =
  (name: string): FlagEffect =>
  (environment) =>
    Array.from(createPolicyRegistry(environment).registered(), (each) => each.name).includes(name);

const server: Json = { server_uri: 'xds.test:443', channel_creds: [{ type: 'insecure' }] };

const supportOf = (environment: PolicyEnvironment) => ({
  ...createServerAccess(environment, { name: 'test', version: '1' }).support,
  certificateProviders: new Set<string>(),
});

const usesFallback: FlagEffect = (environment) => {
  const support = supportOf(environment);
  const json = { xds_servers: [server, { ...server, server_uri: 'other.test:443' }] };
  const bootstrap = parseBootstrap(json, 'test', support, environment.flags);
  return bootstrap.ok && bootstrap.value.servers.length === 2;
};

const readsTrustBundleMaps: FlagEffect = (environment) => {
  const violations = Violations.root();
  const config = { spiffe_trust_bundle_map_file: 1 };
  const types = new CredentialsRegistry('channel', builtInChannelCredentials(environment));
  types.check({ type: 'tls', config }, violations);
  return violations.count > 0;
};

/** The clients of a process, and what shows what they do. */
function acquireClient(ambient: PolicyEnvironment) {
  const clock = new FakeClock();
  const environment = { ...ambient, clock };
  const network = new FakeNetwork(clock);
  const parsed = parseBootstrap(
    { xds_servers: [server], node: { id: 'n' } },
    'test',
    supportOf(environment),
    environment.flags,
  );
  if (!parsed.ok) throw new Error(parsed.error.join('; '));
  const pooled = createClientPool(environment, network, createBudgets({}, 0)).acquire(
    parsed.value,
    'xds:///a',
  );
  const type = new TestResourceType('T', true);
  const watch = (name: string) => {
    const watcher = new RecordingWatcher();
    pooled.client.watch(type, name, watcher);
    clock.flush();
    return watcher;
  };
  return { ...pooled, clock, type, watch, server: network.server('xds.test:443') };
}

const knowsAuthorities: FlagEffect = (environment) =>
  acquireClient(environment).watch('xdstp://unknown/test.T/x').errors[0]?.kind === 'bad-name';

const readsResourceErrors: FlagEffect = (environment) => {
  const { type, watch, server: xdsServer } = acquireClient(environment);
  const watcher = watch('x');
  const errorDetail = { code: StatusCode.NOT_FOUND, message: 'none', details: [] };
  xdsServer.stream.respond({
    typeUrl: type.typeUrl,
    versionInfo: '1',
    resourceErrors: [{ resourceName: { name: 'x' }, errorDetail }],
  });
  return watcher.told.length > 0;
};

/** A cluster that names no metrics has none reported (gRFC A85); before, all of them were (gRFC A64). */
const choosesMetrics: FlagEffect = (environment) => {
  const { loads } = acquireClient(environment).group;
  const source = { server: serverWith(), cluster: 'c', edsServiceName: '', metrics: [] };
  return loads.acquire(source).metrics === undefined;
};

const supportsCollections: FlagEffect = (environment) =>
  acquireClient(environment).client.node.clientFeatures.includes(
    'xds.endpoint.supports_lb_endpoint_collection',
  );

function configOf(environment: PolicyEnvironment, name: string, json: Json): LbConfig {
  const violations = Violations.root();
  const config = createPolicyRegistry(environment).fromJson([{ [name]: json }], violations);
  if (config === undefined) throw new Error(violations.all.join('; '));
  return config;
}

/** A policy of the process, and the addresses it has connected to. */
function createPolicy(environment: PolicyEnvironment, name: string) {
  const registry = createPolicyRegistry(environment);
  const harness = new LbHarness(registry);
  const type = registry.get(name);
  if (type === undefined) throw new Error(`${name} is not registered`);
  const attempted = async () => {
    await harness.settle();
    const { subchannels } = harness.host;
    return subchannels.flatMap((each) => (each.connectRequests > 0 ? [each.getAddress()] : []));
  };
  return { harness, policy: harness.create(type), attempted };
}

const shufflesByWeight: FlagEffect = async (environment) => {
  const firsts: (string | undefined)[] = [];
  for (const [first, second] of [
    [1, 3],
    [3, 1],
  ]) {
    const { harness, policy, attempted } = createPolicy(environment, 'pick_first');
    harness.random = 0.5;
    const set = makeEndpointSet(
      makeLocality('x', [makeEndpoint(A, { weight: 9 })], first),
      makeLocality('y', [B], second),
    );
    harness.updateEndpoints(policy, new PickFirstConfig(true), set);
    firsts.push((await attempted())[0]);
  }
  return firsts.join() === [B, A].join();
};

/** The endpoint that ring_hash connects to for a call with the hash of the first entry of an address. */
async function endpointFor(environment: PolicyEnvironment, json: Json, set: EndpointSet) {
  const { harness, policy, attempted } = createPolicy(environment, 'ring_hash_experimental');
  const config = configOf(environment, 'ring_hash_experimental', json);
  harness.updateEndpoints(policy, config, set);
  const requestHash = () => environment.hash.hash(`${A}_0`);
  pick(harness.last.picker, { cluster: 'cluster:c', requestHash });
  return (await attempted()).join();
}

/** A call without the header is sent to a random endpoint (gRFC A76), despite the hash policies of its route. */
const hashesByHeader: FlagEffect = async (environment) => {
  const json = { requestHashHeader: 'user', minRingSize: 2, maxRingSize: 2 };
  const addresses = Array.from({ length: 50 }, (_, index) => `10.1.0.${index}:80`);
  return (await endpointFor(environment, json, singleLocality(...addresses, A))) !== A;
};

const ignoresHashKeys: FlagEffect = async (environment) => {
  const set = singleLocality(makeEndpoint(A, { hashKey: B }), makeEndpoint(B, { hashKey: A }));
  return (await endpointFor(environment, {}, set)) === A;
};

const keepsChildren: FlagEffect = (environment) => {
  const { harness, policy } = createPolicy(environment, 'priority_experimental');
  const child = {
    config: configOf(environment, 'round_robin', {}),
    ignoreReresolutionRequests: false,
  };
  for (const names of [['a', 'b'], ['b']]) {
    const config = new PriorityConfig(new Map(names.map((name) => [name, child])));
    harness.updateEndpoints(policy, config, emptyEndpointSet);
  }
  // Longer than a child may take to connect.
  harness.clock.advance(60_000);
  return harness.clock.pendingTimers > 0;
};

const readsCustomMetrics: FlagEffect = (environment) => {
  const json = { metricNamesForComputingUtilization: ['named_metrics.queue'] };
  const config = configOf(environment, 'weighted_round_robin', json);
  if (!(config instanceof WeightedRoundRobinConfig)) throw new Error('another config');
  return config.settings.metricNamesForComputingUtilization.length > 0;
};

/** What is so exactly if a flag is on. */
export const flagEffects: Readonly<Record<keyof FeatureFlags, FlagEffect>> = {
  ...resourceFlagEffects,
  faultInjection: hasFilter('filters.http.fault.v3.HTTPFault'),
  ringHash: hasPolicy('ring_hash_experimental'),
  federation: knowsAuthorities,
  leastRequest: hasPolicy('least_request_experimental'),
  outlierDetection: hasPolicy('outlier_detection_experimental'),
  overrideHost: hasFilter('filters.http.stateful_session.v3.StatefulSession'),
  weightedRoundRobin: hasPolicy('weighted_round_robin'),
  fallback: usesFallback,
  requestHashKey: hashesByHeader,
  endpointHashKeyBackwardCompat: ignoresHashKeys,
  lrsPropagation: choosesMetrics,
  spiffeBundles: readsTrustBundleMaps,
  dataErrorHandling: readsResourceErrors,
  endpointFallback: supportsCollections,
  bootstrapCallCreds: (environment) => supportOf(environment).callCreds.has('jwt_token_file'),
  extAuthz: hasFilter('filters.http.ext_authz.v3.ExtAuthz'),
  extAuthzOnServers: hasServerFilter('filters.http.ext_authz.v3.ExtAuthz'),
  envoyFeatures: hasFilter('filters.http.header_mutation.v3.HeaderMutation'),
  compositeFilter: hasFilter('common.matching.v3.ExtensionWithMatcher'),
  weightedShuffling: shufflesByWeight,
  wrrCustomMetrics: readsCustomMetrics,
  priorityChildCache: keepsChildren,
};
