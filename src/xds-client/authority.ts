import type { ServerConfig } from '../bootstrap/bootstrap';
import type { Clock } from '../util/clock';
import type { Handle } from '../util/handle';
import type { Logger } from '../util/logger';
import type { SerialQueue } from '../util/serial-queue';
import type { ResourceOutcome } from './ads-response';
import { diagnostics, type FallbackEvent } from './diagnostics';
import {
  deletionEvent,
  expiryEvent,
  outcomeEvent,
  timeoutEvent,
  unreachableEvent,
  type EventOrigin,
} from './resource-events';
import type { Accepted } from './resource-state';
import { reportLongWaits } from './report-long-waits';
import { ResourceTimers } from './resource-timers';
import type { ResourceType } from './resource-type';
import { removalHandling } from './server-policy';
import type { ChannelListener, ResourcesUpdate, ServerChannel } from './server-channel';
import { WaitReports } from './wait-reports';
import { WatchedResource, type Watch } from './watched-resource';
import { describeResource } from './xds-errors';

/** A hold on the channel of a server. */
export type ChannelHold = Handle & { readonly value: ServerChannel };

/** What an authority is made of. */
export interface AuthorityOptions {
  /** `undefined` for that of the names in the old style. */
  readonly name: string | undefined;
  /** `node.id`, for whoever observes the process. */
  readonly nodeId: string;
  /** In order of priority, at least one. */
  readonly servers: readonly ServerConfig[];
  /** Whether a server being out of reach is reason enough to ask the next one (gRFC A95). */
  readonly fallbackOnReachabilityOnly: boolean;
  readonly acquireChannel: (server: ServerConfig) => ChannelHold;
  readonly queue: SerialQueue;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * The resources of one authority (gRFC A47), and the servers they are had from (gRFC A71). The channels in
 * use are the first ones of the list of servers: normally one, and one more each time the last of them
 * fails while something is missing. All of them are subscribed to everything. The first answer of one of
 * them makes those after it superfluous.
 */
export class Authority implements ChannelListener {
  private readonly resources = new Map<string, Map<string, WatchedResource>>();
  private readonly channels: ChannelHold[] = [];
  /** Resources whose last watch has ended since the last `sweep`. */
  private readonly unwatched = new Set<WatchedResource>();
  /** Of resources that must be forgotten unless they are renewed. */
  private readonly expiries: ResourceTimers;
  private readonly waitReports: WaitReports;
  /** Watchers have been told that no server can be reached. */
  private toldUnreachable = false;

  constructor(private readonly options: AuthorityOptions) {
    const { clock, queue, logger, nodeId } = options;
    this.expiries = new ResourceTimers(clock);
    const describe = (resource: WatchedResource) => this.describeWait(resource);
    const onLong = (resources: readonly WatchedResource[]) =>
      reportLongWaits(resources, { describe, logger, nodeId });
    this.waitReports = new WaitReports({ clock, queue, onLong });
  }

  /** Whether there is nothing to watch and nothing to keep. */
  get isUnused(): boolean {
    return this.resources.size === 0;
  }

  /** Every resource watched. */
  *allResources(): IterableIterator<WatchedResource> {
    for (const ofType of this.resources.values()) yield* ofType.values();
  }

  /** Watches a resource, asking for it if it is not watched yet. */
  watch(type: ResourceType<unknown>, name: string, watch: Watch): WatchedResource {
    const known = this.resource(type.typeUrl, name);
    if (known !== undefined) {
      known.addWatch(watch);
      return known;
    }
    const resource = this.addResource(type, name);
    resource.addWatch(watch);
    for (const { value } of this.channels) value.subscribe(type, name, this);
    if (!this.canReachServer()) this.report(resource);
    return resource;
  }

  /**
   * Forgets the resources that nobody watches any more. Called when everything else is done, because a
   * resource let go and taken up again in one go must keep its value: the server would not send it again.
   */
  sweep(): void {
    for (const resource of this.unwatched) {
      if (!resource.isWatched) this.removeResource(resource);
    }
    this.unwatched.clear();
  }

  /** Lets go of every server. */
  close(): void {
    this.closeChannelsAfter(-1);
    this.expiries.clear();
    this.waitReports.clear();
    for (const resource of this.allResources()) resource.close();
    this.resources.clear();
  }

  /** What is waited for, as sentences. */
  *waits(): IterableIterator<string> {
    for (const resource of this.allResources()) {
      const text = this.describeWait(resource);
      if (text !== undefined) yield text;
    }
  }

  cached(typeUrl: string, name: string): Accepted<unknown> | undefined {
    return this.resource(typeUrl, name)?.accepted;
  }

  onServerResponded(channel: ServerChannel): void {
    const index = this.channels.findIndex(({ value }) => value === channel);
    const last = this.channels.at(-1)?.value;
    this.closeChannelsAfter(index);
    if (index >= 0 && last !== undefined && last !== channel) {
      this.publishFallback('back', last.server, channel.server);
    }
    if (!this.toldUnreachable || channel.isSaved) return;
    this.toldUnreachable = false;
    for (const resource of this.allResources()) resource.apply({ kind: 'reachable' });
  }

