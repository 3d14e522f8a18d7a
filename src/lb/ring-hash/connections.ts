import { ConnectivityState, type ChannelOptions } from '../../grpc-js';
import { ConnectivityTally } from '../connectivity';
import { destroyLeaves, EndpointLeaf, type LeafOwner } from '../endpoints/endpoint-leaf';
import type { LbHost } from '../lb-policy';
import type { HashTable } from './ring';

export interface RingConnectionsOptions {
  readonly host: LbHost;
  /** The ring at the start. */
  readonly ring: HashTable;
  /** Whether endpoints are placed by their hash keys. */
  readonly usesHashKeys: boolean;
  /** Called when an endpoint starts connecting. */
  readonly onConnecting: () => void;
  /** Called when a leaf changed, after the state of its connection was set. */
  readonly onChanged: LeafOwner['onLeafChanged'];
  /** Called before the leaf of an endpoint without entries is destroyed. */
  readonly onReleased: (leaf: EndpointLeaf) => void;
}

/** The connection of an endpoint that a call has needed. */
export interface RingConnection {
  readonly leaf: EndpointLeaf;
  /** CONNECTING as soon as it was requested. */
  state: ConnectivityState;
}

/**
 * The ring in use, and the connections that calls have needed: an endpoint without one is IDLE. Pickers read it, so that a change
 * of state costs no picker. Must be used in the batch.
 */
export class RingConnections {
  private current: HashTable;
  /** The states of the connections. */
  private readonly tally = new ConnectivityTally();
  /** By the numbers of their members. */
  private connected = new Map<number, RingConnection>();
  private channelOptions: ChannelOptions = {};
  private readonly requested = new Set<number>();
  private destroyed = false;
  /** Whether a call was queued since this was last set to `false`, and needs another picker. */
  hasQueued = false;

  constructor(private readonly options: RingConnectionsOptions) {
    this.current = options.ring;
  }

  get ring(): HashTable {
    return this.current;
  }

  get connectivity(): ConnectivityState {
    return chooseConnectivity(this, this.current.memberCount);
  }

  /** Returns the number of members in a state. */
  count(state: ConnectivityState): number {
    const count = this.tally.count(state);
    if (state !== ConnectivityState.IDLE) return count;
    return count + this.current.memberCount - this.connected.size;
  }

  /** Whether an endpoint is connecting, or a pick requested a connection that has not been started yet. */
  get isConnecting(): boolean {
    return this.requested.size > 0 || this.count(ConnectivityState.CONNECTING) > 0;
  }

  /** Returns the connection of a member; `undefined` if no call has needed it. */
  get(member: number): RingConnection | undefined {
    return this.connected.get(member);
  }

  stateOf(member: number): ConnectivityState {
    return this.connected.get(member)?.state ?? ConnectivityState.IDLE;
  }

  /** Returns the leaves there are. */
  leaves(): EndpointLeaf[] {
    return Array.from(this.connected.values(), ({ leaf }) => leaf);
  }

  /** Connects to an endpoint after the current pick. */
  request(member: number): void {
    if (this.requested.size === 0) {
      const { batch, clock } = this.options.host.environment;
      clock.soon(() => batch.run(() => this.connectRequested()));
    }
    this.requested.add(member);
  }

  /** Connects to a random IDLE endpoint, if there is any (gRFC A117). */
  connectAny(): void {
    const { IDLE } = ConnectivityState;
    const { ring } = this;
    if (this.count(IDLE) === 0) return;
    const start = Math.floor(this.options.host.environment.random() * ring.size);
    for (let i = 0; i < ring.size; i++) {
      const member = ring.memberAt(start + i);
      if (this.stateOf(member) === IDLE) return this.connect(member, false);
    }
  }

