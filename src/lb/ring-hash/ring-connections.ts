import { ConnectivityState } from '../../grpc-js';
import type { ChannelOptions } from '../../grpc-js';
import { EndpointLeaf, type LeafListener } from '../endpoint-leaf';
import type { LbHost } from '../lb-policy';
import type { LiveRing } from './live-ring';
import type { RingMember } from './ring-members';

/** What connections are made with. */
export interface RingConnectionsOptions {
  readonly host: LbHost;
  readonly live: LiveRing;
  /** Called when an endpoint was told to connect. */
  readonly onConnecting: () => void;
  /** Called when something happened to a connection, of which the ring has been told. */
  readonly onChanged: LeafListener;
}

/** The connections of a ring, of which there are as many as calls wanted. To be used from the batch. */
export class RingConnections {
  private channelOptions: ChannelOptions = {};
  /** Idle endpoints that picks want connected, once they are over. */
  private readonly wanted = new Set<RingMember>();
  private destroyed = false;

  constructor(private readonly options: RingConnectionsOptions) {}

  /** Whether a pick wants a connection that has not been begun yet. */
  get isPending(): boolean {
    return this.wanted.size > 0;
  }

  /** Connects to an endpoint once the pick under way is over. */
  want(member: RingMember): void {
    if (this.wanted.size === 0) {
      const { batch, clock } = this.options.host.environment;
      clock.soon(() => batch.run(() => this.connectWanted()));
    }
    this.wanted.add(member);
  }

  /** Connects to one of the idle endpoints, if there is any: a random one, so that clients differ (gRFC A117). */
  connectAny(): void {
    const { host, live } = this.options;
    const start = Math.floor(host.environment.random() * live.ring.size);
    const member = live.ring.owners[live.findState(ConnectivityState.IDLE, start)];
    if (member !== undefined) this.connect(member, false);
  }

  /** Hands on other options for subchannels. */
  setChannelOptions(channelOptions: ChannelOptions, members: Iterable<RingMember>): void {
    if (channelOptions === this.channelOptions) return;
    this.channelOptions = channelOptions;
    for (const member of members) this.rebind(member);
  }

  /** Tells the connection, if there is one, that the endpoint object or the options are others. */
  rebind(member: RingMember): void {
    member.leaf?.update(member.endpoint, this.channelOptions);
  }

  /** Lets go of the connection to an endpoint that is no longer on the ring. */
  drop(member: RingMember): void {
    this.wanted.delete(member);
    member.leaf?.destroy();
    member.leaf = undefined;
    this.options.live.setState(member, ConnectivityState.IDLE);
  }

  /** Lets go of all connections, those of the given members. */
  destroy(members: Iterable<RingMember>): void {
    this.destroyed = true;
    this.wanted.clear();
    for (const member of members) member.leaf?.destroy();
  }

  private connectWanted(): void {
    for (const member of this.wanted) this.connect(member, true);
    this.wanted.clear();
  }

  private connect(member: RingMember, isUrgent: boolean): void {
    const { IDLE, CONNECTING } = ConnectivityState;
    if (this.destroyed || member.state !== IDLE) return;
    // It will say so itself in a moment. Until then, nobody is to begin another connection instead.
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
