import { ConnectivityState, PickResultType, type PickResult, type Subchannel } from '../../grpc-js';
import { containedCallback } from '../../grpc-js/host-callbacks';
import type { XdsEndpoint } from '../../resources/endpoints/endpoints';
import type { Clock } from '../../util/clock';
import type { Handle } from '../../util/handle';
import { describeAttempt } from '../endpoints/endpoint-errors';
import { formatAddress } from '../endpoints/endpoint-key';

type StateListener = Parameters<Subchannel['addConnectivityStateListener']>[0];

/** A reference to the subchannel of one address, which keeps its connection open for sessions. */
export class HostConnection implements Handle {
  private usedMs: number;
  /** The pick result of calls to this address. */
  readonly pickResult: PickResult;
  /** Whether calls wait until the connection is READY or fails. */
  private awaited = false;
  /** Since when. */
  private awaitedMs = 0;
  private released = false;
  private allAddresses: readonly string[] | undefined;

  /**
   * @param currentEndpoint The endpoint that has the address.
   * @param onSettled Called when waiting calls have to be picked again.
   */
  constructor(
    private readonly subchannel: Subchannel,
    private currentEndpoint: XdsEndpoint,
    private readonly clock: Clock,
    private readonly onSettled: () => void,
  ) {
    this.usedMs = clock.monotonicMs();
    this.pickResult = {
      pickResultType: PickResultType.COMPLETE,
      subchannel,
      status: null,
      onCallStarted: null,
      onCallEnded: null,
    };
    subchannel.ref();
    subchannel.addConnectivityStateListener(this.onStateChanged);
  }

  get state(): ConnectivityState {
    return this.subchannel.getConnectivityState();
  }

  /** The endpoint as last updated. */
  get endpoint(): XdsEndpoint {
    return this.currentEndpoint;
  }

  /** All addresses of the endpoint, this one first (gRFC A61). */
  get addresses(): readonly string[] {
    return (this.allAddresses ??= this.listAddresses());
  }

  /** Creates the reference that replaces this one, to another subchannel of the same address. */
  createSuccessor(subchannel: Subchannel, endpoint: XdsEndpoint): HostConnection {
    const successor = new HostConnection(subchannel, endpoint, this.clock, this.onSettled);
    successor.usedMs = this.usedMs;
    return successor;
  }

  /** Sets a newer object of the endpoint that has the address. */
  updateEndpoint(endpoint: XdsEndpoint): void {
    if (endpoint === this.currentEndpoint) return;
    this.currentEndpoint = endpoint;
    this.allAddresses = undefined;
  }

  /** The time of the last call, by `Clock.monotonicMs`. */
  get lastUsedMs(): number {
    return this.usedMs;
  }

  /** Records the time of a call. */
  use(): void {
    this.usedMs = this.clock.monotonicMs();
  }

  /** Returns what calls wait for. */
  describeWait(): string {
    const attempt = describeAttempt(
      this.subchannel.getAddress(),
      this.clock.monotonicMs() - this.awaitedMs,
    );
    return `the endpoint of the call's session is not connected; ${attempt}`;
  }

  /** Records that a call waits, and connects if IDLE. May be called from a pick. */
  wait(): void {
    if (this.awaited) return;
    this.awaited = true;
    this.awaitedMs = this.clock.monotonicMs();
    this.clock.soon(() => {
      if (!this.released && this.state === ConnectivityState.IDLE)
        this.subchannel.startConnecting();
    });
  }

  release(): void {
    if (this.released) return;
    this.released = true;
    this.subchannel.removeConnectivityStateListener(this.onStateChanged);
    this.subchannel.unref();
    this.settle();
  }

  private readonly onStateChanged: StateListener = containedCallback(
    'a session',
    (_subchannel, _previous, state) => {
      if (state !== ConnectivityState.CONNECTING) this.settle();
    },
  );

  private listAddresses(): readonly string[] {
    const own = this.subchannel.getAddress();
    const all = this.currentEndpoint.addresses.map(formatAddress);
    return [own, ...all.filter((address) => address !== own)];
  }

  private settle(): void {
    if (!this.awaited) return;
    this.awaited = false;
    this.onSettled();
  }
}
