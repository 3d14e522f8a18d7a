import { ConnectivityState, PickResultType } from '../../grpc-js';
import type { PickResult, Subchannel } from '../../grpc-js';
import type { XdsEndpoint } from '../../resources/endpoints/endpoints';
import type { Clock } from '../../util/clock';
import type { Handle } from '../../util/handle';
import { formatAddress } from './host-index';

type StateListener = Parameters<Subchannel['addConnectivityStateListener']>[0];

/** A hold on the connection to one address, for sessions to go on with. */
export class HostConnection implements Handle {
  private usedMs: number;
  /** What is answered to a call that goes here. */
  readonly pickResult: PickResult;
  /** Whether calls wait for the connection to come up, or to fail. */
  private awaited = false;
  private held = true;

  private allAddresses: readonly string[] | undefined;

  /**
   * @param currentEndpoint The endpoint that has the address.
   * @param onSettled Called when calls that waited are to be picked for again.
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

  /** Creates the hold that replaces this one, on another subchannel to the same address. */
  createSuccessor(subchannel: Subchannel, endpoint: XdsEndpoint): HostConnection {
    const successor = new HostConnection(subchannel, endpoint, this.clock, this.onSettled);
    successor.usedMs = this.usedMs;
    return successor;
  }

  /** Takes a newer object for the endpoint that has the address. */
  updateEndpoint(endpoint: XdsEndpoint): void {
    if (endpoint === this.currentEndpoint) return;
    this.currentEndpoint = endpoint;
    this.allAddresses = undefined;
  }

  /** When a call was last sent here; in the time of `Clock.monotonicMs`. */
  get lastUsedMs(): number {
    return this.usedMs;
  }

  /** A call is sent here. */
  use(): void {
    this.usedMs = this.clock.monotonicMs();
  }

  /** A call waits; connects if need be. May be called from a pick. */
  wait(): void {
    if (this.awaited) return;
    this.awaited = true;
    this.clock.soon(() => {
      if (this.held && this.state === ConnectivityState.IDLE) this.subchannel.startConnecting();
    });
  }

  release(): void {
    if (!this.held) return;
    this.held = false;
    this.subchannel.removeConnectivityStateListener(this.onStateChanged);
    this.subchannel.unref();
    this.settle();
  }

  private readonly onStateChanged: StateListener = (_subchannel, _previous, state) => {
    if (state !== ConnectivityState.CONNECTING) this.settle();
  };

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
