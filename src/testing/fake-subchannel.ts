import { ConnectivityState, CallCredentials, subchannelAddressToString } from '../grpc-js';
import type { ChannelOptions, Subchannel, SubchannelAddress } from '../grpc-js';

type StateListener = Parameters<Subchannel['addConnectivityStateListener']>[0];
type HealthListener = Parameters<Subchannel['addHealthStateWatcher']>[0];
type ChannelzRef = ReturnType<Subchannel['getChannelzRef']>;
type RealSubchannel = ReturnType<Subchannel['getRealSubchannel']>;
type DataWatcher = Parameters<Subchannel['addDataWatcher']>[0];

const NEVER = -1;

/** A subchannel whose connection does what the test says. */
export class FakeSubchannel implements Subchannel {
  /** How often somebody asked for a connection. */
  connectRequests = 0;
  /** Holders at the moment. */
  refs = 0;
  /** Whether somebody held it and nobody does any more. */
  closed = false;
  readonly dataWatchers = new Set<DataWatcher>();
  private state: ConnectivityState = ConnectivityState.IDLE;
  private readonly stateListeners = new Set<StateListener>();

  private readonly channelzRef: ChannelzRef;

  constructor(
    id: number,
    readonly address: SubchannelAddress,
    readonly options: ChannelOptions,
    private readonly onClosed: () => void,
  ) {
    // eslint-disable-next-line no-restricted-syntax, @typescript-eslint/no-unsafe-enum-assignment -- the kind is an enum that grpc-js does not export
    this.channelzRef = { kind: 'subchannel', id, name: this.getAddress() } as ChannelzRef;
  }

  /** Moves to the state and tells the listeners. */
  setState(state: ConnectivityState, errorMessage?: string): void {
    const previous = this.state;
    this.state = state;
    for (const listener of [...this.stateListeners]) {
      listener(this, previous, state, NEVER, errorMessage);
    }
  }

  /** Lets the connection come up. */
  connect(): void {
    this.setState(ConnectivityState.CONNECTING);
    this.setState(ConnectivityState.READY);
  }

  /** Lets the connection attempt fail. */
  fail(errorMessage: string): void {
    this.setState(ConnectivityState.CONNECTING);
    this.setState(ConnectivityState.TRANSIENT_FAILURE, errorMessage);
  }

  /** Lets the connection go away, as after a GOAWAY. */
  disconnect(): void {
    this.setState(ConnectivityState.IDLE);
  }

  /** How many listen: zero proves that nobody was left behind. */
  get listenerCount(): number {
    return this.stateListeners.size;
  }

  getConnectivityState(): ConnectivityState {
    return this.state;
  }

  addConnectivityStateListener(listener: StateListener): void {
    this.stateListeners.add(listener);
  }

  removeConnectivityStateListener(listener: StateListener): void {
    this.stateListeners.delete(listener);
  }

  startConnecting(): void {
    this.connectRequests++;
  }

  getAddress(): string {
    return subchannelAddressToString(this.address);
  }

  throttleKeepalive(): void {}

  ref(): void {
    this.refs++;
  }

  unref(): void {
    this.refs--;
    if (this.refs > 0) return;
    this.closed = true;
    this.onClosed();
  }

  getChannelzRef(): ChannelzRef {
    return this.channelzRef;
  }

  isHealthy(): boolean {
    return true;
  }

  // As in grpc-js: health belongs to the wrappers.
  addHealthStateWatcher(_listener: HealthListener): void {}
  removeHealthStateWatcher(_listener: HealthListener): void {}

  addDataWatcher(watcher: DataWatcher): void {
    this.dataWatchers.add(watcher);
  }

  getRealSubchannel(): RealSubchannel {
    // eslint-disable-next-line no-restricted-syntax -- a class with private members, which no fake can have
    return this as unknown as RealSubchannel;
  }

  realSubchannelEquals(other: Subchannel): boolean {
    return other.getRealSubchannel() === this.getRealSubchannel();
  }

  getCallCredentials(): CallCredentials {
    return CallCredentials.createEmpty();
  }

  getChannel(): never {
    throw new Error('A fake subchannel has no channel');
  }
}
