import type { Clock } from '../util/clock';
import type { SerialQueue } from '../util/serial-queue';
import type { ResourceKey } from './ads/ads-stream-handler';
import type { Channel, ChannelListener } from './channel-listener';
import { expiryEvent, unreachableEvent, type EventOrigin } from './resource-events';
import type { Accepted, ResourceEvent, ResourceState } from './resource-state';
import { ResourceTimers } from './ads/resource-waits';
import type { ResourceType } from './resource-type';
import type { ServerChannel } from './server-channel';
import { ServerChoice, type ServerChoiceOptions } from './server-choice';
import type { WaitReports } from './wait-reports';
import { WatchedResource, type Watch } from './watched-resource';
import { describeResource } from './xds-errors';

/** What an authority is made of. */
export interface AuthorityOptions extends ServerChoiceOptions {
  readonly queue: SerialQueue;
  readonly clock: Clock;
  readonly waitReports: WaitReports;
  /** Called when the last watch of a resource has ended, so that `sweep` is due. */
  readonly onUnwatched: () => void;
}

/** The resources of one authority (gRFC A47) that one target watches, whichever server they are had from. */
export class Authority implements ChannelListener {
  private readonly resources = new Map<string, Map<string, WatchedResource>>();
  private readonly servers: ServerChoice;
  /** Resources whose last watch has ended since the last `sweep`. */
  private readonly unwatched = new Set<WatchedResource>();
  /** Of resources that must be forgotten unless they are renewed. */
  private readonly expiries: ResourceTimers;
  /** Watchers have been told that no server can be reached. */
  private toldUnreachable = false;

  constructor(private readonly options: AuthorityOptions) {
    this.servers = new ServerChoice(options, this, () => this.allResources());
    this.expiries = new ResourceTimers(options.clock);
  }

  /** Whether there is nothing to watch and nothing to keep. */
  get isUnused(): boolean {
    return this.resources.size === 0;
  }

  /** The servers that are asked at the moment. */
  get askedServers(): readonly ServerChannel[] {
    return this.servers.asked;
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
    this.servers.subscribe(type, name);
    if (!this.servers.canReach()) this.report(resource);
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
    this.servers.close();
    this.expiries.clear();
    for (const resource of this.allResources()) {
      this.options.waitReports.end(resource);
      resource.close();
    }
    this.resources.clear();
  }

  /** Every resource that no server has sent, rejected or concluded to be missing yet. */
  *pendingResources(): IterableIterator<WatchedResource> {
    for (const resource of this.allResources()) {
      if (resource.state.kind === 'requested') yield resource;
    }
  }

  /** Describes since when a resource has been pending and what each server is doing about it. */
  describeWait(resource: WatchedResource): string {
    const waitedS = (resource.pendingMs / 1000).toFixed(1);
    const servers = this.servers.describeWaits(resource);
    return `${describeResource(resource.id)}: waiting for ${waitedS} s: ${servers.join('; ')}`;
  }

  cached(typeUrl: string, name: string): Accepted<unknown> | undefined {
    return this.resource(typeUrl, name)?.accepted;
  }

  onServerResponded(channel: Channel): void {
    this.servers.settleOn(channel);
    if (!this.toldUnreachable) return;
    this.toldUnreachable = false;
    for (const resource of this.allResources()) resource.apply({ kind: 'reachable' });
  }

  onServerFailed(): void {
    if (this.servers.canReach()) return;
    for (const resource of this.allResources()) this.report(resource);
  }

  onResource(
    channel: Channel,
    { typeUrl, name }: ResourceKey,
    event: ResourceEvent<unknown>,
    ttlMs: number | undefined,
  ): void {
    const resource = this.resource(typeUrl, name);
    if (resource === undefined) return;
    resource.apply(event, channel.server.serverUri);
    if (event.kind === 'accepted') this.keepFor(channel, resource, ttlMs);
  }

  onRenewed(channel: Channel, { typeUrl, name }: ResourceKey, ttlMs: number): void {
    const resource = this.resource(typeUrl, name);
    if (resource !== undefined) this.keepFor(channel, resource, ttlMs);
  }

  /** Resources that servers before the one in use had sent to other targets are not mixed with its own. */
  onShared(
    channel: Channel,
    { typeUrl, name }: ResourceKey,
    state: ResourceState<unknown>,
    ttlMs: number | undefined,
  ): void {
    const resource = this.resource(typeUrl, name);
    if (resource === undefined) return;
    if (!this.servers.isInUse(channel) || state.kind === 'requested') return;
    resource.apply({ kind: 'shared', state }, channel.server.serverUri);
    if (state.kind === 'accepted') this.keepFor(channel, resource, ttlMs);
  }

  onResourceTimeout(
    channel: Channel,
    { typeUrl, name }: ResourceKey,
    event: ResourceEvent<unknown>,
  ): void {
    this.resource(typeUrl, name)?.apply(event, channel.server.serverUri);
  }

  private resource(typeUrl: string, name: string): WatchedResource | undefined {
    return this.resources.get(typeUrl)?.get(name);
  }

  private addResource(type: ResourceType<unknown>, name: string): WatchedResource {
    const { clock, queue, nodeId, target, waitReports, onUnwatched: onEmptied } = this.options;
    let ofType = this.resources.get(type.typeUrl);
    if (ofType === undefined) {
      ofType = new Map();
      this.resources.set(type.typeUrl, ofType);
    }
    const onUnwatched = (unwatched: WatchedResource) => {
      this.unwatched.add(unwatched);
      onEmptied();
    };
    const onAnswered = (answered: WatchedResource) => waitReports.end(answered);
    const options = { type, name, queue, clock, nodeId, target, onAnswered, onUnwatched };
    const resource = new WatchedResource(options);
    ofType.set(name, resource);
    waitReports.begin({ resource, target, describe: () => this.describeWait(resource) });
    return resource;
  }

  private removeResource(resource: WatchedResource): void {
    const { name } = resource;
    const { typeUrl } = resource.type;
    const ofType = this.resources.get(typeUrl);
    ofType?.delete(name);
    if (ofType?.size === 0) this.resources.delete(typeUrl);
    this.expiries.cancel(typeUrl, name);
    this.options.waitReports.end(resource);
    resource.close();
    this.servers.unsubscribe(resource.type, name);
  }

  /** Tells a resource's watchers that every server tried is down, and why each of them. */
  private report(resource: WatchedResource): void {
    this.toldUnreachable = true;
    resource.apply(unreachableEvent(resource.id, this.servers.failures()));
  }

  /** Has a resource forgotten after a while, unless this is called again for it. */
  private keepFor(channel: Channel, resource: WatchedResource, ttlMs?: number): void {
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

  private originOf({ description, policy }: Channel): EventOrigin {
    return { server: description, policy, nowMs: this.options.clock.now() };
  }
}
