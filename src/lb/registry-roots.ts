import type { LbHelper, LoadBalancer, TypedLoadBalancingConfig } from '../grpc-js';
import type { LbConfig } from '../resources/extension-points';
import { Violations } from '../util/violations';
import { GrpcJsRoot, RootConfig, type SharedLbEnvironment } from './grpc-js-root';
import type { LbPolicyType } from './lb-policy';
import type { LbPolicyRegistry } from './lb-policy-registry';
import type { LbPolicyRoots } from './register-lb-policies';

/** Makes roots of the policies that are in a registry now. Those registered later need our tree around them. */
export class RegistryRoots implements LbPolicyRoots {
  private readonly types: ReadonlyMap<string, LbPolicyType>;

  constructor(
    private readonly registry: LbPolicyRegistry,
    private readonly shared: SharedLbEnvironment,
  ) {
    this.types = new Map(Array.from(registry.registered(), (type) => [type.name, type]));
  }

  create(policyName: string, helper: LbHelper): LoadBalancer {
    return new GrpcJsRoot(this.typeOf(policyName), helper, this.shared);
  }

  parseConfig(policyName: string, json: unknown): TypedLoadBalancingConfig {
    if (isParsed(json, policyName)) return new RootConfig(json);
    const violations = Violations.root();
    const config = this.typeOf(policyName).parseConfig(json, violations, this.registry);
    if (config === undefined) throw new Error(violations.all.join('; '));
    return new RootConfig(config);
  }

  private typeOf(policyName: string): LbPolicyType {
    const type = this.types.get(policyName);
    if (type === undefined) throw new Error(`Bug: there is no policy ${policyName}`);
    return type;
  }
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
