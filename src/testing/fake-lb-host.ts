import { isDeepStrictEqual } from 'node:util';
import {
  type ChannelOptions,
  ConnectivityState,
  type LbHelper,
  type Picker,
  type SubchannelAddress,
  CallCredentials,
  subchannelAddressToString,
  type Subchannel,
} from '../grpc-js';
import type { LbEnvironment, LbHost } from '../lb/lb-policy';

type ChannelzChild = Parameters<LbHelper['addChannelzChild']>[0];

export interface PublishedState {
  readonly state: ConnectivityState;
  readonly picker: Picker;
  readonly errorMessage: string | null;
}

/** A fake of the channel. Subchannels are pooled by address and options, as in grpc-js. */
export class FakeLbHost implements LbHost {
  /** All published states, oldest first. */
  readonly published: PublishedState[] = [];
  /** The results of `createSubchannel`, oldest first; a pooled subchannel appears again. */
  readonly created: FakeSubchannel[] = [];
  /** All subchannels ever opened. */
  readonly subchannels: FakeSubchannel[] = [];
  reresolutionRequests = 0;
  /** Runs inside `updateState`, after it is recorded. */
  onPublished: (published: PublishedState) => void = () => {};
  private readonly channelzChildren = new Map<ChannelzChild, number>();
  /** The open subchannels, by the text of their addresses. */
  private readonly pool = new Map<string, Set<FakeSubchannel>>();

  constructor(
    readonly environment: LbEnvironment,
    readonly depth = 0,
  ) {}

  createSubchannel = (address: SubchannelAddress, options: ChannelOptions): FakeSubchannel => {
    const subchannel = this.pooled(address, options) ?? this.open(address, options);
    this.created.push(subchannel);
    return subchannel;
  };

  updateState(state: ConnectivityState, picker: Picker, errorMessage: string | null): void {
    const published = { state, picker, errorMessage };
    this.published.push(published);
    this.onPublished(published);
  }

  requestReresolution(): void {
    this.reresolutionRequests++;
  }

  readonly addChannelzChild = (child: ChannelzChild): void => {
    this.channelzChildren.set(child, (this.channelzChildren.get(child) ?? 0) + 1);
  };

  readonly removeChannelzChild = (child: ChannelzChild): void => {
    const left = (this.channelzChildren.get(child) ?? 0) - 1;
    if (left === 0) this.channelzChildren.delete(child);
    else this.channelzChildren.set(child, left);
  };

  /** Number of channelz children; zero if all were removed. */
  get channelzChildCount(): number {
    return this.channelzChildren.size;
  }

  get held(): readonly FakeSubchannel[] {
    return this.subchannels.filter((subchannel) => subchannel.refs > 0);
  }

  private pooled(address: SubchannelAddress, options: ChannelOptions): FakeSubchannel | undefined {
    for (const candidate of this.pool.get(subchannelAddressToString(address)) ?? []) {
      if (
        isDeepStrictEqual(candidate.address, address) &&
        hasSameOptions(candidate.options, options)
      )
        return candidate;
    }
    return undefined;
  }

  private open(address: SubchannelAddress, options: ChannelOptions): FakeSubchannel {
    const id = this.subchannels.length + 1;
    const key = subchannelAddressToString(address);
    const sameAddress = this.pool.get(key) ?? new Set<FakeSubchannel>();
    const subchannel: FakeSubchannel = new FakeSubchannel(id, address, options, () =>
      sameAddress.delete(subchannel),
    );
    this.pool.set(key, sameAddress.add(subchannel));
    this.subchannels.push(subchannel);
    return subchannel;
  }
}

/** Compares option values by identity, as grpc-js does. */
function hasSameOptions(a: ChannelOptions, b: ChannelOptions): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key]);
}

type StateListener = Parameters<Subchannel['addConnectivityStateListener']>[0];
type HealthListener = Parameters<Subchannel['addHealthStateWatcher']>[0];
type ChannelzRef = ReturnType<Subchannel['getChannelzRef']>;
type RealSubchannel = ReturnType<Subchannel['getRealSubchannel']>;
type DataWatcher = Parameters<Subchannel['addDataWatcher']>[0];

const NEVER = -1;

/** A fake subchannel, whose connectivity state the test sets. */
export class FakeSubchannel implements Subchannel {
  /** Number of calls of `startConnecting`. */
  connectRequests = 0;
  refs = 0;
  /** Whether the last reference was released. */
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

  /** Sets the state and notifies the listeners. */
  setState(state: ConnectivityState, errorMessage?: string): void {
    const previous = this.state;
    this.state = state;
    for (const listener of [...this.stateListeners]) {
      listener(this, previous, state, NEVER, errorMessage);
    }
  }

  /** Connects. */
  connect(): void {
    this.setState(ConnectivityState.CONNECTING);
    this.setState(ConnectivityState.READY);
  }

  /** Fails a connection attempt. */
  fail(errorMessage: string): void {
    this.setState(ConnectivityState.CONNECTING);
    this.setState(ConnectivityState.TRANSIENT_FAILURE, errorMessage);
  }

  /** Closes the connection, as after a GOAWAY. */
  disconnect(): void {
    this.setState(ConnectivityState.IDLE);
  }

  /** Number of state listeners; zero if all were removed. */
  get listenerCount(): number {
    return this.stateListeners.size;
  }

  /** The references, under the name that grpc-js has for them. */
  get refCount(): number {
    return this.refs;
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
