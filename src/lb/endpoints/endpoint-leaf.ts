import {
  ConnectivityState,
  LeafLoadBalancer,
  Metadata,
  type ChannelOptions,
  type GrpcEndpoint,
  type LbHelper,
  type Picker,
  type Subchannel,
} from '../../grpc-js';
import { GatedSubchannel } from '../../grpc-js/subchannel-wrappers';
import { containedCallback } from '../../grpc-js/host-callbacks';
import type { XdsEndpoint } from '../../resources/endpoints/endpoints';
import { connectionBackoff, firstBackoffStep, type BackoffStep } from '../../util/backoff';
import { errorMessage, errorStack } from '../../util/errors';
import type { Handle } from '../../util/handle';
import type { Steps } from '../../util/steps';
import type { ConnectionAttempt } from '../connections/connection-attempts';
import { createFailurePicker, queuePicker, withoutResolutionNote } from '../connectivity';
import type { LbEnvironment, LbHost } from '../lb-policy';
import type { LbBatch } from '../tree/lb-batch';
import {
  describeEndpoint,
  type EndpointFailure,
  type EndpointState,
  type StateDetails,
} from '../tree/policy-state';
import { shareAddresses } from './endpoint-key';

type HostLeaf = InstanceType<typeof LeafLoadBalancer>;

/** Called in the batch when the state, the picker or the error of a leaf changed. */
export type LeafListener = (leaf: EndpointLeaf, previous: ConnectivityState) => void;

/** The policy of leaves. One object for all of them: there may be a hundred thousand. */
export interface LeafOwner {
  readonly host: LbHost;
  readonly onChanged: LeafListener;
  /** Whether a leaf is no longer used, and about to be destroyed: it does not start connecting. Default: never. */
  isReleased?(leaf: EndpointLeaf): boolean;
}

/**
 * One endpoint, as a pick_first of its own (gRFC A61): connects to the endpoint's addresses by Happy Eyeballs, stays in
 * TRANSIENT_FAILURE until one of them is connected, and becomes IDLE when the connection is lost.
 *
 * The pick_first of grpc-js is created for the first connection, so that an idle leaf costs little. Every attempt,
 * including those after a failure, waits for its turn among those of the process: see `ConnectionAttempts`. Until the
 * first one starts, the leaf is IDLE.
 */
export class EndpointLeaf implements ConnectionAttempt {
  /** Its index in a `ReadyList`, which alone sets it. */
  readyIndex = -1;
  private currentEndpoint: XdsEndpoint;
  private currentState = ConnectivityState.IDLE;
  private currentPicker: Picker = queuePicker;
  private currentError: string | null = null;
  private hostLeaf: HostLeaf | undefined;
  private channelOptions: ChannelOptions;
  /** Whether the leaf is connected or connecting. */
  private attempting = false;
  private destroyed = false;
  /** The delay after the next exception. */
  private backoff: BackoffStep | undefined;
  /** When the first failure since the last connection was, in milliseconds since the epoch. */
  private failingSinceMs: number | undefined;
  /** The timer of the attempt after an exception. */
  private retry: Handle | undefined;
  /** Whether an attempt is in flight. */
  private hasTurn = false;
  private turnMs = 0;
  /** Whether the next turn starts with the addresses of the endpoint instead of `retries`. */
  private isStartDue = false;
  /** The subchannels whose backoff is over. */
  private retries: Set<Subchannel> | undefined;

  /** @param channelOptions For subchannels. */
  constructor(
    private readonly policy: LeafOwner,
    endpoint: XdsEndpoint,
    channelOptions: ChannelOptions,
  ) {
    this.currentEndpoint = endpoint;
    this.channelOptions = channelOptions;
  }

  get owner(): object {
    return this.policy.host;
  }

  get batch(): LbBatch {
    return this.policy.host.environment.batch;
  }

  /** The endpoint as last updated. */
  get endpoint(): XdsEndpoint {
    return this.currentEndpoint;
  }

  get state(): ConnectivityState {
    return this.currentState;
  }

  /** Picks the connection when READY, fails with the error in TRANSIENT_FAILURE, queues otherwise. */
  get picker(): Picker {
    return this.currentPicker;
  }

  /** The error in TRANSIENT_FAILURE, without resolution note; `null` in any other state. */
  get errorMessage(): string | null {
    return this.currentError;
  }

  /** Why it fails, and since when; `undefined` unless it is in TRANSIENT_FAILURE. */
  get failure(): EndpointFailure | undefined {
    const { currentError: error, failingSinceMs: sinceMs } = this;
    return error === null || sinceMs === undefined ? undefined : { error, sinceMs };
  }

  /** The duration of the attempt in flight in milliseconds; `undefined` if there is none. */
  get connectingMs(): number | undefined {
    if (!this.hasTurn) return undefined;
    return this.policy.host.environment.clock.monotonicMs() - this.turnMs;
  }

