import {
  ConnectivityState,
  isLoadBalancerNameRegistered,
  parseLoadBalancingConfig,
} from '../../grpc-js';
import type { GrpcEndpoint, TypedLoadBalancingConfig } from '../../grpc-js';
import type { LbConfig } from '../../resources/extension-points';
import { errorMessage } from '../../util/error-message';
import { isObject } from '../../util/json-fields';
import { ok, type Result } from '../../util/result';
import { createPolicyType, isInstanceOf } from '../checked-policy';
import { createFailurePicker, failureText } from '../connectivity';
import { allEndpoints } from '../endpoint-children';
import type { EndpointSet } from '../endpoint-set';
import type { LbHost, LbPolicy, LbPolicyLookup, LbPolicyType, LbUpdate } from '../lb-policy';
import { sameUpdate } from '../lb-update';
import { GrpcJsChild } from './grpc-js-child';

/** The config of a policy that is registered with grpc-js. */
export class GrpcJsConfig implements LbConfig {
  constructor(
    readonly policyName: string,
    /** The config as parsed by the policy itself. */
    readonly typedConfig: TypedLoadBalancingConfig,
  ) {}

  toJson(): object {
    const json = new Map<string, unknown>(Object.entries(this.typedConfig.toJsonObject()));
    const config = json.get(this.policyName);
    return typeof config === 'object' && config !== null ? config : {};
  }
}

/** Forwards everything to a policy registered with grpc-js. */
class GrpcJsPolicy implements LbPolicy<GrpcJsConfig> {
  private readonly child: GrpcJsChild;
  private lastUpdate: LbUpdate | undefined;
  private hasReported = false;

  constructor(private readonly host: LbHost) {
    this.child = new GrpcJsChild(host, (state, picker, errorMessage) => {
      this.hasReported = true;
      host.updateState(state, picker, errorMessage);
    });
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
    if (!accepted) this.onRejected(config.policyName, update);
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

  /** Fails calls: some policies reject an update without reporting a state, and calls would wait forever. */
  private onRejected(policyName: string, { endpoints, resolutionNote }: LbUpdate): void {
    const reason = endpoints.ok ? `${policyName} rejected the endpoints` : endpoints.error;
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

/** Returns the endpoints of all localities in one list, as policies of grpc-js expect. */
function toGrpcEndpoints(endpoints: Result<EndpointSet, string>): Result<GrpcEndpoint[], string> {
  if (!endpoints.ok) return endpoints;
  return ok(
    Array.from(allEndpoints(endpoints.value), ({ addresses }) => ({ addresses: [...addresses] })),
  );
}

/** Finds the policies registered with grpc-js, such as those of other packages. */
export const grpcJsPolicyLookup: LbPolicyLookup = {
  get: (policyName) => (isRegistered(policyName) ? createType(policyName) : undefined),
};

/** grpc-js looks up names in a plain object, in which `constructor` is registered as well. */
function isRegistered(policyName: string): boolean {
  return isLoadBalancerNameRegistered(policyName) && !(policyName in Object.prototype);
}

function createType(policyName: string): LbPolicyType {
  return createPolicyType({
    name: policyName,
    isConfig: isInstanceOf(GrpcJsConfig),
    parseConfig(json, violations) {
      if (!isObject(json)) {
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
    create: (host) => new GrpcJsPolicy(host),
  });
}
