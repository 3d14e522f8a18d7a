import type { ServerConfig } from '../bootstrap/bootstrap';
import { inSeconds } from '../util/duration';
import type { Handle } from '../util/handle';
import { toIso } from '../util/since';
import { diagnostics, type FallbackEvent } from './diagnostics';
import type { ManagementServers } from './management-servers';
import type { ResourceState } from './resource-state';
import type { ResourceType } from './resource-type';
import { WatchedResource, type ResourceOwner, type Watch } from './watched-resource';
import type { ServerObserver, XdsChannel } from './xds-channel';
import { describeResource, type ServerFailure } from './xds-errors';

/** The part of the bootstrap about one authority. */
export interface AuthoritySource {
  /** The servers in order of priority, at least one. */
  readonly servers: readonly ServerConfig[];
  /** Whether a server that is unreachable is replaced although no resource is missing (gRFC A95). */
  readonly fallbackOnReachabilityOnly: boolean;
}

/** A server in use. */
interface UsedServer {
  readonly channel: XdsChannel;
  readonly reference: Handle;
  readonly observation: Handle;
}

/**
 * The resources of one authority (gRFC A47) that one target watches, and the servers from which it has them (gRFC A71): the
 * first ones of the list, normally one, and one more each time the last of them fails while a resource is missing. Every
 * resource is subscribed to at all of them. The first response of one of them ends the use of those after it.
 */
export class Authority implements ServerObserver, ResourceOwner {
  private readonly used: UsedServer[] = [];
  private readonly resources = new Map<string, Map<string, WatchedResource>>();
  /** Resources without a first result, which is a value, a rejection or a timeout: the oldest first. */
  private readonly pending = new Set<WatchedResource>();
  /** Resources whose last watch has ended since the last `sweep`. */
  private readonly unwatched = new Set<WatchedResource>();
  /** Watchers have been notified that no server can be reached. */
  private isUnreachable = false;

  /**
   * @param name `undefined` for names in the old style.
   * @param target `undefined` if the client has none.
   */
  constructor(
    private readonly name: string | undefined,
    private readonly source: AuthoritySource,
    readonly target: string | undefined,
    readonly context: ManagementServers,
  ) {}

  /** The channels of the servers in use. */
  get channels(): readonly XdsChannel[] {
    return this.used.map(({ channel }) => channel);
  }

  /** Whether a resource is watched. */
  has(typeUrl: string, name: string): boolean {
    return this.resources.get(typeUrl)?.has(name) === true;
  }

  /** Every resource watched. */
  *allResources(): IterableIterator<WatchedResource> {
    for (const ofType of this.resources.values()) yield* ofType.values();
  }

  /** Adds a watch of a resource, which is requested if there is none yet. */
  watch(type: ResourceType<unknown>, name: string, watch: Watch): WatchedResource {
    const known = this.resources.get(type.typeUrl)?.get(name);
    if (known !== undefined) {
      known.addWatch(watch);
      return known;
    }
    const resource = this.addResource(type, name);
    resource.addWatch(watch);
    // The last one supplies it: those before are down.
    const last = this.used.length - 1;
    for (const [index, { channel }] of this.used.entries()) {
      resource.subscribe(channel, index === last);
    }
    if (!this.findUsableServer()) this.reportUnreachable([resource]);
    return resource;
  }

  /**
   * Releases the resources that are no longer watched. Called when everything else is done, because a resource that is
   * released and watched again in one go must keep its value: the server would not send it again.
   */
  sweep(): void {
    for (const resource of this.unwatched) {
      if (resource.isWatched) continue;
      const { typeUrl } = resource.type;
      const ofType = this.resources.get(typeUrl);
      ofType?.delete(resource.name);
      if (ofType?.size === 0) this.resources.delete(typeUrl);
      this.release(resource);
    }
    this.unwatched.clear();
    if (this.resources.size > 0) return;
    this.releaseAfter(0);
    this.isUnreachable = false;
  }

  /** Releases every resource and every server. */
  close(): void {
    for (const resource of this.allResources()) this.release(resource);
    this.releaseAfter(0);
    this.resources.clear();
  }

  /** Resources without a first result, which is a value, a rejection or a timeout: the oldest first. */
  get pendingResources(): ReadonlySet<WatchedResource> {
    return this.pending;
  }

  /** Why each server in use that has failed cannot be used. */
  get serverFailures(): readonly ServerFailure[] {
    return this.used.flatMap(({ channel }) => channel.failure ?? []);
  }

