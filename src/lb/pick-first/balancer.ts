import { ConnectivityState, parseLoadBalancingConfig } from '../../grpc-js';
import type { ChannelOptions, Picker, TypedLoadBalancingConfig } from '../../grpc-js';
import type { XdsEndpoint } from '../../resources/endpoints/endpoints';
import type { FeatureFlags } from '../../util/feature-flags';
import type { Random } from '../../util/random';
import { ok } from '../../util/result';
import { createPolicyType, isInstanceOf } from '../checked-policy';
import {
  createFailurePicker,
  failureText,
  queuePicker,
  withoutResolutionNote,
} from '../connectivity';
import { allEndpoints } from '../endpoint-children';
import type { EndpointSet } from '../endpoint-set';
import { combinedWeights } from '../endpoint-weights';
import { GrpcJsChild } from '../grpc-js-policy/grpc-js-child';
import type { Publication } from '../lb-batch';
import { createChildHost } from '../lb-host';
import type { LbHost, LbPolicy, LbPolicyType, LbUpdate } from '../lb-policy';
import { parsePickFirstConfig, PICK_FIRST, PickFirstConfig } from './config';

/** The options that all pick_first policies of a process share. */
export interface PickFirstPolicyOptions {
  /** Without `weightedShuffling`, every order is as likely as any other (gRFC A113). */
  readonly flags: Pick<FeatureFlags, 'weightedShuffling'>;
}

/** Tries the addresses of all endpoints in order and uses the first that connects (gRFC A62). */
export function createPickFirstPolicyType({ flags }: PickFirstPolicyOptions): LbPolicyType {
  const shuffle = flags.weightedShuffling ? shuffleByCombinedWeight : shuffleEvenly;
  return createPolicyType({
    name: PICK_FIRST,
    isConfig: isInstanceOf(PickFirstConfig),
    parseConfig: parsePickFirstConfig,
    create: (host) => new PickFirstPolicy(host, shuffle),
  });
}

const NO_ENDPOINTS = 'No endpoints to connect to';

/** The input of the connection attempt in progress. */
interface Attempt {
  readonly endpoints: readonly XdsEndpoint[];
  readonly shuffled: boolean;
  readonly options: ChannelOptions;
}

/** Puts the endpoints of a set, already in one list, in random order. */
type Shuffle = (
  endpoints: readonly XdsEndpoint[],
  set: EndpointSet,
  random: Random,
) => readonly XdsEndpoint[];

/** Leaves the connecting to grpc-js's pick_first, except for the shuffling, which is broken there. */
class PickFirstPolicy implements LbPolicy<PickFirstConfig> {
  private readonly publication: Publication;
  private readonly hostConfig: TypedLoadBalancingConfig;
  private child: GrpcJsChild | undefined;
  private attempt: Attempt | undefined;
  private state = ConnectivityState.CONNECTING;
  private picker: Picker = queuePicker;
  /** Why picks fail, without resolution note; `undefined` unless in TRANSIENT_FAILURE. */
  private failure: string | undefined;
  private resolutionNote = '';

  constructor(
    private readonly host: LbHost,
    private readonly shuffle: Shuffle,
  ) {
    this.publication = host.environment.batch.createPublication(host.depth, this);
    this.hostConfig = parseLoadBalancingConfig({ [PICK_FIRST]: { shuffleAddressList: false } });
  }

  update(update: LbUpdate<PickFirstConfig>): void {
    const { config, endpoints } = update;
    const noteChanged = update.resolutionNote !== this.resolutionNote;
    this.resolutionNote = update.resolutionNote;
    if (noteChanged && this.failure !== undefined) this.publication.request();
    if (!endpoints.ok) {
      if (this.attempt === undefined) this.fail(endpoints.error);
    } else {
      const shuffled = config.shuffleAddressList;
      const list = [...allEndpoints(endpoints.value)];
      this.connect({ endpoints: list, shuffled, options: update.options }, endpoints.value);
    }
  }

  exitIdle(): void {
    this.child?.exitIdle();
  }