  onServerFailed(): void {
    if (this.canReachServer()) return;
    for (const resource of this.allResources()) this.report(resource);
  }

  onResources(channel: ServerChannel, { read, type, version }: ResourcesUpdate): void {
    const ofType = this.resources.get(type.typeUrl);
    if (ofType === undefined) return;
    if (channel.isSaved) {
      this.applySaved(channel, ofType, { read, type, version });
      return;
    }
    for (const [name, outcome] of read.outcomes) {
      const resource = ofType.get(name);
      if (resource !== undefined) this.applyOutcome(channel, resource, outcome, version);
    }
    for (const name of read.removed) {
      const resource = ofType.get(name);
      if (resource !== undefined) this.applyDeletion(channel, resource, version, true);
    }
    if (!read.isComplete) return;
    for (const resource of ofType.values()) {
      if (!read.outcomes.has(resource.name)) {
        this.applyDeletion(channel, resource, version, false);
      }
    }
  }

  onResourceTimeout(
    channel: ServerChannel,
    typeUrl: string,
    name: string,
    serverAnswered: boolean,
  ): void {
    // What was saved is used, or is said not to be there, when it has been read.
    if (channel.isSaved || (!serverAnswered && this.turnToSaved())) return;
    const resource = this.resource(typeUrl, name);
    if (resource === undefined) return;
    const event = timeoutEvent(resource.id, serverAnswered, this.originOf(channel));
    resource.apply(event, channel.server.serverUri);
  }

  private describeWait({ state, type, name, id }: WatchedResource): string | undefined {
    if (state.kind !== 'requested') return undefined;
    const waitedS = ((this.options.clock.now() - state.sinceMs) / 1000).toFixed(1);
    const servers = this.channels.map(({ value }) => value.describeWait(type, name));
    return `${describeResource(id)}: waiting for ${waitedS} s: ${servers.join('; ')}`;
  }

  private publishFallback(
    direction: FallbackEvent['direction'],
    { serverUri: fromServerUri }: ServerConfig,
    { serverUri: toServerUri }: ServerConfig,
  ): void {
    if (!diagnostics.fallback.hasSubscribers) return;
    const { nodeId, name: authority } = this.options;
    diagnostics.fallback.publish({ nodeId, authority, direction, fromServerUri, toServerUri });
  }

  private resource(typeUrl: string, name: string): WatchedResource | undefined {
    return this.resources.get(typeUrl)?.get(name);
  }

  private addResource(type: ResourceType<unknown>, name: string): WatchedResource {
    const { clock, queue, nodeId } = this.options;
    let ofType = this.resources.get(type.typeUrl);
    if (ofType === undefined) {
      ofType = new Map();
      this.resources.set(type.typeUrl, ofType);
    }
    const onUnwatched = (unwatched: WatchedResource) => this.unwatched.add(unwatched);
    const onAnswered = (answered: WatchedResource) => this.waitReports.end(answered);
    const resource = new WatchedResource({
      ...{ type, name, queue, clock, nodeId },
      ...{ onAnswered, onUnwatched },
    });
    ofType.set(name, resource);
    this.waitReports.begin(resource);
    return resource;
  }

  private removeResource(resource: WatchedResource): void {
    const { name, state } = resource;
    const { typeUrl } = resource.type;
    const ofType = this.resources.get(typeUrl);
    ofType?.delete(name);
    if (ofType?.size === 0) this.resources.delete(typeUrl);
    this.expiries.cancel(typeUrl, name);
    this.waitReports.end(resource);
    resource.close();
    for (const { value } of this.channels) value.unsubscribe(resource.type, name);
    if (state.kind === 'accepted' && state.deletionIgnored) {
      this.options.logger.info(
        () => `${describeResource(resource.id)}: no longer watched after its removal`,
      );
    }
  }

  /**
   * Sees to it that a server is asked that is not known to be down, turning to the next one if there is
   * reason to (gRFC A71): something has not been heard of at all, or has expired since. What is cached can
   * wait, and so can what is known to be missing.
   * @returns whether there is such a server.
   */
  private canReachServer(): boolean {
    if (this.channels.length === 0) this.openNextChannel();
    while (this.channels.at(-1)?.value.failure !== undefined) {
      const next = this.options.servers[this.channels.length];
      if (next === undefined) return false;
      // What was saved may be older than what is cached, whatever the reason to turn to it.
      const needsReason = !this.options.fallbackOnReachabilityOnly || next.snapshot !== undefined;
      if (needsReason && !this.lacksResource()) return false;
      this.openNextChannel();
    }
    return true;
  }

  /**
   * A server that is connected and silent has not failed, but is no better, if there is something saved.
   * @returns whether that is so.
   */
  private turnToSaved(): boolean {
    if (this.channels.at(-1)?.value.isSaved === true) return true;
    const next = this.options.servers[this.channels.length];
    if (next?.snapshot === undefined) return false;
    this.openNextChannel();
    return true;
  }

