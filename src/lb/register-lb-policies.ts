import { isLoadBalancerNameRegistered, registerLoadBalancerType } from '../grpc-js';
import type { LbHelper, LoadBalancer, TypedLoadBalancingConfig } from '../grpc-js';
import { constructorOf } from '../grpc-js/constructor-of';

/** What makes the roots of trees, by the name of the policy. */
export interface LbPolicyRoots {
  create(policyName: string, helper: LbHelper): LoadBalancer;
  /** @throws Error with everything that is wrong with the config: that is how grpc-js is told. */
  parseConfig(policyName: string, json: unknown): TypedLoadBalancingConfig;
}

/**
 * Makes the policies known to grpc-js, which instantiates the root of each tree. Names it knows already
 * are left alone: its own `round_robin` stays what other channels use.
 *
 * @param roots Called when a policy is first used, and later.
 * @returns The names that were taken.
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
