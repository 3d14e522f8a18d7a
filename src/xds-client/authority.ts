import type { Clock } from '../util/clock';
import type { Logger } from '../util/logger';
import type { SerialQueue } from '../util/serial-queue';
import type { ResourceOutcome } from './ads-response';
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
import { reportSkipped } from './report-skipped';
import { ResourceTimers } from './resource-timers';
import type { ResourceType } from './resource-type';
import { removalHandling } from './server-policy';
import type { ChannelListener, ResourcesUpdate, ServerChannel } from './server-channel';
import { ServerChoice, type ServerChoiceOptions } from './server-choice';
import { WaitReports } from './wait-reports';
import { WatchedResource, type Watch } from './watched-resource';
import { describeResource } from './xds-errors';

/** What an authority is made of. */
export interface AuthorityOptions extends ServerChoiceOptions {
  readonly queue: SerialQueue;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The resources of one authority (gRFC A47), whichever server they are had from. */
export class Authority implements ChannelListener {
  private readonly resources = new Map<string, Map<string, WatchedResource>>();
  private readonly servers: ServerChoice;
  /** Resources whose last watch has ended since the last `sweep`. */
  private readonly unwatched = new Set<WatchedResource>();
  /** Of resources that must be forgotten unless they are renewed. */
  private readonly expiries: ResourceTimers;
  private readonly waitReports: WaitReports;
  /** Watchers have been told that no server can be reached. */
  private toldUnreachable = false;

  constructor(private readonly options: AuthorityOptions) {
    const { clock, queue, logger, nodeId } = options;
    this.servers = new ServerChoice(options, this, () => this.allResources());
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
    this.waitReports.clear();
    for (const resource of this.allResources()) resource.close();
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

  onServerResponded(channel: ServerChannel): void {
    this.servers.settleOn(channel);
    if (!this.toldUnreachable || channel.isSaved) return;
    this.toldUnreachable = false;
    for (const resource of this.allResources()) resource.apply({ kind: 'reachable' });
  }

  onServerFailed(): void {
    if (this.servers.canReach()) return;
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
    if (channel.isSaved || (!serverAnswered && this.servers.turnToSaved())) return;
    const resource = this.resource(typeUrl, name);
    if (resource === undefined) return;
    const event = timeoutEvent(resource.id, serverAnswered, this.originOf(channel));
    resource.apply(event, channel.server.serverUri);
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
    this.servers.unsubscribe(resource.type, name);
    if (state.kind === 'accepted' && state.deletionIgnored) {
      this.options.logger.info(
        () => `${describeResource(resource.id)}: no longer watched after its removal`,
      );
    }
  }

  /** Tells a resource's watchers that every server tried is down, and why each of them. */
  private report(resource: WatchedResource): void {
    this.toldUnreachable = true;
    resource.apply(unreachableEvent(resource.id, this.servers.failuresFor(resource)));
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
    if (outcome.kind === 'accepted') reportSkipped(resource, outcome.accepted, this.options.logger);
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
