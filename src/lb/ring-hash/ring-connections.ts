import { ConnectivityState, type ChannelOptions } from '../../grpc-js';
import { EndpointLeaf, type LeafListener } from '../endpoints/endpoint-leaf';
import type { LbHost } from '../lb-policy';
import type { LiveRing } from './live-ring';
import type { RingMember } from './ring-members';

export interface RingConnectionsOptions {
  readonly host: LbHost;
  readonly live: LiveRing;
  /** Called when an endpoint starts connecting. */
  readonly onConnecting: () => void;
  /** Called when a leaf changed, after its state was set in the ring. */
  readonly onChanged: LeafListener;
}

/** The connections to the endpoints of a ring that calls have needed. Must be used in the batch. */
export class RingConnections {
  private channelOptions: ChannelOptions = {};
  private readonly requested = new Set<RingMember>();
  private destroyed = false;

  constructor(private readonly options: RingConnectionsOptions) {}

  /** Whether a pick requested a connection that has not been started yet. */
  get isPending(): boolean {
    return this.requested.size > 0;
  }

  /** Connects to an endpoint after the current pick. */
  request(member: RingMember): void {
    if (this.requested.size === 0) {
      const { batch, clock } = this.options.host.environment;
      clock.soon(() => batch.run(() => this.connectRequested()));
    }
    this.requested.add(member);
  }

  /** Connects to a random IDLE endpoint, if there is any (gRFC A117). */
  connectAny(): void {
    const { host, live } = this.options;
    const start = Math.floor(host.environment.random() * live.ring.size);
    const member = live.ring.owners[live.findState(ConnectivityState.IDLE, start)];
    if (member !== undefined) this.connect(member, false);
  }

  setChannelOptions(channelOptions: ChannelOptions, members: Iterable<RingMember>): void {
    if (channelOptions === this.channelOptions) return;
    this.channelOptions = channelOptions;
    for (const member of members) this.rebind(member);
  }

  /** Updates the connection, if there is one, with the current endpoint object and options. */
  rebind(member: RingMember): void {
    member.leaf?.update(member.endpoint, this.channelOptions);
  }

  /** Releases the connection to an endpoint that is not on the ring any more. */
  release(member: RingMember): void {
    this.requested.delete(member);
    member.leaf?.destroy();
    member.leaf = undefined;
    this.options.live.setState(member, ConnectivityState.IDLE);
  }

  destroy(members: Iterable<RingMember>): void {
    this.destroyed = true;
    this.requested.clear();
    for (const member of members) member.leaf?.destroy();
  }

  private connectRequested(): void {
    for (const member of this.requested) this.connect(member, true);
    this.requested.clear();
  }

  private connect(member: RingMember, isUrgent: boolean): void {
    const { IDLE, CONNECTING } = ConnectivityState;
    if (this.destroyed || member.state !== IDLE) return;
    // The leaf will report it. Until then, no other connection must be started instead.
    this.options.live.setState(member, CONNECTING);
    member.leaf ??= this.createLeaf(member);
    member.leaf.connect(isUrgent);
    this.options.onConnecting();
  }

  private createLeaf(member: RingMember): EndpointLeaf {
    const { host, live, onChanged } = this.options;
    return new EndpointLeaf({
      host,
      endpoint: member.endpoint,
      channelOptions: this.channelOptions,
      onChanged: (leaf, previous) => {
        live.setState(member, leaf.state);
        onChanged(leaf, previous);
      },
    });
  }
}
