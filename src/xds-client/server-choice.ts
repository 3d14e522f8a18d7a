import type { ServerConfig } from '../bootstrap/bootstrap';
import type { Handle } from '../util/handle';
import type { Channel, ChannelListener } from './channel-listener';
import { diagnostics, type FallbackEvent } from './diagnostics';
import type { ResourceType } from './resource-type';
import type { ServerChannel } from './server-channel';
import type { WatchedResource } from './watched-resource';

/** A hold on the channel of a server. */
export type ChannelHold = Handle & { readonly value: ServerChannel };

/** What the servers of an authority are chosen from, and for. */
export interface ServerChoiceOptions {
  /** The target of the client; `undefined` if it has none. */
  readonly target: string | undefined;
  /** Of the authority; `undefined` for that of the names in the old style. */
  readonly name: string | undefined;
  /** `node.id`, for whoever observes the process. */
  readonly nodeId: string;
  /** In order of priority, at least one. */
  readonly servers: readonly ServerConfig[];
  /** Whether a server being out of reach is reason enough to ask the next one (gRFC A95). */
  readonly fallbackOnReachabilityOnly: boolean;
  readonly acquireChannel: (server: ServerConfig) => ChannelHold;
}

/**
 * The servers that one target has the resources of an authority from (gRFC A71): the first ones of the list, normally one,
 * and one more each time the last of them fails while something is missing. All of them are subscribed to everything.
 * The first answer of one of them makes those after it superfluous.
 */
export class ServerChoice {
  private readonly channels: ChannelHold[] = [];

  /** @param resources Those to subscribe to, whenever it is asked. */
  constructor(
    private readonly options: ServerChoiceOptions,
    private readonly listener: ChannelListener,
    private readonly resources: () => Iterable<WatchedResource>,
  ) {}

  /** The servers that are asked at the moment. */
  get asked(): readonly ServerChannel[] {
    return this.channels.map(({ value }) => value);
  }

  /** Whether resources are taken from a server: from the last one, because those before it are down. */
  isInUse(channel: Channel): boolean {
    return this.channels.at(-1)?.value === channel;
  }

  subscribe(type: ResourceType<unknown>, name: string): void {
    for (const { value } of this.channels) value.subscribe(type, name, this.listener);
  }

  unsubscribe(type: ResourceType<unknown>, name: string): void {
    for (const { value } of this.channels) value.unsubscribe(type, name, this.listener);
  }

  /**
   * Sees to it that a server is asked that is not known to be down, turning to the next one if there is
   * reason to: something has not been heard of at all, or has expired since. What is cached can wait, and so
   * can what is known to be missing.
   *
   * @returns whether there is such a server.
   */
  canReach(): boolean {
    const { servers, fallbackOnReachabilityOnly } = this.options;
    if (this.channels.length === 0) this.openNext();
    while (this.channels.at(-1)?.value.failure !== undefined) {
      const next = servers[this.channels.length];
      if (next === undefined) return false;
      if (!fallbackOnReachabilityOnly && !this.lacksResource()) return false;
      this.openNext();
    }
    return true;
  }

  /** Does without the servers after the one that has answered. */
  settleOn(channel: Channel): void {
    const index = this.channels.findIndex(({ value }) => value === channel);
    const last = this.channels.at(-1)?.value;
    this.closeAfter(index);
    if (index >= 0 && last !== undefined && last !== channel) {
      this.publishFallback('back', last.server, channel.server);
    }
  }

  /** What each server is doing about a resource, as clauses. */
  describeWaits({ type, name }: WatchedResource): readonly string[] {
    return this.channels.map(({ value }) => value.describeWait(type, name));
  }

  /** Why each server that has failed cannot be used. */
  failures(): readonly string[] {
    return this.channels.flatMap(({ value }) => value.failure ?? []);
  }

  /** Lets go of every server. */
  close(): void {
    this.closeAfter(-1);
  }

  private lacksResource(): boolean {
    for (const { state } of this.resources()) {
      if (state.kind === 'requested') return true;
      if (state.kind === 'failed' && state.failure.isExpiry === true) return true;
    }
    return false;
  }

  private openNext(): void {
    const server = this.options.servers[this.channels.length];
    if (server === undefined) throw new Error('an authority has run out of servers');
    // What will be cached from now on is not what these servers sent last.
    for (const { value } of this.channels) value.forgetVersions();
    const before = this.channels.at(-1)?.value.server;
    if (before !== undefined) this.publishFallback('down', before, server);
    const hold = this.options.acquireChannel(server);
    this.channels.push(hold);
    hold.value.attach(this.listener);
    for (const { type, name } of this.resources()) hold.value.subscribe(type, name, this.listener);
  }

  private closeAfter(index: number): void {
    for (const hold of this.channels.splice(index + 1)) {
      for (const { type, name } of this.resources())
        hold.value.unsubscribe(type, name, this.listener);
      hold.value.detach(this.listener);
      hold.release();
    }
  }

  private publishFallback(
    direction: FallbackEvent['direction'],
    { serverUri: fromServerUri }: ServerConfig,
    { serverUri: toServerUri }: ServerConfig,
  ): void {
    if (!diagnostics.fallback.hasSubscribers) return;
    const { nodeId, target, name: authority } = this.options;
    diagnostics.fallback.publish({
      nodeId,
      target,
      authority,
      direction,
      fromServerUri,
      toServerUri,
    });
  }
}
