import { createCdsPolicyType } from '../cds/balancer';
import { createClusterImplPolicyType } from '../cluster-impl/balancer';
import { CallCounterMap } from '../cluster-impl/circuit-breaker';
import { clusterManagerPolicy } from '../cluster-manager/balancer';
import { outlierDetectionPolicies } from '../outlier-detection/balancer';
import { overrideHostPolicy } from '../override-host/balancer';
import { createPriorityPolicyType } from '../priority/balancer';
import { roundRobinPolicy } from '../round-robin/balancer';
import { weightedTargetPolicy } from '../weighted-target/balancer';
import { wrrLocalityPolicy } from '../wrr-locality/balancer';
import { LbPolicyRegistry } from './lb-policy-registry';
import { enabledPolicies, type PolicyEnvironment, type PolicyRow } from './policy-table';
import { isLoadBalancerNameRegistered } from '../../grpc-js';
import type { FeatureFlags } from '../../util/feature-flags';
import type { LbConfig } from '../../resources/extension-points';
import type { LbPolicyLookup, LbPolicyType, ParseLbConfig } from '../lb-policy';
import type * as GrpcJsPolicy from '../grpc-js-policy/balancer';
import type * as LeastRequest from '../least-request/balancer';
import type * as Maglev from '../maglev/balancer';
import type * as PickFirst from '../pick-first/balancer';
import type * as RandomSubsetting from '../random-subsetting/balancer';
import type * as Rls from '../rls/balancer';
import type * as RingHash from '../ring-hash/balancer';
import type * as SlowStart from '../slow-start/round-robin';
import type * as WeightedRoundRobin from '../weighted-round-robin';
import { lazy } from '../../util/lazy';

const loadLeastRequest = lazy<typeof LeastRequest>(() => require('../least-request/balancer'));
const loadMaglev = lazy<typeof Maglev>(() => require('../maglev/balancer'));
const loadPickFirst = lazy<typeof PickFirst>(() => require('../pick-first/balancer'));
const loadRandomSubsetting = lazy<typeof RandomSubsetting>(() =>
  require('../random-subsetting/balancer'),
);
const loadRingHash = lazy<typeof RingHash>(() => require('../ring-hash/balancer'));
const loadRls = lazy<typeof Rls>(() => require('../rls/balancer'));
const loadSlowStart = lazy<typeof SlowStart>(() => require('../slow-start/round-robin'));
const loadWeightedRoundRobin = lazy<typeof WeightedRoundRobin>(() =>
  require('../weighted-round-robin/index'),
);

/**
 * The code of each policy, by its first name, as a type for each name. Every cluster has those that are loaded already, and at
 * most one of the others, which a file each in the package has.
 */
const code = new Map<string, (environment: PolicyEnvironment) => readonly LbPolicyType[]>([
  ['xds_cluster_manager_experimental', () => [clusterManagerPolicy]],
  ['cds_experimental', () => [createCdsPolicyType()]],
  [
    'xds_cluster_impl_experimental',
    ({ clock }) => [createClusterImplPolicyType({ counters: new CallCounterMap(clock) })],
  ],
  ['priority_experimental', ({ flags }) => [createPriorityPolicyType({ flags })]],
  ['xds_wrr_locality_experimental', () => [wrrLocalityPolicy]],
  ['weighted_target_experimental', () => [weightedTargetPolicy]],
  ['outlier_detection_experimental', () => outlierDetectionPolicies],
  ['xds_override_host_experimental', () => [overrideHostPolicy]],
  ['rls_experimental', () => [loadRls().createRlsPolicyType()]],
  [
    'round_robin',
    ({ flags }) => [
      flags.envoyFeatures ? loadSlowStart().slowStartRoundRobinPolicy : roundRobinPolicy,
    ],
  ],
  ['pick_first', (environment) => [loadPickFirst().createPickFirstPolicyType(environment)]],
  [
    'random_subsetting_experimental',
    (environment) => [loadRandomSubsetting().createRandomSubsettingPolicyType(environment)],
  ],
  [
    'ring_hash_experimental',
    (environment) => [loadRingHash().createRingHashPolicyType(environment)],
  ],
  ['maglev_experimental', (environment) => [loadMaglev().createMaglevPolicyType(environment)]],
  [
    'least_request_experimental',
    ({ flags }) => {
      const { leastRequestPolicy, slowStartLeastRequestPolicy } = loadLeastRequest();
      return [flags.envoyFeatures ? slowStartLeastRequestPolicy : leastRequestPolicy];
    },
  ],
  [
    'weighted_round_robin',
    (environment) => {
      const { createWeightedRoundRobinPolicyTypes, OobReports, openOobStream } =
        loadWeightedRoundRobin();
      return createWeightedRoundRobinPolicyTypes({
        customMetrics: environment.flags.wrrCustomMetrics,
        slowStart: environment.flags.envoyFeatures,
        oobReports: new OobReports({ ...environment, openStream: openOobStream }),
      });
    },
  ],
]);

/** Creates the registry of the load-balancing policies of this package. Each is created for its first config. */
export function createPolicyRegistry(environment: PolicyEnvironment): LbPolicyRegistry {
  const { flags } = environment;
  const policies = enabledPolicies(flags).flatMap((row) => {
    const [first] = row.names;
    let types: readonly LbPolicyType[] | undefined;
    const load = () => (types ??= code.get(first)?.(environment) ?? []);
    return row.names.map((name) => latePolicy(name, row, flags, load));
  });
  return new LbPolicyRegistry({ policies, fallback: grpcJsPolicyLookup });
}

function latePolicy(
  name: string,
  { connectsOnDemand = false, kind, message, messageFlag }: PolicyRow,
  flags: FeatureFlags,
  load: () => readonly LbPolicyType[],
): LbPolicyType {
  const type = () => {
    const found = load().find((each) => each.name === name);
    if (found === undefined) throw new Error(`Bug: there is no policy ${name}`);
    return found;
  };
  const parse: ParseLbConfig<LbConfig> = (json, violations, parser) => {
    const { parseConfig, parsePluginConfig } = type();
    return (parseConfig ?? parsePluginConfig)?.(json, violations, parser);
  };
  const hasMessage = message !== undefined && (messageFlag === undefined || flags[messageFlag]);
  return {
    name,
    connectsOnDemand,
    ...(kind === 'plugin' && { parsePluginConfig: parse }),
    ...(kind !== 'plugin' && kind !== 'internal' && { parseConfig: parse }),
    ...(hasMessage && {
      converter: {
        messageType: `envoy.extensions.load_balancing_policies.${message}`,
        convert: (value, context) => type().converter?.convert(value, context),
      },
    }),
    create: (host) => type().create(host),
  };
}

const loadGrpcJsPolicy = lazy<typeof GrpcJsPolicy>(() => require('../grpc-js-policy/balancer'));

/** Finds the policies registered with grpc-js, such as those of other packages. */
export const grpcJsPolicyLookup: LbPolicyLookup = {
  get: (policyName) =>
    isRegistered(policyName) ? loadGrpcJsPolicy().createGrpcJsPolicyType(policyName) : undefined,
};

/** grpc-js looks up names in a plain object, in which `constructor` is registered as well. */
function isRegistered(policyName: string): boolean {
  return isLoadBalancerNameRegistered(policyName) && !(policyName in Object.prototype);
}
