import {
  ConnectivityState,
  parseLoadBalancingConfig,
  PickResultType,
  type ChannelOptions,
  type GrpcEndpoint,
  type TypedLoadBalancingConfig,
  type PickArgs,
  type Picker,
  type PickResult,
} from '../../grpc-js';
import { CHILD_CHANNEL_OPTION } from '../../util/channel-options';
import type { LbConfig } from '../../resources/extension-points';
import { contained } from '../../util/contained';
import { errorMessage, errorStack } from '../../util/errors';
import { isObject } from '../../util/json-fields';
import { err, ok, type Result } from '../../util/result';
import { createFailurePicker, withoutResolutionNote } from '../connectivity';
import { allEndpoints, type LbEndpoints } from '../endpoints/endpoint-set';
import type { LbContext, LbHost, LbPolicy, LbPolicyType } from '../lb-policy';
import { GrpcJsChild } from './grpc-js-child';

/** The config of a policy that is registered with grpc-js. */
export class GrpcJsConfig implements LbConfig {
  constructor(
    readonly policyName: string,
    /** The config as parsed by the policy itself. */
    readonly typedConfig: TypedLoadBalancingConfig,
  ) {}
}

/** Forwards everything to a policy registered with grpc-js. */
function createGrpcJsPolicy(host: LbHost): LbPolicy<GrpcJsConfig> {
  let hasReported = false;
  let policyName = '';
  /** The error of the last exception since an update; `undefined` if there was none. */
  let crash: string | undefined;
  const describe = (cause: string) =>
    `Load-balancing policy ${policyName} of grpc-js failed: ${cause}`;
  const onCrash = (error: unknown): string => {
    host.environment.logger.error(() => describe(errorStack(error)));
    crash = describe(errorMessage(error));
    return crash;
  };
  const child = new GrpcJsChild(
    host,
    (state, picker, errorText) => {
      hasReported = true;
      const text = errorText && withoutResolutionNote(errorText);
      host.updateState(state, new GrpcJsPicker(picker, onCrash), text);
    },
    onCrash,
  );

  /** Fails calls: some policies reject an update without reporting a state, and calls would wait forever. */
  function onRejected(endpoints: LbEndpoints): void {
    if (hasReported) return;
    const rejection =
      typeof endpoints === 'string' ? endpoints : `${policyName} rejected the endpoints`;
    const text = crash ?? rejection;
    host.updateState(ConnectivityState.TRANSIENT_FAILURE, createFailurePicker(text), text);
  }

  return {
    update(config, endpoints, context) {
      policyName = config.policyName;
      crash = undefined;
      const accepted = child.update({
        config: config.typedConfig,
        endpoints: toGrpcEndpoints(endpoints),
        options: withChildOptions(context),
      });
      // Later in the batch: a state reported during the update is still in the queue.
      if (accepted !== true) host.environment.batch.run(() => onRejected(endpoints));
    },
    exitIdle: () => child.exitIdle(),
    resetBackoff: () => child.resetBackoff(),
    destroy: () => child.destroy(),
  };
}

/** Returns the options of the channel with those of its children, for channels that the policy creates (gRFC A110). */
function withChildOptions({ options, childChannelOptions }: LbContext): ChannelOptions {
  if (childChannelOptions === undefined) return options;
  return { ...options, [CHILD_CHANNEL_OPTION]: childChannelOptions };
}

/** Returns the endpoints of all localities in one list, as policies of grpc-js expect. */
function toGrpcEndpoints(endpoints: LbEndpoints): Result<GrpcEndpoint[], string> {
  if (typeof endpoints === 'string') return err(endpoints);
  return ok(
    Array.from(allEndpoints(endpoints), ({ addresses }) => ({ addresses: [...addresses] })),
  );
}

/** Creates the type of a policy that is registered with grpc-js. */
export function createGrpcJsPolicyType(policyName: string): LbPolicyType {
  return {
    name: policyName,
    parseConfig(json, violations) {
      if (!isObject(json)) return violations.add('must be an object');
      try {
        return new GrpcJsConfig(policyName, parseLoadBalancingConfig({ [policyName]: json }));
      } catch (error) {
        return violations.add(errorMessage(error));
      }
    },
    create: createGrpcJsPolicy,
  };
}

/**
 * Runs the picker of a policy that is registered with grpc-js. An exception of it fails the one call; of a callback of a
 * pick, which grpc-js does not catch, it fails none.
 */
export class GrpcJsPicker implements Picker {
  /** @param onError Logs an exception. @returns the error of a call that fails. */
  constructor(
    private readonly picker: Picker,
    private readonly onError: (error: unknown) => string,
  ) {}

  pick(args: PickArgs): PickResult {
    try {
      const result = this.picker.pick(args);
      if (!isPickResult(result)) throw new Error('its picker must return a pick result');
      const hasCallback = Boolean(result.onCallStarted ?? result.onCallEnded);
      return withoutNote(hasCallback ? this.withCallbacks(result) : result);
    } catch (error) {
      return createFailurePicker(this.onError(error)).pick(args);
    }
  }

  private withCallbacks(result: PickResult): PickResult {
    const { onError } = this;
    const { onCallStarted, onCallEnded } = result;
    const contain = <Args extends readonly unknown[]>(callback: ((...args: Args) => void) | null) =>
      callback && contained((...args: Args) => callback(...args), onError);
    return {
      ...result,
      onCallStarted: contain(onCallStarted),
      onCallEnded: contain(onCallEnded),
    };
  }
}

/** Removes the empty resolution note from the error of a pick: the policy above the cluster adds one. */
function withoutNote(result: PickResult): PickResult {
  const { status } = result;
  if (result.pickResultType !== PickResultType.TRANSIENT_FAILURE || status === null) return result;
  return { ...result, status: { ...status, details: withoutResolutionNote(status.details) } };
}

/** Whether a picker has returned a result. Plain JavaScript may return anything. */
function isPickResult(result: unknown): boolean {
  if (typeof result !== 'object' || result === null) return false;
  return (
    'pickResultType' in result &&
    typeof result.pickResultType === 'number' &&
    result.pickResultType in PickResultType
  );
}
