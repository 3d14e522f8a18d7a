import type { TypedLoadBalancingConfig } from '../../grpc-js';
import type { LbConfig } from '../../resources/extension-points';

/** The config of a policy that is registered with grpc-js. */
export class GrpcJsConfig implements LbConfig {
  constructor(
    readonly policyName: string,
    /** As the policy itself parsed it. */
    readonly typedConfig: TypedLoadBalancingConfig,
  ) {}

  toJson(): object {
    const json = new Map<string, unknown>(Object.entries(this.typedConfig.toJsonObject()));
    const config = json.get(this.policyName);
    return typeof config === 'object' && config !== null ? config : {};
  }
}