  private lacksResource(): boolean {
    for (const resource of this.allResources()) {
      const { state } = resource;
      if (state.kind === 'requested') return true;
      if (state.kind === 'failed' && state.failure.isExpiry === true) return true;
    }
    return false;
  }

  private openNextChannel(): void {
    const server = this.options.servers[this.channels.length];
    if (server === undefined) throw new Error('an authority has run out of servers');
    // What will be cached from now on is not what these servers sent last.
    for (const { value } of this.channels) value.forgetVersions();
    const before = this.channels.at(-1)?.value.server;
    if (before !== undefined) this.publishFallback('down', before, server);
    const hold = this.options.acquireChannel(server);
    this.channels.push(hold);
    hold.value.attach(this);
    for (const { type, name } of this.allResources()) hold.value.subscribe(type, name, this);
  }

  private closeChannelsAfter(index: number): void {
    for (const hold of this.channels.splice(index + 1)) {
      for (const { type, name } of this.allResources()) {
        hold.value.unsubscribe(type, name);
      }
      hold.value.detach(this);
      hold.release();
    }
  }

  /** Tells a resource's watchers that every server tried is down, and why each of them. */
  private report(resource: WatchedResource): void {
    this.toldUnreachable = true;
    const causes: string[] = [];
    for (const { value } of this.channels) {
      const cause = value.failure ?? this.whyUnused(value, resource);
      if (cause !== undefined) causes.push(cause);
    }
    resource.apply(unreachableEvent(resource.id, causes));
  }

  /** What is wrong with a channel that has not failed. */
  private whyUnused(
    { isSaved, description }: ServerChannel,
    resource: WatchedResource,
  ): string | undefined {
    if (isSaved) return `${description} ${resource.accepted ? 'is in use' : 'does not have it'}`;
    return this.channels.at(-1)?.value.isSaved ? `${description} has not answered` : undefined;
  }

  /**
   * Takes from the snapshot of an earlier run what there is no value of. What the snapshot does not have may
   * exist, so whoever waits for it is told why it cannot be had instead.
   */
  private applySaved(
    channel: ServerChannel,
    ofType: ReadonlyMap<string, WatchedResource>,
    { read, version }: ResourcesUpdate,
  ): void {
    for (const [name, outcome] of read.outcomes) {
      const resource = ofType.get(name);
      if (resource === undefined || resource.accepted !== undefined) continue;
      if (outcome.kind === 'accepted') this.applyOutcome(channel, resource, outcome, version);
    }
    for (const resource of ofType.values()) this.report(resource);
  }

  private applyOutcome(
    channel: ServerChannel,
    resource: WatchedResource,
    outcome: ResourceOutcome,
    version: string,
  ): void {
    const { id, state } = resource;
    if (outcome.kind === 'lost') return;
    if (outcome.kind === 'renewed') {
      // A heartbeat cannot end a time to live, only set it anew.
      if (outcome.ttlMs !== undefined) this.keepFor(channel, resource, outcome.ttlMs);
      return;
    }
    if (state.kind === 'accepted' && state.deletionIgnored) {
      this.options.logger.info(() => `${describeResource(id)}: sent again after its removal`);
    }
    const event = outcomeEvent(id, outcome, version, this.originOf(channel));
    resource.apply(event, channel.server.serverUri);
    if (outcome.kind === 'accepted') this.keepFor(channel, resource, outcome.ttlMs);
  }

  /** Has a resource forgotten after a while, unless this is called again for it. */
  private keepFor(channel: ServerChannel, resource: WatchedResource, ttlMs?: number): void {
    const { name, id } = resource;
    const { typeUrl } = resource.type;
    this.expiries.cancel(typeUrl, name);
    if (ttlMs === undefined) return;
    const onExpired = () => {
      if (resource.accepted === undefined) return;
      resource.apply(expiryEvent(id, ttlMs, this.originOf(channel)), channel.server.serverUri);
      // The server may have fallen silent because it cannot be reached.
      this.onServerFailed();
    };
    this.expiries.start(typeUrl, name, ttlMs, () => this.options.queue.run(onExpired));
  }

  /** @param isExplicit Whether the server says so, instead of leaving the resource out. */
  private applyDeletion(
    channel: ServerChannel,
    resource: WatchedResource,
    version: string,
    isExplicit: boolean,
  ): void {
    const { id, state, type } = resource;
    const handling = removalHandling(channel.policy, !type.allResourcesRequiredInSotw);
    const isFirst = state.kind === 'accepted' && !state.deletionIgnored;
    if (isFirst && handling === 'ignore') {
      const { description } = channel;
      // gRFC A53 wants a warning. grpc-js has no such level, and shows nothing below an error by default.
      this.options.logger.error(
        () => `${describeResource(id)}: removed by ${description}, kept (ignore_resource_deletion)`,
      );
    }
    const deletion = { version, isExplicit, handling };
    const event = deletionEvent(id, deletion, this.originOf(channel));
    resource.apply(event, channel.server.serverUri);
  }

  private originOf({ description, policy }: ServerChannel): EventOrigin {
    return { server: description, policy, nowMs: this.options.clock.now() };
  }
}
