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
import type { ConnectionAttempt } from '../connections/connection-attempts';
import { createFailurePicker, queuePicker, withoutResolutionNote } from '../connectivity';
import type { LbEnvironment, LbHost } from '../lb-policy';
import {
  describeEndpoint,
  type EndpointFailure,
  type EndpointState,
  type StateDetails,
} from '../tree/policy-state';
import { endpointCause } from './endpoint-errors';
import { shareAddresses } from './endpoint-key';

type HostLeaf = InstanceType<typeof LeafLoadBalancer>;

/** The policy of leaves. One object for all of them: there may be a hundred thousand. */
export interface LeafOwner {
  readonly host: LbHost;
  /** Called in the batch when the state, the picker or the error of a leaf changed. */
  onLeafChanged(leaf: EndpointLeaf, previous: ConnectivityState): void;
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
  /** The host of its policy. */
  readonly host: LbHost;
  /** Its index in a `ReadyList`, which alone sets it. */
  readyIndex = -1;
  /** Set by the policy when it does not use the leaf any more, and is about to destroy it: it does not start connecting. */
  isObsolete = false;
  // The leaf alone sets the following four.
  state = ConnectivityState.IDLE;
  /** Picks the connection when READY, fails with the error in TRANSIENT_FAILURE, queues otherwise. */
  picker: Picker = queuePicker;
  /** The error in TRANSIENT_FAILURE, without resolution note; `null` in any other state. */
  errorMessage: string | null = null;
  /** The endpoint as last updated. */
  endpoint: XdsEndpoint;
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
  /** When the attempt in flight began; `undefined` if there is none. */
  private turnMs: number | undefined;
  /** Whether the next turn starts with the addresses of the endpoint instead of `retries`. */
  private isStartDue = false;
  /** The subchannels whose backoff is over. */
  private retries: Set<Subchannel> | undefined;

  /** @param channelOptions For subchannels. */
  constructor(
    private readonly owner: LeafOwner,
    endpoint: XdsEndpoint,
    channelOptions: ChannelOptions,
  ) {
    this.host = owner.host;
    this.endpoint = endpoint;
    this.channelOptions = channelOptions;
  }

  /** Why it fails, and since when; `undefined` unless it is in TRANSIENT_FAILURE. */
  get failure(): EndpointFailure | undefined {
    const { errorMessage: error, failingSinceMs: sinceMs } = this;
    if (error === null || sinceMs === undefined) return undefined;
    return { error, cause: endpointCause(this), sinceMs };
  }

  /** The duration of the attempt in flight in milliseconds; `undefined` if there is none. */
  get connectingMs(): number | undefined {
    if (this.turnMs === undefined) return undefined;
    return this.host.environment.clock.monotonicMs() - this.turnMs;
  }

  /**
   * Starts connecting if idle. Must not be called from a pick: see `Clock.soon`.
   *
   * @param isUrgent Whether a call waits for the connection.
   */
  connect(isUrgent = false): void {
    if (this.destroyed || this.attempting || this.isObsolete) return;
    this.attempting = true;
    this.isStartDue = true;
    const { connectionAttempts } = this.host.environment;
    connectionAttempts.request(this, isUrgent);
    const { shortageText } = connectionAttempts;
    // The attempt may be far away: until then, calls use another endpoint or fail.
    if (this.turnMs === undefined && shortageText !== undefined) this.fail(shortageText);
  }

  /**
   * Sets a newer object with the same addresses. Only another order of them, or other options, affect the connection,
   * which is kept if possible.
   */
  update(endpoint: XdsEndpoint, channelOptions: ChannelOptions): void {
    const { addresses } = this.endpoint;
    const unchanged =
      channelOptions === this.channelOptions &&
      shareAddresses(addresses, endpoint.addresses) === addresses;
    this.endpoint = endpoint;
    this.channelOptions = channelOptions;
    if (unchanged) return;
    this.retries?.clear();
    this.hostLeaf?.updateEndpoint(toGrpcEndpoint(endpoint), channelOptions);
  }

  /** Releases the connection, and does not notify the owner afterwards. */
  destroy(): void {
    if (this.destroyed) return;
    this.destroyed = true;
    const { connectionAttempts } = this.host.environment;
    connectionAttempts.delete(this);
    if (this.state === ConnectivityState.READY) connectionAttempts.closed();
    if (this.state === ConnectivityState.TRANSIENT_FAILURE) {
      this.host.endpointWatcher?.onRemoved(this);
    }
    this.retry?.release();
    this.hostLeaf?.destroy();
    this.hostLeaf = undefined;
  }

  /** @param details What the policy knows besides. */
  describe(details?: StateDetails): EndpointState {
    return describeEndpoint(this.endpoint, this.state, this.failure, details);
  }

