import type { ServerConfig } from '../bootstrap/bootstrap';
import type { Handle } from '../util/handle';
import { diagnostics, type FallbackEvent } from './diagnostics';
import type { ServerChannel, ServerObserver } from './server-channel';
import type { WatchedResource } from './watched-resource';

/** A reference to the channel of a server. */
export type ChannelReference = Handle & { readonly value: ServerChannel };

/** Constructor options of a server choice. */
export interface ServerChoiceOptions {
  /** The target of the client; `undefined` if it has none. */
  readonly target: string | undefined;
  /** Of the authority; `undefined` for names in the old style. */
  readonly name: string | undefined;
  /** `node.id`, for diagnostics. */
  readonly nodeId: string;
  /** In order of priority, at least one. */
  readonly servers: readonly ServerConfig[];
  /** Whether a server that is unreachable is replaced although no resource is missing (gRFC A95). */
  readonly fallbackOnReachabilityOnly: boolean;
  readonly acquireChannel: (server: ServerConfig) => ChannelReference;
}

/** A server in use. */
interface UsedServer {
  readonly channel: ServerChannel;
  readonly reference: Handle;
  readonly observation: Handle;
}

/**
 * The servers from which one target has the resources of an authority (gRFC A71): the first ones of the list, normally
 * one, and one more each time the last of them fails while a resource is missing. Every resource is subscribed to at all
 * of them. The first response of one of them ends the use of those after it.
 */
export class ServerChoice {
  private readonly used: UsedServer[] = [];

  /** @param resources Returns the resources to subscribe to, at any time. */
  constructor(
    private readonly options: ServerChoiceOptions,
    private readonly observer: ServerObserver,
    private readonly resources: () => Iterable<WatchedResource>,
  ) {}

  /** The channels of the servers in use. */
  get channels(): readonly ServerChannel[] {
    return this.used.map(({ channel }) => channel);
  }

  /** Subscribes a resource at every server in use. The last one supplies it: those before are down. */
  subscribe(resource: WatchedResource): void {
    for (const [index, { channel }] of this.used.entries()) {
      resource.subscribe(channel, index === this.used.length - 1);
    }
  }

  /**
   * Uses the next server if the last one is down and there is reason to: a resource has not been received at all, or has
   * expired since. Cached resources, and those known to be missing, are no reason.
   *
   * @returns whether a server is in use that is not known to be down.
   */
  canReach(): boolean {
    const { servers, fallbackOnReachabilityOnly } = this.options;
    if (this.used.length === 0) this.useNext();
    while (this.used.at(-1)?.channel.failure !== undefined) {
      if (this.used.length === servers.length) return false;
      if (!fallbackOnReachabilityOnly && !this.lacksResource()) return false;
      this.useNext();
    }
    return true;
  }

  /** Ends the use of the servers after the one that has answered. */
  settleOn(channel: ServerChannel): void {
    const index = this.used.findIndex((used) => used.channel === channel);
    const last = this.used.at(-1)?.channel;
    this.releaseAfter(index + 1);
    if (index >= 0 && last !== undefined && last !== channel) {
      this.publishFallback('back', last.server, channel.server);
    }
  }

  /** Describes what each server is doing about a resource, as clauses. */
  describeWaits({ type, name }: WatchedResource): readonly string[] {
    return this.used.map(({ channel }) => channel.describeWait(type, name));
  }

  /** Why each server that has failed cannot be used. */
  failures(): readonly string[] {
    return this.used.flatMap(({ channel }) => channel.failure ?? []);
  }

  /** Ends the use of every server. */
  close(): void {
    this.releaseAfter(0);
  }

  private lacksResource(): boolean {
    for (const { state } of this.resources()) {
      if (state.kind === 'requested') return true;
      if (state.kind === 'failed' && state.failure.isExpiry === true) return true;
    }
    return false;
  }

  private useNext(): void {
    const server = this.options.servers[this.used.length];
    if (server === undefined) throw new Error('an authority has run out of servers');
    // What is cached from now on is not what these servers sent last.
    for (const { channel } of this.used) channel.forgetVersions();
    const before = this.used.at(-1)?.channel.server;
    if (before !== undefined) this.publishFallback('down', before, server);
    const reference = this.options.acquireChannel(server);
    const channel = reference.value;
    this.used.push({ channel, reference, observation: channel.observe(this.observer) });
    for (const resource of this.resources()) resource.subscribe(channel, true);
  }

  private releaseAfter(count: number): void {
    const released = this.used.splice(count);
    if (released.length === 0) return;
    for (const resource of this.resources()) resource.unsubscribeAfter(count);
    for (const { reference, observation } of released) {
      observation.release();
      reference.release();
    }
  }

  private publishFallback(
    direction: FallbackEvent['direction'],
    { serverUri: fromServerUri }: ServerConfig,
    { serverUri: toServerUri }: ServerConfig,
  ): void {
    if (!diagnostics.fallback.hasSubscribers) return;
    const { nodeId, target, name: authority } = this.options;
    const servers = { direction, fromServerUri, toServerUri };
    diagnostics.fallback.publish({ nodeId, target, authority, ...servers });
  }
}
