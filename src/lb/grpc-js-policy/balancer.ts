import { ConnectivityState, parseLoadBalancingConfig } from '../../grpc-js';
import type { GrpcEndpoint, TypedLoadBalancingConfig } from '../../grpc-js';
import type { LbConfig } from '../../resources/extension-points';
import { errorMessage } from '../../util/error-message';
import { isObject } from '../../util/json-fields';
import { ok, type Result } from '../../util/result';
import { createFailurePicker, failureText } from '../connectivity';
import { allEndpoints, type EndpointSet } from '../endpoints/endpoint-set';
import type { LbHost, LbPolicy, LbPolicyType, LbUpdate } from '../lb-policy';
import { createPolicyType, isInstanceOf } from '../tree/checked-policy';
import { shareUpdate } from '../tree/lb-update';
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
function createGrpcJsPolicy(host: LbHost): LbPolicy<GrpcJsConfig> {
  let hasReported = false;
  let lastUpdate: LbUpdate<GrpcJsConfig> | undefined;
  const child = new GrpcJsChild(host, (state, picker, errorMessage) => {
    hasReported = true;
    host.updateState(state, picker, errorMessage);
  });

  /** Fails calls: some policies reject an update without reporting a state, and calls would wait forever. */
  function onRejected(policyName: string, { endpoints, resolutionNote }: LbUpdate): void {
    if (hasReported) return;
    const reason = endpoints.ok ? `${policyName} rejected the endpoints` : endpoints.error;
    const text = failureText(reason, resolutionNote);
    host.updateState(ConnectivityState.TRANSIENT_FAILURE, createFailurePicker(text), text);
  }

  return {
    update(received) {
      const update = shareUpdate(lastUpdate, received);
      if (update === lastUpdate) return;
      lastUpdate = update;
      const { config, endpoints, options, resolutionNote } = update;
      const accepted = child.update({
        config: config.typedConfig,
        endpoints: toGrpcEndpoints(endpoints),
        options,
        resolutionNote,
      });
      // Later in the batch: a state reported during the update is still in the queue.
      if (!accepted) host.environment.batch.run(() => onRejected(config.policyName, update));
    },
    exitIdle: () => child.exitIdle(),
    resetBackoff: () => child.resetBackoff(),
    destroy: () => child.destroy(),
  };
}

/** Returns the endpoints of all localities in one list, as policies of grpc-js expect. */
function toGrpcEndpoints(endpoints: Result<EndpointSet, string>): Result<GrpcEndpoint[], string> {
  if (!endpoints.ok) return endpoints;
  return ok(
    Array.from(allEndpoints(endpoints.value), ({ addresses }) => ({ addresses: [...addresses] })),
  );
}

/** Creates the type of a policy that is registered with grpc-js. */
export function createGrpcJsPolicyType(policyName: string): LbPolicyType {
  return createPolicyType({
    name: policyName,
    isConfig: isInstanceOf(GrpcJsConfig),
    parseConfig(json, violations) {
      if (!isObject(json)) return violations.add('must be an object');
      try {
        return new GrpcJsConfig(policyName, parseLoadBalancingConfig({ [policyName]: json }));
      } catch (error) {
        return violations.add(errorMessage(error));
      }
    },
    create: createGrpcJsPolicy,
  });
}