  /** Starts the attempt whose turn it is. */
  start(): void {
    this.turnMs = this.host.environment.clock.monotonicMs();
    if (this.isStartDue) {
      this.isStartDue = false;
      try {
        this.hostLeaf ??= this.createHostLeaf();
        // Not `exitIdle`, which would use the addresses of the last attempt even if they changed since.
        this.hostLeaf.startConnecting();
      } catch (error) {
        this.onCrash(error);
      }
      return;
    }
    const idle = [...(this.retries ?? [])].filter(
      (subchannel) => subchannel.getConnectivityState() === ConnectivityState.IDLE,
    );
    this.retries?.clear();
    // Another channel is connecting them already; grpc-js reports the result.
    if (idle.length === 0) this.endTurn(null);
    for (const subchannel of idle) subchannel.startConnecting();
  }

  /**
   * Handles an exception, such as that of channel credentials of the application, of which grpc-js makes the connection.
   * It fails the attempt, and the next is made after a backoff of the leaf: grpc-js has none for what it has not made.
   */
  private onCrash(error: unknown): void {
    const { logger, clock, batch, random } = this.host.environment;
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
    if (this.turnMs === undefined) return;
    this.turnMs = undefined;
    this.host.environment.connectionAttempts.ended(this, error);
  }

  /**
   * Receives the requests of grpc-js's pick_first to connect. In the backoff of a subchannel they have no effect, since
   * it would connect by itself when the backoff is over; pick_first repeats them when it has become IDLE.
   */
  private onConnectRequested(subchannel: Subchannel): void {
    if (this.destroyed || subchannel.getConnectivityState() !== ConnectivityState.IDLE) return;
    if (this.turnMs !== undefined) {
      subchannel.startConnecting();
      return;
    }
    if (this.isObsolete) return;
    (this.retries ??= new Set()).add(subchannel);
    const { connectionAttempts } = this.host.environment;
    connectionAttempts.request(this, false);
  }

  private createHostLeaf(): HostLeaf {
    const { host } = this;
    const helper: LbHelper = {
      createSubchannel: (address, args) =>
        new GatedSubchannel(host.createSubchannel(address, args), (subchannel) =>
          host.environment.batch.run(() => this.onConnectRequested(subchannel)),
        ),
      addChannelzChild: host.addChannelzChild,
      removeChannelzChild: host.removeChannelzChild,
      // grpc-js's pick_first does not stop its timer, and may report after it was destroyed.
      updateState: containedCallback(PLACE, (...report: Parameters<LbHelper['updateState']>) =>
        host.environment.batch.run(() => this.onReport(...report)),
      ),
      requestReresolution: containedCallback(PLACE, () => {
        if (!this.destroyed) host.requestReresolution();
      }),
    };
    return new LeafLoadBalancer(toGrpcEndpoint(this.endpoint), helper, this.channelOptions, '');
  }

  private onReport(state: ConnectivityState, picker: Picker, errorMessage: string | null): void {
    if (this.destroyed) return;
    const { CONNECTING, IDLE, READY, TRANSIENT_FAILURE } = ConnectivityState;
    const previous = this.state;
    const error = errorMessage === null ? null : withoutResolutionNote(errorMessage);
    if (state !== CONNECTING) this.endTurn(error);
    // The first attempt after a shortage of descriptors: a failure stays until a connection is up (gRFC A62).
    if (previous === TRANSIENT_FAILURE && state === CONNECTING) return;
    // A failing leaf reports every attempt; only READY may come with another connection to pick.
    const same = state === previous && error === this.errorMessage;
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
    const { connectionAttempts, clock } = this.host.environment;
    const previous = this.state;
    if (state === READY && previous !== READY) connectionAttempts.opened();
    if (state !== READY && previous === READY) connectionAttempts.closed();
    this.state = state;
    this.errorMessage = error;
    this.failingSinceMs =
      state === TRANSIENT_FAILURE ? (this.failingSinceMs ?? clock.now()) : undefined;
    // The pickers of grpc-js would connect past `attempting`, and carry the empty note.
    this.picker = picker;
    if (state === TRANSIENT_FAILURE) this.host.endpointWatcher?.onFailed(this);
    else if (previous === TRANSIENT_FAILURE) this.host.endpointWatcher?.onRecovered(this);
    this.owner.onLeafChanged(this, previous);
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
  for (const leaf of leaves) leaf.isObsolete = true;
  const act = (leaf: EndpointLeaf) => leaf.destroy();
  timeSlices.each({ batch, items: leaves, atOnce: DESTROYED_AT_ONCE, act });
}

/** For exceptions. */
const PLACE = 'the connections of an endpoint';

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
