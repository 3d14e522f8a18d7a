import { isLoadBalancerNameRegistered, registerLoadBalancerType } from '../../grpc-js';
import type { LbHelper, LoadBalancer, TypedLoadBalancingConfig } from '../../grpc-js';
import { constructorOf } from '../../grpc-js/host-adapters';
import type { FeatureFlags } from '../../util/feature-flags';

/** Creates the roots of trees by the name of the policy. */
export interface LbPolicyRoots {
  create(policyName: string, helper: LbHelper): LoadBalancer;
  /** @throws Error with all violations of the config, as grpc-js requires. */
  parseConfig(policyName: string, json: unknown): TypedLoadBalancingConfig;
}

/**
 * Registers the policies with grpc-js, which creates the root of each tree. Names that are registered already are
 * skipped: other channels keep grpc-js's own `round_robin`.
 *
 * @param roots Called whenever a policy is used.
 * @returns The names that were registered already.
 */
export function registerLbPolicies(
  policyNames: Iterable<string>,
  roots: () => LbPolicyRoots,
): readonly string[] {
  const taken: string[] = [];
  for (const name of policyNames) {
    if (isLoadBalancerNameRegistered(name)) taken.push(name);
    else registerLbPolicy(name, roots);
  }
  return taken;
}

function registerLbPolicy(name: string, roots: () => LbPolicyRoots): void {
  const Root = constructorOf((helper: LbHelper) => roots().create(name, helper));
  const createFromJson = (json: unknown) => roots().parseConfig(name, json);
  const Config = Object.assign(constructorOf(createFromJson), { createFromJson });
  registerLoadBalancerType(name, Root, Config);
}

/** Returns the gRPC names of the policies of this package, without loading their code. */
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
