import { isLoadBalancerNameRegistered, registerLoadBalancerType } from '../grpc-js';
import type { LbHelper } from '../grpc-js';
import type { LbConfig } from '../resources/extension-points';
import { Violations } from '../util/violations';
import { GrpcJsRoot, RootConfig, type SharedLbEnvironment } from './grpc-js-root';
import type { LbPolicyRegistry } from './lb-policy-registry';
import type { LbPolicyType } from './lb-policy';

/**
 * Makes the policies known to grpc-js, which instantiates the root of each tree. Names it knows already
 * are left alone: its own `round_robin` stays what other channels use.
 *
 * @param shared Called for each new tree.
 * @returns The names that were taken.
 */
export function registerLbPolicies(
  registry: LbPolicyRegistry,
  shared: () => SharedLbEnvironment,
): readonly string[] {
  const taken: string[] = [];
  for (const type of registry.registered()) {
    if (isLoadBalancerNameRegistered(type.name)) taken.push(type.name);
    else registerLbPolicy(type, registry, shared);
  }
  return taken;
}

function registerLbPolicy(
  type: LbPolicyType,
  registry: LbPolicyRegistry,
  shared: () => SharedLbEnvironment,
): void {
  // grpc-js wants constructors.
  class Root extends GrpcJsRoot {
    constructor(helper: LbHelper) {
      super(type, helper, shared());
    }
  }
  class Config extends RootConfig {
    /** Throws with everything that is wrong with the config: that is how grpc-js is told. */
    static createFromJson(json: unknown): RootConfig {
      if (isParsed(json, type.name)) return new RootConfig(json);
      const violations = Violations.root();
      const config = type.parseConfig(json, violations, registry);
      if (config === undefined) throw new Error(violations.all.join('; '));
      return new RootConfig(config);
    }
  }
  registerLoadBalancerType(type.name, Root, Config);
}

/**
 * Our resolver puts the config itself where grpc-js expects JSON, and so spares both the writing and the
 * parsing. Configs are instances of classes, which JSON never is.
 */
function isParsed(json: unknown, policyName: string): json is LbConfig {
  return (
    typeof json === 'object' &&
    json !== null &&
    Object.getPrototypeOf(json) !== Object.prototype &&
    'policyName' in json &&
    json.policyName === policyName
  );
}
