import type { FeatureFlags } from '../util/feature-flags';

/** The gRPC names of the policies of this package, so that they can be known before their code is loaded. */
export function policyNames(flags: FeatureFlags): readonly string[] {
  return [
    'xds_cluster_manager_experimental',
    'cds_experimental',
    'xds_cluster_impl_experimental',
    'priority_experimental',
    'xds_wrr_locality_experimental',
    'weighted_target_experimental',
    ...(flags.outlierDetection ? ['outlier_detection_experimental', 'outlier_detection'] : []),
    ...(flags.overrideHost ? ['xds_override_host_experimental'] : []),
    'round_robin',
    'pick_first',
    'random_subsetting_experimental',
    ...(flags.ringHash ? ['ring_hash_experimental'] : []),
    ...(flags.leastRequest ? ['least_request_experimental'] : []),
    ...(flags.weightedRoundRobin
      ? ['weighted_round_robin', 'weighted_round_robin_experimental']
      : []),
  ];
}
