import { isLoadBalancerNameRegistered, registerLoadBalancerType } from '../../grpc-js';
import type { LbHelper, LoadBalancer, TypedLoadBalancingConfig } from '../../grpc-js';
import { constructorOf } from '../../grpc-js/host-adapters';
import { containedBalancer } from '../../grpc-js/host-callbacks';

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
  const Root = constructorOf((helper: LbHelper) => containedBalancer(roots().create(name, helper)));
  const createFromJson = (json: unknown) => roots().parseConfig(name, json);
  const Config = Object.assign(constructorOf(createFromJson), { createFromJson });
  registerLoadBalancerType(name, Root, Config);
}