  /**
   * Starts connecting if idle. Must not be called from a pick: see `Clock.soon`.
   *
   * @param isUrgent Whether a call waits for the connection.
   */
  connect(isUrgent = false): void {
    if (this.destroyed || this.attempting || this.isObsolete()) return;
    this.attempting = true;
    this.isStartDue = true;
    const { connectionAttempts } = this.policy.host.environment;
    connectionAttempts.request(this, isUrgent);
    const { shortageText } = connectionAttempts;
    // The attempt may be far away: until then, calls use another endpoint or fail.
    if (!this.hasTurn && shortageText !== undefined) this.fail(shortageText);
  }

  /**
   * Sets a newer object with the same addresses. Only another order of them, or other options, affect the connection,
   * which is kept if possible.
   */
  update(endpoint: XdsEndpoint, channelOptions: ChannelOptions): void {
    const unchanged =
      channelOptions === this.channelOptions &&
      shareAddresses(this.currentEndpoint.addresses, endpoint.addresses) ===
        this.currentEndpoint.addresses;
    this.currentEndpoint = endpoint;
    this.channelOptions = channelOptions;
    if (unchanged) return;
    this.retries?.clear();
    this.hostLeaf?.updateEndpoint(toGrpcEndpoint(endpoint), channelOptions);
  }

  /** Releases the connection; the listener is not called any more. */
  destroy(): void {
    if (this.destroyed) return;
    this.destroyed = true;
    const { connectionAttempts } = this.policy.host.environment;
    connectionAttempts.delete(this);
    if (this.currentState === ConnectivityState.READY) connectionAttempts.closed();
    if (this.currentState === ConnectivityState.TRANSIENT_FAILURE) {
      this.policy.host.endpointWatcher?.onRecovered(this);
    }
    this.retry?.release();
    this.hostLeaf?.destroy();
    this.hostLeaf = undefined;
  }

  /** @param details What the policy knows besides. */
  describe(details?: StateDetails): EndpointState {
    return describeEndpoint(this.currentEndpoint, this.currentState, this.failure, details);
  }

  /** Whether an attempt that is pending is not needed any more. */
  isObsolete(): boolean {
    return this.policy.isReleased?.(this) === true;
  }

  /** Starts the attempt whose turn it is. */
  start(): void {
    this.hasTurn = true;
    this.turnMs = this.policy.host.environment.clock.monotonicMs();
    if (this.isStartDue) {
      this.isStartDue = false;
      this.startConnecting();
      return;
    }
    const idle = [...(this.retries ?? [])].filter(isIdle);
    this.retries?.clear();
    // Another channel is connecting them already; grpc-js reports the result.
    if (idle.length === 0) this.endTurn(null);
    for (const subchannel of idle) subchannel.startConnecting();
  }

  private startConnecting(): void {
    try {
      this.hostLeaf ??= this.createHostLeaf();
      // Not `exitIdle`, which would use the addresses of the last attempt even if they changed since.
      this.hostLeaf.startConnecting();
    } catch (error) {
      this.onCrash(error);
    }
  }

  /**
   * Handles an exception, such as that of channel credentials of the application, of which grpc-js makes the connection.
   * It fails the attempt, and the next is made after a backoff of the leaf: grpc-js has none for what it has not made.
   */
  private onCrash(error: unknown): void {
    const { logger, clock, batch, random } = this.policy.host.environment;
    const [address] = this.describe().addresses;
    logger.error(
      () => `${address}: cannot be connected to: unexpected error: ${errorStack(error)}`,
    );
    const step = this.backoff ?? firstBackoffStep(connectionBackoff, random);
    this.backoff = step.next();
    const retry = () => {
      this.attempting = false;
      this.connect();
    };
    this.retry = clock.setTimer(() => batch.run(retry), step.delayMs);
    this.hostLeaf?.destroy();
    this.hostLeaf = undefined;
    this.endTurn(null);
    this.fail(`unexpected error while connecting: ${errorMessage(error)}`);
  }

  /** @param error The error of the attempt; `null` if it did not fail. */
  private endTurn(error: string | null): void {
    if (!this.hasTurn) return;
    this.hasTurn = false;
    this.policy.host.environment.connectionAttempts.ended(this, error);
  }

  /**
   * Receives the requests of grpc-js's pick_first to connect. In the backoff of a subchannel they have no effect, since
   * it would connect by itself when the backoff is over; pick_first repeats them when it has become IDLE.
   */
  private onConnectRequested(subchannel: Subchannel): void {
    if (this.destroyed || !isIdle(subchannel)) return;
    if (this.hasTurn) {
      subchannel.startConnecting();
      return;
    }
    if (this.isObsolete()) return;
    (this.retries ??= new Set()).add(subchannel);
    const { connectionAttempts } = this.policy.host.environment;
    connectionAttempts.request(this, false);
  }