  resetBackoff(): void {
    this.child?.resetBackoff();
  }

  destroy(): void {
    this.publication.cancel();
    this.dropChild();
  }

  private connect(attempt: Attempt, set: EndpointSet): void {
    if (attempt.endpoints.length === 0) {
      this.dropChild();
      this.fail(NO_ENDPOINTS);
      return;
    }
    if (this.attempt !== undefined && sameAttempt(this.attempt, attempt)) return;
    this.attempt = attempt;
    const { random } = this.host.environment;
    const order = attempt.shuffled
      ? this.shuffle(attempt.endpoints, set, random)
      : attempt.endpoints;
    this.child ??= this.createChild();
    this.child.update({
      config: this.hostConfig,
      endpoints: ok(order.map(({ addresses }) => ({ addresses: [...addresses] }))),
      options: attempt.options,
      // Added here, because it may change without a new attempt.
      resolutionNote: '',
    });
  }

  private createChild(): GrpcJsChild {
    return new GrpcJsChild(
      createChildHost(this.host, {
        updateState: (state, picker, errorMessage) => {
          const error = errorMessage === null ? undefined : withoutResolutionNote(errorMessage);
          this.setState(state, picker, error);
        },
      }),
    );
  }

  private dropChild(): void {
    this.child?.destroy();
    this.child = undefined;
    this.attempt = undefined;
  }

  private fail(text: string): void {
    this.setState(ConnectivityState.TRANSIENT_FAILURE, queuePicker, text);
  }

  private setState(state: ConnectivityState, picker: Picker, failure: string | undefined): void {
    const same = state === this.state && failure === this.failure;
    // Failing again for the same reason changes nothing; only READY may come with another connection.
    if (same && state === ConnectivityState.TRANSIENT_FAILURE) return;
    this.state = state;
    this.picker = picker;
    this.failure = failure;
    this.publication.request();
  }

  /** Publishes the state and the picker. */
  publish(): void {
    const { failure, host, picker, state } = this;
    if (failure === undefined) {
      host.updateState(state, picker, null);
    } else {
      const text = failureText(failure, this.resolutionNote);
      host.updateState(state, createFailurePicker(text), text);
    }
  }
}

/** Shuffles all endpoints of a set by their weight among all of them, not only within their locality. */
function shuffleByCombinedWeight(
  endpoints: readonly XdsEndpoint[],
  set: EndpointSet,
  random: Random,
): readonly XdsEndpoint[] {
  const weights = combinedWeights(set);
  const weighted = endpoints.map((endpoint, i) => ({ endpoint, weight: weights[i] ?? 1 }));
  return shuffleByWeight(weighted, random).map(({ endpoint }) => endpoint);
}

function shuffleEvenly(
  endpoints: readonly XdsEndpoint[],
  _set: EndpointSet,
  random: Random,
): readonly XdsEndpoint[] {
  const even = endpoints.map((endpoint) => ({ endpoint, weight: 1 }));
  return shuffleByWeight(even, random).map(({ endpoint }) => endpoint);
}

function sameAttempt(a: Attempt, b: Attempt): boolean {
  return (
    a.shuffled === b.shuffled &&
    a.options === b.options &&
    a.endpoints.length === b.endpoints.length &&
    a.endpoints.every((endpoint, i) => endpoint === b.endpoints[i])
  );
}

/**
 * A random order in which each element comes first with a probability in proportion to its weight, and so
 * on among the rest (gRFC A113).
 *
 * @param list Weights are positive.
 */
export function shuffleByWeight<T extends { readonly weight: number }>(
  list: readonly T[],
  random: Random,
): readonly T[] {
  // The gRFC sorts by u^(1/weight), descending. The logarithm keeps the order, and also keeps apart the
  // keys of great weights, which would all round to 1. `random` may be 0, which has no logarithm.
  return list
    .map((element) => ({ element, key: -Math.log(1 - random()) / element.weight }))
    .sort((a, b) => a.key - b.key)
    .map(({ element }) => element);
}
