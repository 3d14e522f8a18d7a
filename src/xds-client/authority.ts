import type { Clock } from '../util/clock';
import type { SerialQueue } from '../util/serial-queue';
import type { LongWaits } from './long-waits';
import { unreachableEvent } from './resource-events';
import type { ResourceType } from './resource-type';
import type { ServerChannel, ServerObserver } from './server-channel';
import { ServerChoice, type ServerChoiceOptions } from './server-choice';
import {
  WatchedResource,
  type ResourceOwner,
  type Watch,
  type WatchedResourceOptions,
} from './watched-resource';
import { describeResource, inSeconds } from './xds-errors';

/** Constructor options of an authority. */
export interface AuthorityOptions extends ServerChoiceOptions {
  readonly queue: SerialQueue;
  readonly clock: Clock;
  readonly longWaits: LongWaits;
  /** Called when the last watch of a resource has ended, so that `sweep` is due. */
  readonly onUnwatched: () => void;
}

/** The resources of one authority (gRFC A47) that one target watches, whichever server they are from. */
export class Authority implements ServerObserver, ResourceOwner {
  /** The target of the client; `undefined` if it has none. */
  readonly target: string | undefined;
  private readonly resources = new Map<string, Map<string, WatchedResource>>();
  private readonly resourceOptions: WatchedResourceOptions;
  private readonly servers: ServerChoice;
  /** Resources whose last watch has ended since the last `sweep`. */
  private readonly unwatched = new Set<WatchedResource>();
  /** Watchers have been notified that no server can be reached. */
  private isUnreachable = false;

  constructor(private readonly options: AuthorityOptions) {
    const { queue, clock, nodeId, target } = options;
    this.target = target;
    this.resourceOptions = { owner: this, queue, clock, nodeId, target };
    this.servers = new ServerChoice(options, this, () => this.allResources());
  }

  /** Whether no resource is watched. */
  get isUnused(): boolean {
    return this.resources.size === 0;
  }

  /** The channels of the servers in use. */
  get channels(): readonly ServerChannel[] {
    return this.servers.channels;
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
    this.servers.subscribe(resource);
    if (!this.servers.canReach()) this.report(resource);
    return resource;
  }

  /**
   * Releases the resources that are no longer watched. Called when everything else is done, because a resource that is
   * released and watched again in one go must keep its value: the server would not send it again.
   */
  sweep(): void {
    for (const resource of this.unwatched) {
      if (!resource.isWatched) this.removeResource(resource);
    }
    this.unwatched.clear();
  }

  /** Releases every resource and every server. */
  close(): void {
    for (const resource of this.allResources()) this.releaseResource(resource);
    this.servers.close();
    this.resources.clear();
  }

  /** Every resource that no server has sent, rejected or been found not to have yet. */
  *pendingResources(): IterableIterator<WatchedResource> {
    for (const resource of this.allResources()) {
      if (resource.state.kind === 'requested') yield resource;
    }
  }

  /** Describes since when a resource has been pending and what each server is doing about it. */
  describeWait(resource: WatchedResource): string {
    const servers = this.servers.describeWaits(resource);
    const waited = inSeconds(resource.pendingMs);
    return `${describeResource(resource.id)}: waiting for ${waited}: ${servers.join('; ')}`;
  }

  onServerStateChanged(channel: ServerChannel): void {
    if (channel.failure !== undefined) {
      this.fallBack();
      return;
    }
    this.servers.settleOn(channel);
    if (!this.isUnreachable) return;
    this.isUnreachable = false;
    for (const resource of this.allResources()) resource.apply({ kind: 'reachable' });
  }

  onAnswered(resource: WatchedResource): void {
    this.options.longWaits.end(resource);
  }

  onUnwatched(resource: WatchedResource): void {
    this.unwatched.add(resource);
    this.options.onUnwatched();
  }

  /** The server may have stopped renewing the resource because it is unreachable. */
  onExpired(): void {
    this.fallBack();
  }

  private fallBack(): void {
    if (this.servers.canReach()) return;
    for (const resource of this.allResources()) this.report(resource);
  }

  private addResource(type: ResourceType<unknown>, name: string): WatchedResource {
    let ofType = this.resources.get(type.typeUrl);
    if (ofType === undefined) {
      ofType = new Map();
      this.resources.set(type.typeUrl, ofType);
    }
    const resource = new WatchedResource(type, name, this.resourceOptions);
    ofType.set(name, resource);
    this.options.longWaits.begin(resource, this);
    return resource;
  }

  private removeResource(resource: WatchedResource): void {
    const { name } = resource;
    const { typeUrl } = resource.type;
    const ofType = this.resources.get(typeUrl);
    ofType?.delete(name);
    if (ofType?.size === 0) this.resources.delete(typeUrl);
    this.releaseResource(resource);
  }

  private releaseResource(resource: WatchedResource): void {
    this.options.longWaits.end(resource);
    resource.release();
  }

  /** Notifies a resource's watchers that every server in use is down, and why each of them. */
  private report(resource: WatchedResource): void {
    this.isUnreachable = true;
    resource.apply(unreachableEvent(resource.id, this.servers.failures()));
  }
}
