import type { Limits } from '../../bootstrap/limits';
import type { Clock } from '../../util/clock';
import type { FeatureFlags } from '../../util/feature-flags';
import type { Logger } from '../../util/logger';
import type { Random } from '../../util/random';
import type { XxHash64 } from '../../util/hashes';

/** The dependencies of the policies of the process. */
export interface PolicyEnvironment {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly flags: FeatureFlags;
  readonly hash: XxHash64;
  readonly limits: Limits;
}

/** What is known of a policy before its code is loaded. */
export interface PolicyRow {
  /** The name in gRPC, or two. */
  readonly names: readonly [string, ...string[]];
  /** The feature flag that enables it. Default: always enabled. */
  readonly flag?: keyof FeatureFlags;
  /**
   * `internal`: the client creates the configs itself, from several resources, which cannot name the policy; without those,
   * its calls fail. grpc-go, grpc-java and C-core read such configs. `plugin`: an internal one that cluster specifier plugins can
   * name. `fixed`: policies create each other's configs, so that an application cannot replace it; nor an internal one.
   */
  readonly kind?: 'internal' | 'plugin' | 'fixed';
  readonly connectsOnDemand?: boolean;
  /** The xDS config, below `envoy.extensions.load_balancing_policies`. Default: there is none. */
  readonly message?: string;
  /** The feature flag without which the policy cannot be named through xDS. Default: that of the policy. */
  readonly messageFlag?: keyof FeatureFlags;
}

const policyTable: readonly PolicyRow[] = [
  { names: ['xds_cluster_manager_experimental'], kind: 'internal' },
  { names: ['cds_experimental'], kind: 'plugin' },
  { names: ['xds_cluster_impl_experimental'], kind: 'internal' },
  { names: ['priority_experimental'], kind: 'internal' },
  {
    names: ['xds_wrr_locality_experimental'],
    kind: 'fixed',
    message: 'wrr_locality.v3.WrrLocality',
  },
  { names: ['weighted_target_experimental'], kind: 'internal' },
  {
    names: ['outlier_detection_experimental', 'outlier_detection'],
    kind: 'fixed',
    flag: 'outlierDetection',
  },
  { names: ['xds_override_host_experimental'], kind: 'internal', flag: 'overrideHost' },
  { names: ['rls_experimental'], kind: 'fixed' },
  { names: ['round_robin'], message: 'round_robin.v3.RoundRobin' },
  // Clusters without a policy of their own do not need the message.
  { names: ['pick_first'], message: 'pick_first.v3.PickFirst', messageFlag: 'pickFirst' },
  {
    names: ['random_subsetting_experimental'],
    message: 'random_subsetting.v3.RandomSubsetting',
  },
  {
    names: ['ring_hash_experimental'],
    flag: 'ringHash',
    connectsOnDemand: true,
    message: 'ring_hash.v3.RingHash',
  },
  {
    names: ['maglev_experimental'],
    flag: 'envoyFeatures',
    connectsOnDemand: true,
    message: 'maglev.v3.Maglev',
  },
  {
    names: ['least_request_experimental'],
    flag: 'leastRequest',
    message: 'least_request.v3.LeastRequest',
  },
  {
    names: ['weighted_round_robin', 'weighted_round_robin_experimental'],
    flag: 'weightedRoundRobin',
    message: 'client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin',
  },
];

/** The policies that an application cannot replace. */
export const fixedPolicies: ReadonlySet<string> = new Set(
  policyTable.filter(({ kind }) => kind !== undefined).map(({ names: [name] }) => name),
);

/** Returns the policies of this package. */
export function enabledPolicies(flags: FeatureFlags): readonly PolicyRow[] {
  return policyTable.filter(({ flag }) => flag === undefined || flags[flag]);
}

/** Returns the gRPC names of the policies of this package, without loading their code. */
export function policyNames(flags: FeatureFlags): readonly string[] {
  return enabledPolicies(flags).flatMap(({ names }) => names);
}
