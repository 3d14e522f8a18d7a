import { ConnectivityState, type ChannelOptions } from '../../grpc-js';
import { EndpointLeaf, type LeafListener } from '../endpoints/endpoint-leaf';
import type { LbHost } from '../lb-policy';
import { destroyInSteps, OPERATIONS_OF_A_CONNECTION } from '../tree/lb-batch';
import type { LiveRing } from './live-ring';
import type { RingMembers } from './ring-members';

export interface RingConnectionsOptions {
  readonly host: LbHost;
  readonly live: LiveRing;
  readonly members: Pick<RingMembers, 'has' | 'endpointIn'>;
  /** Called when an endpoint starts connecting. */
  readonly onConnecting: () => void;
  /** Called when a leaf changed, after its state was set in the ring. */
  readonly onChanged: LeafListener;
}

/** The connections to the endpoints of a ring that calls have needed, by slot. Must be used in the batch. */
export class RingConnections {
  private channelOptions: ChannelOptions = {};
  private readonly leaves: (EndpointLeaf | undefined)[] = [];
  private readonly requested = new Set<number>();
  private destroyed = false;

  constructor(private readonly options: RingConnectionsOptions) {}

  /** Whether a pick requested a connection that has not been started yet. */
  get isPending(): boolean {
    return this.requested.size > 0;
  }

  /** Returns the connection to an endpoint, if it was needed so far. */
  leafOf(slot: number): EndpointLeaf | undefined {
    return this.leaves[slot];
  }

  /** Does nothing until it is iterated. */
  *all(): Iterable<EndpointLeaf> {
    for (const leaf of this.leaves) if (leaf !== undefined) yield leaf;
  }

  /** Connects to an endpoint after the current pick. */
  request(slot: number): void {
    if (this.requested.size === 0) {
      const { batch, clock } = this.options.host.environment;
      clock.soon(() => batch.run(() => this.connectRequested()));
    }
    this.requested.add(slot);
  }

  /** Connects to a random IDLE endpoint, if there is any (gRFC A117). */
  connectAny(): void {
    const { host, live } = this.options;
    const start = Math.floor(host.environment.random() * live.ring.size);
    const slot = live.ring.owners[live.findState(ConnectivityState.IDLE, start)];
    if (slot !== undefined) this.connect(slot, false);
  }

  setChannelOptions(channelOptions: ChannelOptions): void {
    if (channelOptions === this.channelOptions) return;
    this.channelOptions = channelOptions;
    for (const slot of this.leaves.keys()) this.rebind(slot);
  }

  /** Updates the connection, if there is one, with the current endpoint object and options. */
  rebind(slot: number): void {
    const { members } = this.options;
    if (members.has(slot)) this.leaves[slot]?.update(members.endpointIn(slot), this.channelOptions);
  }

  /** Releases the connections to endpoints that are not on the ring any more. @param onRelease Called before each. */
  releaseUnused(onRelease: (leaf: EndpointLeaf) => void): void {
    const { leaves } = this;
    const { host, live } = this.options;
    const released: EndpointLeaf[] = [];
    for (const slot of this.requested) if (!live.has(slot)) this.requested.delete(slot);
    for (let slot = 0; slot < leaves.length; slot++) {
      const leaf = leaves[slot];
      if (leaf === undefined || live.has(slot)) continue;
      leaves[slot] = undefined;
      live.setState(slot, ConnectivityState.IDLE);
      onRelease(leaf);
      released.push(leaf);
    }
    destroyInSteps(host.environment, released, OPERATIONS_OF_A_CONNECTION);
  }

  destroy(): void {
    this.destroyed = true;
    this.requested.clear();
    destroyInSteps(this.options.host.environment, [...this.all()], OPERATIONS_OF_A_CONNECTION);
  }

  private connectRequested(): void {
    for (const slot of this.requested) this.connect(slot, true);
    this.requested.clear();
  }

  private connect(slot: number, isUrgent: boolean): void {
    const { IDLE, CONNECTING } = ConnectivityState;
    const { live, members } = this.options;
    if (this.destroyed || live.stateOf(slot) !== IDLE) return;
    // Removed by an update whose ring is not complete yet: the call is picked again with that ring.
    if (!members.has(slot)) return;
    // The leaf will report it. Until then, no other connection must be started instead.
    live.setState(slot, CONNECTING);
    this.ensureLeaf(slot).connect(isUrgent);
    this.options.onConnecting();
  }

  private ensureLeaf(slot: number): EndpointLeaf {
    const { leaves } = this;
    const known = leaves[slot];
    if (known !== undefined) return known;
    const leaf = this.createLeaf(slot);
    // Without holes, so that V8 keeps it an array.
    while (leaves.length <= slot) leaves.push(undefined);
    leaves[slot] = leaf;
    return leaf;
  }

  private createLeaf(slot: number): EndpointLeaf {
    const { host, live, members, onChanged } = this.options;
    // One that is released may be destroyed later, when the slot has another endpoint.
    const isReleased = () => this.destroyed || this.leaves[slot] !== created;
    const created: EndpointLeaf = new EndpointLeaf({
      host,
      endpoint: members.endpointIn(slot),
      channelOptions: this.channelOptions,
      onChanged: (leaf, previous) => {
        if (isReleased()) return;
        live.setState(slot, leaf.state);
        onChanged(leaf, previous);
      },
      isReleased,
    });
    return created;
  }
}
