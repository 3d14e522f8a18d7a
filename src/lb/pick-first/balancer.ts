import {
  ConnectivityState,
  Metadata,
  parseLoadBalancingConfig,
  subchannelAddressToString,
  type ChannelOptions,
  type PickArgs,
  type Picker,
  type TypedLoadBalancingConfig,
} from '../../grpc-js';
import type { XdsEndpoint } from '../../resources/endpoints/endpoints';
import { errorMessage, errorStack } from '../../util/errors';
import type { FeatureFlags } from '../../util/feature-flags';
import type { Random } from '../../util/random';
import { ok } from '../../util/result';
import { shareList } from '../../util/share';
import {
  createFailurePicker,
  NO_ENDPOINTS,
  queuePicker,
  WaitPicker,
  withoutResolutionNote,
} from '../connectivity';
import { formatAddress } from '../endpoints/endpoint-key';
import {
  CHECK_ENDPOINT,
  describeAddresses,
  describeEndpointError,
} from '../endpoints/endpoint-errors';
import {
  allEndpoints,
  emptyEndpointSet,
  endpointsByLocality,
  type EndpointSet,
  type LbEndpoints,
} from '../endpoints/endpoint-set';
import { combinedWeights } from '../endpoints/endpoint-weights';
import { GrpcJsChild } from '../grpc-js-policy/grpc-js-child';
import type { LbContext, LbHost, LbPolicy, LbPolicyType } from '../lb-policy';
import type { Publication } from '../tree/lb-batch';
import { describeEndpoint, type PolicyParts } from '../tree/policy-state';
import type { PickFirstConfig } from './config';
import { parsePickFirstConfig, PICK_FIRST, pickFirstConverter } from './config';
import { inSeconds } from '../../util/duration';

/** The options that all pick_first policies of a process share. */
export interface PickFirstPolicyOptions {
  /** Without `weightedShuffling`, all orders are equally likely (gRFC A113). */
  readonly flags: Pick<FeatureFlags, 'weightedShuffling'>;
}

/** Tries the addresses of all endpoints in order and uses the first that connects (gRFC A62). */
export function createPickFirstPolicyType({ flags }: PickFirstPolicyOptions): LbPolicyType {
  return {
    name: PICK_FIRST,
    parseConfig: parsePickFirstConfig,
    converter: pickFirstConverter,
    create: (host) => new PickFirstPolicy(host, flags.weightedShuffling),
  };
}

/**
 * Endpoints that are tried: the first of the order. grpc-js has a subchannel for each address from the beginning, and tries one
 * at a time.
 */
const MAX_TRIED = 1000;

// The picker of a READY pick_first does not read it.
const NO_CALL: PickArgs = { metadata: new Metadata(), extraPickInfo: {} };

/** The input of the connection attempt in progress. */
interface Attempt {
  readonly endpoints: readonly XdsEndpoint[];
  readonly set: EndpointSet;
  readonly shuffled: boolean;
  readonly options: ChannelOptions;
}

/** Shuffles the endpoints, which grpc-js's pick_first does wrong, and leaves everything else to it. */
class PickFirstPolicy implements LbPolicy<PickFirstConfig> {
  private readonly publication: Publication;
  private readonly hostConfig: TypedLoadBalancingConfig;
  private child: GrpcJsChild | undefined;
  private attempt: Attempt | undefined;
  /** The first endpoints, in the order in which they are tried. */
  private tried: readonly XdsEndpoint[] = [];
  private isLimitLogged = false;
  /** When its addresses were first tried. */
  private attemptMs = 0;
  private state = ConnectivityState.CONNECTING;
  private picker: Picker = queuePicker;
  /** The error of picks; `undefined` unless in TRANSIENT_FAILURE. */
  private failure: string | undefined;

  constructor(
    private readonly host: LbHost,
    private readonly weightedShuffling: boolean,
  ) {
    this.publication = host.environment.batch.createPublication(host.depth, this);
    this.hostConfig = parseLoadBalancingConfig({ [PICK_FIRST]: { shuffleAddressList: false } });
  }