  /** Describes since when a resource has been pending and what each server is doing about it. */
  describeWait({ id, type, name, pendingSinceMs: sinceMs }: WatchedResource): string {
    const servers = this.used.map(({ channel }) => channel.describeWait(type, name));
    const waited = inSeconds(sinceMs === undefined ? 0 : this.context.clock.now() - sinceMs);
    const since = sinceMs === undefined ? '' : ` (waiting since ${toIso(sinceMs)})`;
    return `${describeResource(id)}: waiting for ${waited}: ${servers.join('; ')}${since}`;
  }

  /** A server that has answered ends the use of those after it. */
  onServerStateChanged(channel: XdsChannel): void {
    if (channel.failure !== undefined) {
      this.onServerLost();
      return;
    }
    const index = this.used.findIndex((used) => used.channel === channel);
    const last = this.used.at(-1)?.channel;
    this.releaseAfter(index + 1);
    if (index >= 0 && last !== undefined && last !== channel) {
      this.publishFallback('back', last.server, channel.server);
    }
    if (!this.isUnreachable) return;
    this.isUnreachable = false;
    for (const resource of this.allResources()) resource.onReachable();
  }

  onAnswered(resource: WatchedResource): void {
    this.pending.delete(resource);
    this.context.longWaits.end(resource);
  }

  onUnwatched(resource: WatchedResource): void {
    this.unwatched.add(resource);
    this.context.sweepLater(this);
  }

  /** The server may have stopped renewing the resource because it is unreachable. */
  onExpired(): void {
    this.onServerLost();
  }

  private onServerLost(): void {
    if (this.findUsableServer()) return;
    this.reportUnreachable(this.allResources());
  }

  private addResource(type: ResourceType<unknown>, name: string): WatchedResource {
    const resource = new WatchedResource(type, name, this);
    const ofType = this.resources.get(type.typeUrl) ?? new Map<string, WatchedResource>();
    this.resources.set(type.typeUrl, ofType.set(name, resource));
    this.pending.add(resource);
    this.context.longWaits.begin(resource);
    return resource;
  }

  private release(resource: WatchedResource): void {
    this.onAnswered(resource);
    resource.release();
  }

  /** Notifies the watchers of resources that every server in use is down, and why each of them. */
  private reportUnreachable(resources: Iterable<WatchedResource>): void {
    this.isUnreachable = true;
    const { serverFailures } = this;
    for (const resource of resources) resource.onUnreachable(serverFailures);
  }

  /**
   * Uses the next server if the last one is down and there is reason to: a resource has not been received, was rejected
   * without an earlier value, or has expired since. Cached resources, and those known to be missing, are no reason.
   *
   * @returns whether a server is in use that is not known to be down.
   */
  private findUsableServer(): boolean {
    const { servers, fallbackOnReachabilityOnly } = this.source;
    if (this.used.length === 0) this.useNext();
    while (this.used.at(-1)?.channel.failure !== undefined) {
      if (this.used.length === servers.length) return false;
      if (!fallbackOnReachabilityOnly && !this.lacksResource()) return false;
      this.useNext();
    }
    return true;
  }

  private lacksResource(): boolean {
    for (const { state } of this.allResources()) if (isUncached(state)) return true;
    return false;
  }

  private useNext(): void {
    const server = this.source.servers[this.used.length];
    if (server === undefined) throw new Error('an authority has run out of servers');
    // What is cached from now on is not what these servers sent last.
    for (const { channel } of this.used) channel.forgetVersions();
    const before = this.used.at(-1)?.channel.server;
    if (before !== undefined) this.publishFallback('down', before, server);
    const reference = this.context.acquire(server);
    const channel = reference.value;
    this.used.push({ channel, reference, observation: channel.observe(this) });
    for (const resource of this.allResources()) resource.subscribe(channel, true);
  }

  /** Ends the use of all servers but the first `count`. */
  private releaseAfter(count: number): void {
    const released = this.used.splice(count);
    if (released.length === 0) return;
    for (const resource of this.allResources()) resource.unsubscribeAfter(count);
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
    const { target, name: authority } = this;
    const nodeId = this.context.node.id;
    const servers = { direction, fromServerUri, toServerUri };
    diagnostics.fallback.publish({ nodeId, target, authority, ...servers });
  }
}

/** Whether there is neither a value nor the knowledge that there is none (gRFC A71). */
function isUncached(state: ResourceState<unknown>): boolean {
  if (state.kind !== 'failed') return state.kind === 'requested';
  const { isExpiry, error } = state.failure;
  return isExpiry === true || error.kind !== 'does-not-exist';
}
