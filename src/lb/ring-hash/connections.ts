import { ConnectivityState, type ChannelOptions } from '../../grpc-js';
import { ConnectivityTally } from '../connectivity';
import { destroyLeaves, EndpointLeaf, type LeafOwner } from '../endpoints/endpoint-leaf';
import type { LbHost } from '../lb-policy';
import type { HashTable } from './ring';
import type { Member } from './members';

export interface RingConnectionsOptions {
  readonly host: LbHost;
  /** The ring at the start. */
  readonly ring: HashTable;
  /** Called when an endpoint starts connecting. */
  readonly onConnecting: () => void;
  /** Called when a leaf changed, after the state of its member was set. */
  readonly onChanged: LeafOwner['onLeafChanged'];
  /** Called before the leaf of an endpoint without entries is destroyed. */
  readonly onReleased: (leaf: EndpointLeaf) => void;
}

/**
 * The ring in use with the states of its members, and the connections that calls have needed. Pickers read it, so that a
 * change of state costs no picker. Must be used in the batch.
 */
export class RingConnections {
  private current: HashTable;
  /** How the states differ from those of members without a connection, which are IDLE. */
  private readonly changes = new ConnectivityTally();
  private readonly connected = new Map<Member, EndpointLeaf>();
  private channelOptions: ChannelOptions = {};
  private readonly requested = new Set<Member>();
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
    const changed = this.changes.count(state);
    return state === ConnectivityState.IDLE ? this.current.memberCount + changed : changed;
  }

  /** Whether an endpoint is connecting, or a pick requested a connection that has not been started yet. */
  get isConnecting(): boolean {
    return this.requested.size > 0 || this.count(ConnectivityState.CONNECTING) > 0;
  }

  /** Returns the connections there are. */
  leaves(): Iterable<EndpointLeaf> {
    return this.connected.values();
  }

  /** Connects to an endpoint after the current pick. */
  request(member: Member): void {
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
      if (member?.state === IDLE) return this.connect(member, false);
    }
  }

  /** Replaces the ring. Releases the connections to endpoints without an entry on the new one, which must be the newest. */
  useRing(ring: HashTable): void {
    const { IDLE } = ConnectivityState;
    const { host, onReleased } = this.options;
    const released: EndpointLeaf[] = [];
    for (const member of this.requested) if (member.count === 0) this.requested.delete(member);
    for (const [member, leaf] of this.connected) {
      if (member.count > 0) continue;
      this.connected.delete(member);
      member.leaf = undefined;
      this.setState(member, IDLE);
      onReleased(leaf);
      released.push(leaf);
    }
    this.current = ring;
    destroyLeaves(host.environment, released);
  }

  /** Updates connections with the current endpoint objects and options. @param rebound Members with another object. */
  update(rebound: Iterable<Member>, channelOptions: ChannelOptions): void {
    const changed = channelOptions === this.channelOptions ? rebound : this.connected.keys();
    this.channelOptions = channelOptions;
    for (const { endpoint, leaf } of changed) leaf?.update(endpoint, channelOptions);
  }

  destroy(): void {
    this.destroyed = true;
    this.requested.clear();
    destroyLeaves(this.options.host.environment, [...this.leaves()]);
  }

  private connectRequested(): void {
    for (const member of this.requested) this.connect(member, true);
    this.requested.clear();
  }

  private connect(member: Member, isUrgent: boolean): void {
    const { IDLE, CONNECTING } = ConnectivityState;
    // Without entries on a ring that is not complete yet: the call is picked again with that ring.
    if (this.destroyed || member.count === 0 || member.state !== IDLE) return;
    // The leaf will report it. Until then, no other connection must be started instead.
    this.setState(member, CONNECTING);
    member.leaf ??= this.createLeaf(member);
    this.connected.set(member, member.leaf);
    member.leaf.connect(isUrgent);
    this.options.onConnecting();
  }

  private createLeaf(member: Member): EndpointLeaf {
    const { host, onChanged } = this.options;
    const owner: LeafOwner = {
      host,
      onLeafChanged: (leaf, previous) => {
        // A leaf that is released may be destroyed later.
        if (leaf.isObsolete) return;
        this.setState(member, leaf.state);
        onChanged(leaf, previous);
      },
    };
    return new EndpointLeaf(owner, member.endpoint, this.channelOptions);
  }

  private setState(member: Member, state: ConnectivityState): void {
    this.changes.remove(member.state);
    this.changes.add(state);
    member.state = state;
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