  update(config: PickFirstConfig, endpoints: LbEndpoints, context: LbContext): void {
    if (typeof endpoints === 'string') {
      if (this.attempt === undefined) this.fail(endpoints);
    } else {
      this.connect({
        endpoints: shareList(this.attempt?.endpoints, [...allEndpoints(endpoints)]),
        set: endpoints,
        shuffled: config.shuffleAddressList,
        options: context.options,
      });
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
    this.destroyChild();
  }

  /** Of the endpoints, only the connected one has a state of its own: the others are those of the policy of grpc-js. */
  describe(): PolicyParts {
    const { IDLE, READY } = ConnectivityState;
    const isReady = this.state === READY;
    const connected = isReady ? this.picker.pick(NO_CALL).subchannel?.getAddress() : undefined;
    const endpoints = (this.attempt?.endpoints ?? []).map((endpoint) => {
      const isConnected = endpoint.addresses.some((each) => formatAddress(each) === connected);
      const other = isReady ? IDLE : this.state;
      return describeEndpoint(endpoint, isConnected ? READY : other, undefined);
    });
    return { endpoints };
  }

  private connect(attempt: Attempt): void {
    if (attempt.endpoints.length === 0) {
      this.destroyChild();
      this.fail(NO_ENDPOINTS);
      return;
    }
    const { endpoints, shuffled, options } = this.attempt ?? {};
    const isSameOrder = endpoints === attempt.endpoints && shuffled === attempt.shuffled;
    if (isSameOrder && options === attempt.options) return;
    this.tried = this.chooseTried(attempt);
    this.attempt = attempt;
    this.attemptMs = this.host.environment.clock.monotonicMs();
    this.child ??= this.createChild();
    this.child.update({
      config: this.hostConfig,
      endpoints: ok(this.tried.map(({ addresses }) => ({ addresses: [...addresses] }))),
      options: attempt.options,
    });
  }

  private chooseTried({ endpoints, set, shuffled }: Attempt): readonly XdsEndpoint[] {
    const { length } = endpoints;
    if (length > MAX_TRIED && !this.isLimitLogged) {
      this.isLimitLogged = true;
      const { logger } = this.host.environment;
      logger.error(
        () =>
          `${PICK_FIRST}: the first ${MAX_TRIED} of ${length} endpoints are tried: use another policy for so many`,
      );
    }
    if (shuffled) return this.shuffle(set);
    return length > MAX_TRIED ? endpoints.slice(0, MAX_TRIED) : endpoints;
  }

  private createChild(): GrpcJsChild {
    return new GrpcJsChild(
      this.host,
      (state, picker, text) =>
        this.setState(state, picker, text === null ? undefined : this.describeError(text)),
      (error) => this.onCrash(error),
    );
  }

  /** Shuffles by the weight of each endpoint among all of the set, not only within its locality (gRFC A113). */
  private shuffle(set: EndpointSet): readonly XdsEndpoint[] {
    const list = [...endpointsByLocality(set)];
    const weights = this.weightedShuffling
      ? combinedWeights(set)
      : new Uint32Array(list.length).fill(1);
    const first = shuffleByWeight(weights, this.host.environment.random, MAX_TRIED);
    return first.map((index) => list[index]).filter((endpoint) => endpoint !== undefined);
  }

  private destroyChild(): void {
    this.child?.destroy();
    this.child = undefined;
    this.attempt = undefined;
  }

  /** Handles an exception, such as that of channel credentials of the application, which cannot be connected with. */
  private onCrash(error: unknown): void {
    this.host.environment.logger.error(
      () => `${PICK_FIRST}: unexpected error: ${errorStack(error)}`,
    );
    this.fail(`${PICK_FIRST}: unexpected error: ${errorMessage(error)}`);
  }

  private fail(text: string): void {
    this.setState(ConnectivityState.TRANSIENT_FAILURE, queuePicker, text);
  }

  private setState(state: ConnectivityState, picker: Picker, failure: string | undefined): void {
    const same = state === this.state && failure === this.failure;
    // A repeated failure changes nothing; READY may come with another connection.
    if (same && state === ConnectivityState.TRANSIENT_FAILURE) return;
    this.state = state;
    this.picker = picker;
    this.failure = failure;
    this.publication.request();
  }

  /** Names the endpoint of an error of grpc-js, which has one of the addresses. */
  private describeError(errorMessage: string): string {
    const error = withoutResolutionNote(errorMessage);
    const { set = emptyEndpointSet } = this.attempt ?? {};
    const failed = this.tried.find(({ addresses }) =>
      addresses.some((address) => error.includes(` ${subchannelAddressToString(address)}`)),
    );
    return failed === undefined ? error : describeEndpointError(failed, error, set);
  }

  private describeWait({ endpoints }: Attempt): string {
    const ms = this.host.environment.clock.monotonicMs() - this.attemptMs;
    const addresses = describeAddresses(endpoints);
    return `no endpoint is connected; ${addresses}: connecting for ${inSeconds(ms)}: ${CHECK_ENDPOINT}`;
  }

  publish(): void {
    const { attempt, failure, host, picker, state } = this;
    if (failure === undefined) {
      const isWaiting = state === ConnectivityState.CONNECTING && attempt !== undefined;
      const published = isWaiting ? new WaitPicker(() => this.describeWait(attempt)) : picker;
      host.updateState(state, published, null);
    } else {
      host.updateState(state, createFailurePicker(failure), failure);
    }
  }
}

/**
 * Returns the indices of weights in a random order, in which each comes first with a probability in proportion to its weight,
 * and likewise among the rest (gRFC A113).
 *
 * @param weights Positive.
 * @param count How many are returned: the first of the order. Default: all.
 */
export function shuffleByWeight(
  weights: Uint32Array | readonly number[],
  random: Random,
  count = weights.length,
): readonly number[] {
  let first: Shuffled[] = [];
  let greatest = Infinity;
  for (const [index, weight] of weights.entries()) {
    // The gRFC sorts by u^(1/weight), descending. The logarithm keeps the order, and also the differences between great
    // weights, whose keys would all round to 1. `random` may be 0, which has no logarithm.
    const key = -Math.log(1 - random()) / weight;
    if (key > greatest) continue;
    first.push({ index, key });
    if (first.length < 2 * count) continue;
    first = sortByKey(first).slice(0, count);
    greatest = first.at(-1)?.key ?? Infinity;
  }
  return sortByKey(first)
    .slice(0, count)
    .map(({ index }) => index);
}

interface Shuffled {
  readonly index: number;
  readonly key: number;
}

function sortByKey(shuffled: Shuffled[]): Shuffled[] {
  return shuffled.sort((a, b) => a.key - b.key);
}