  /** Replaces ring and options. Releases the connections to endpoints without an entry on the ring. */
  update(ring: HashTable, channelOptions: ChannelOptions): void {
    const previous = this.current;
    const isOther = channelOptions !== this.channelOptions;
    if (ring === previous && !isOther) return;
    this.current = ring;
    this.channelOptions = channelOptions;
    if (ring !== previous) this.rebind(previous);
    for (const [member, { leaf }] of this.connected) {
      const endpoint = ring.members.endpoints[member] ?? leaf.endpoint;
      if (isOther || endpoint !== leaf.endpoint) leaf.update(endpoint, channelOptions);
    }
  }

  /** Finds the members of connections on another ring. */
  private rebind(previous: HashTable): void {
    const { current, options } = this;
    const connected = new Map<number, RingConnection>();
    const released: EndpointLeaf[] = [];
    for (const [member, connection] of this.connected) {
      const { leaf } = connection;
      const next = current.members.find(leaf.endpoint, member, options.usesHashKeys);
      if (next !== undefined && current.has(next)) {
        connected.set(next, connection);
      } else {
        this.tally.remove(connection.state);
        options.onReleased(leaf);
        released.push(leaf);
      }
    }
    this.connected = connected;
    // A call whose endpoint is another one now is picked again.
    for (const member of this.requested) {
      const endpoint = previous.members.endpoints[member];
      if (endpoint === current.members.endpoints[member] && current.has(member)) continue;
      this.requested.delete(member);
    }
    destroyLeaves(options.host.environment, released);
  }

  destroy(): void {
    this.destroyed = true;
    this.requested.clear();
    destroyLeaves(this.options.host.environment, this.leaves());
  }

  private connectRequested(): void {
    for (const member of this.requested) this.connect(member, true);
    this.requested.clear();
  }

  private connect(member: number, isUrgent: boolean): void {
    const { IDLE, CONNECTING } = ConnectivityState;
    if (this.destroyed || this.stateOf(member) !== IDLE) return;
    const connection = this.connected.get(member) ?? this.create(member);
    if (connection === undefined) return;
    // The leaf will report it. Until then, no other connection must be started instead.
    this.setState(connection, CONNECTING);
    connection.leaf.connect(isUrgent);
    this.options.onConnecting();
  }

  private create(member: number): RingConnection | undefined {
    const endpoint = this.current.members.endpoints[member];
    if (endpoint === undefined) return undefined;
    const { host, onChanged } = this.options;
    const owner: LeafOwner = {
      host,
      onLeafChanged: (leaf, previous) => {
        // A leaf that is released may be destroyed later.
        if (leaf.isObsolete) return;
        this.setState(connection, leaf.state);
        onChanged(leaf, previous);
      },
    };
    const leaf = new EndpointLeaf(owner, endpoint, this.channelOptions);
    const connection = { leaf, state: ConnectivityState.IDLE };
    this.tally.add(connection.state);
    this.connected.set(member, connection);
    return connection;
  }

  private setState(connection: RingConnection, state: ConnectivityState): void {
    this.tally.remove(connection.state);
    this.tally.add(state);
    connection.state = state;
  }
}

/**
 * Returns the state of a ring (gRFCs A42, A61). One failed endpoint does not make it fail, since its calls use the next
 * one; two do, so that a lower priority is tried before all have failed.
 *
 * @param tally The endpoints by state.
 * @param size The number of endpoints.
 */
export function chooseConnectivity(
  tally: Pick<ConnectivityTally, 'count'>,
  size: number,
): ConnectivityState {
  const { CONNECTING, IDLE, READY, TRANSIENT_FAILURE } = ConnectivityState;
  const failed = tally.count(TRANSIENT_FAILURE);
  if (tally.count(READY) > 0) return READY;
  if (failed >= 2) return TRANSIENT_FAILURE;
  if (tally.count(CONNECTING) > 0) return CONNECTING;
  if (failed === 1 && size > 1) return CONNECTING;
  if (tally.count(IDLE) > 0) return IDLE;
  return TRANSIENT_FAILURE;
}