  private createHostLeaf(): HostLeaf {
    const { host } = this.policy;
    const helper: LbHelper = {
      createSubchannel: (address, args) =>
        new GatedSubchannel(host.createSubchannel(address, args), (subchannel) =>
          host.environment.batch.run(() => this.onConnectRequested(subchannel)),
        ),
      addChannelzChild: (child) => host.addChannelzChild(child),
      removeChannelzChild: (child) => host.removeChannelzChild(child),
      // grpc-js's pick_first does not stop its timer, and may report after it was destroyed.
      updateState: containedCallback(PLACE, (...report: Parameters<LbHelper['updateState']>) =>
        host.environment.batch.run(() => {
          if (!this.destroyed) this.onReport(...report);
        }),
      ),
      requestReresolution: containedCallback(PLACE, () => {
        if (!this.destroyed) host.requestReresolution();
      }),
    };
    return new LeafLoadBalancer(
      toGrpcEndpoint(this.currentEndpoint),
      helper,
      this.channelOptions,
      '',
    );
  }

  private onReport(state: ConnectivityState, picker: Picker, errorMessage: string | null): void {
    const { CONNECTING, IDLE, READY, TRANSIENT_FAILURE } = ConnectivityState;
    const previous = this.currentState;
    const error = errorMessage === null ? null : withoutResolutionNote(errorMessage);
    if (state !== CONNECTING) this.endTurn(error);
    // The first attempt after a shortage of descriptors: a failure stays until a connection is up (gRFC A62).
    if (previous === TRANSIENT_FAILURE && state === CONNECTING) return;
    // A failing leaf reports every attempt; only READY may come with another connection to pick.
    const same = state === previous && error === this.currentError;
    if (same && state !== READY) return;
    if (state === IDLE) this.attempting = false;
    if (state !== TRANSIENT_FAILURE) this.retries?.clear();
    const pickerToUse = state === READY ? unwrapGatedPicker(picker) : queuePicker;
    this.setState(state, error === null ? pickerToUse : createFailurePicker(error), error);
  }

  private fail(error: string): void {
    this.setState(ConnectivityState.TRANSIENT_FAILURE, createFailurePicker(error), error);
  }

  private setState(state: ConnectivityState, picker: Picker, error: string | null): void {
    const { READY, TRANSIENT_FAILURE } = ConnectivityState;
    const { connectionAttempts, clock } = this.policy.host.environment;
    const previous = this.currentState;
    if (state === READY && previous !== READY) connectionAttempts.opened();
    if (state !== READY && previous === READY) connectionAttempts.closed();
    this.currentState = state;
    this.currentError = error;
    this.failingSinceMs =
      state === TRANSIENT_FAILURE ? (this.failingSinceMs ?? clock.now()) : undefined;
    // The pickers of grpc-js would connect past `attempting`, and carry the empty note.
    this.currentPicker = picker;
    if (state === TRANSIENT_FAILURE) this.policy.host.endpointWatcher?.onFailed(this);
    else if (previous === TRANSIENT_FAILURE) this.policy.host.endpointWatcher?.onRecovered(this);
    this.policy.onChanged(this, previous);
  }
}

/** Leaves that are destroyed without a break: a connection takes some microseconds to release. */
const DESTROYED_AT_ONCE = 64;

/**
 * Destroys leaves that a policy does not use any more: many of them in several turns of the event loop, also when the policy
 * itself is destroyed. What they report until then, the policy has to ignore. Must be called in the batch.
 */
export function destroyLeaves(
  { batch, timeSlices }: LbEnvironment,
  leaves: readonly EndpointLeaf[],
): void {
  timeSlices.start({ batch, steps: destroyEach(leaves) });
}

function* destroyEach(leaves: readonly EndpointLeaf[]): Steps<void> {
  for (const [index, leaf] of leaves.entries()) {
    if (index > 0 && index % DESTROYED_AT_ONCE === 0) yield;
    leaf.destroy();
  }
}

/** For exceptions. */
const PLACE = 'the connections of an endpoint';

function isIdle(subchannel: Subchannel): boolean {
  return subchannel.getConnectivityState() === ConnectivityState.IDLE;
}

function toGrpcEndpoint(endpoint: XdsEndpoint): GrpcEndpoint {
  return { addresses: [...endpoint.addresses] };
}

const ANY_CALL = { metadata: new Metadata(), extraPickInfo: {} };

/**
 * Creates the picker of a READY leaf from that of grpc-js's pick_first, whose result is the same for every call. Parent
 * policies look for their own subchannels in pick results.
 */
function unwrapGatedPicker(picker: Picker): Picker {
  const picked = picker.pick(ANY_CALL);
  const { subchannel } = picked;
  if (!(subchannel instanceof GatedSubchannel)) return picker;
  const result = { ...picked, subchannel: subchannel.wrapped };
  return { pick: () => result };
}
