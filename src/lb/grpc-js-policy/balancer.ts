import {
  ConnectivityState,
  isLoadBalancerNameRegistered,
  parseLoadBalancingConfig,
} from '../../grpc-js';
import type { GrpcEndpoint, TypedLoadBalancingConfig } from '../../grpc-js';
import type { LbConfig } from '../../resources/extension-points';
import { errorMessage } from '../../util/error-message';
import { ok, type Result } from '../../util/result';
import { createPolicyType, isInstanceOf } from '../checked-policy';
import { createFailurePicker, failureText } from '../connectivity';
import { allEndpoints } from '../endpoint-children';
import type { EndpointSet } from '../endpoint-set';
import { createChildHost } from '../lb-host';
import type { LbHost, LbPolicy, LbPolicyLookup, LbPolicyType, LbUpdate } from '../lb-policy';
import { sameUpdate } from '../lb-update';
import { GrpcJsChild } from './grpc-js-child';

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

/** Makes a policy that leaves everything to one registered with grpc-js. */
function createGrpcJsPolicy(host: LbHost): LbPolicy<GrpcJsConfig> {
  return new GrpcJsPolicy(host);
}

class GrpcJsPolicy implements LbPolicy<GrpcJsConfig> {
  private readonly child: GrpcJsChild;
  private lastUpdate: LbUpdate | undefined;
  private hasReported = false;

  constructor(private readonly host: LbHost) {
    this.child = new GrpcJsChild(
      createChildHost(host, {
        updateState: (state, picker, errorMessage) => {
          this.hasReported = true;
          host.updateState(state, picker, errorMessage);
        },
      }),
    );
  }

  update(update: LbUpdate<GrpcJsConfig>): void {
    const { config, endpoints, options, resolutionNote } = update;
    if (this.lastUpdate !== undefined && sameUpdate(this.lastUpdate, update)) return;
    this.lastUpdate = update;
    const accepted = this.child.update({
      config: config.typedConfig,
      endpoints: toGrpcEndpoints(endpoints),
      options,
      resolutionNote,
    });
    if (!accepted) this.onRefused(config.policyName, update);
  }

  exitIdle(): void {
    this.child.exitIdle();
  }

  resetBackoff(): void {
    this.child.resetBackoff();
  }

  destroy(): void {
    this.child.destroy();
  }

  /** Some policies reject an update without reporting a state, and calls would wait forever. */
  private onRefused(policyName: string, { endpoints, resolutionNote }: LbUpdate): void {
    const reason = endpoints.ok ? `${policyName} refused the endpoints` : endpoints.error;
    // A state reported during the update is still in the queue.
    this.host.environment.batch.run(() => {
      if (!this.hasReported) this.fail(failureText(reason, resolutionNote));
    });
  }

  private fail(text: string): void {
    const { TRANSIENT_FAILURE } = ConnectivityState;
    this.host.updateState(TRANSIENT_FAILURE, createFailurePicker(text), text);
  }
}

/** The flat list grpc-js knows: it has no localities. */
function toGrpcEndpoints(endpoints: Result<EndpointSet, string>): Result<GrpcEndpoint[], string> {
  if (!endpoints.ok) return endpoints;
  return ok(
    Array.from(allEndpoints(endpoints.value), ({ addresses }) => ({ addresses: [...addresses] })),
  );
}

/** Finds the policies registered with grpc-js, so that those of other packages work in our trees. */
export const grpcJsPolicyLookup: LbPolicyLookup = {
  get: (policyName) => (isRegistered(policyName) ? createType(policyName) : undefined),
};

/** grpc-js looks names up in a plain object, and so takes `constructor` for the name of a policy. */
function isRegistered(policyName: string): boolean {
  return isLoadBalancerNameRegistered(policyName) && !(policyName in Object.prototype);
}

function createType(policyName: string): LbPolicyType {
  return createPolicyType({
    name: policyName,
    isConfig: isInstanceOf(GrpcJsConfig),
    parseConfig(json, violations) {
      if (typeof json !== 'object' || json === null) {
        violations.add('must be an object');
        return undefined;
      }
      try {
        return new GrpcJsConfig(policyName, parseLoadBalancingConfig({ [policyName]: json }));
      } catch (error) {
        violations.add(errorMessage(error));
        return undefined;
      }
    },
    create: createGrpcJsPolicy,
  });
}
