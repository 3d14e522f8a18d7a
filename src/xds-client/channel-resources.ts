import type { Clock } from '../util/clock';
import type { Logger } from '../util/logger';
import type { ReadResources, ResourceOutcome } from './ads/response-reader';
import type { ResourceKey } from './ads/ads-stream-handler';
import type { Channel, ChannelListener } from './channel-listener';
import { ChannelResource } from './channel-resource';
import { ElementCounts } from './element-counts';
import { reportSkipped } from './report-skipped';
import { deletionEvent, outcomeEvent, timeoutEvent, type EventOrigin } from './resource-events';
import type { ResourceEvent } from './resource-state';
import type { ResourceType } from './resource-type';
import { removalHandling } from './server-policy';
import { describeResource } from './xds-errors';

/** What the resources of a channel need. */
export interface ChannelResourcesOptions {
  readonly channel: Channel;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A response, and what was subscribed to when it arrived. */
interface ReadResponse {
  readonly version: string;
  readonly read: ReadResources;
  /** See `ChannelResources.latestPosition`. */
  readonly latestPosition: number;
}

interface TypeResources {
  readonly type: ResourceType<unknown>;
  readonly byName: Map<string, ChannelResource>;
}

const NO_RESOURCES: ReadonlyMap<string, ChannelResource> = new Map();

/** A valid resource, or one that is not: everything but a heartbeat. */
type Judgement = Exclude<ResourceOutcome, { readonly kind: 'renewed' | 'lost' }>;

/**
 * The resources subscribed to at one management server, by type and name, and the targets that watch each of them.
 * They survive streams. A response is turned into events here, once, and each event goes to the targets of its
 * resource only.
 */
export class ChannelResources {
  /** The elements of all resources here. */
  readonly elements = new ElementCounts();
  private readonly types = new Map<string, TypeResources>();
  private latest = 0;

  constructor(private readonly options: ChannelResourcesOptions) {}

  /**
   * Subscribes a target to a resource.
   * @returns the resource if another target is subscribed to it already.
   */
  subscribe(
    type: ResourceType<unknown>,
    name: string,
    listener: ChannelListener,
  ): ChannelResource | undefined {
    let ofType = this.types.get(type.typeUrl);
    if (ofType === undefined) {
      ofType = { type, byName: new Map() };
      this.types.set(type.typeUrl, ofType);
    }
    const known = ofType.byName.get(name);
    if (known !== undefined) {
      known.listeners.add(listener);
      return known;
    }
    const { clock } = this.options;
    const { elements } = this;
    const position = ++this.latest;
    const origin = () => this.origin();
    const resource = new ChannelResource({ type, name, position, clock, elements, origin });
    resource.listeners.add(listener);
    ofType.byName.set(name, resource);
    return undefined;
  }

  /** The position of the resource subscribed to last. See `ChannelResource.position`. */
  get latestPosition(): number {
    return this.latest;
  }

  /**
   * Ends a target's subscription. The type stays known, because a response of it may be on its way.
   * @returns whether it was the last subscription to the resource.
   */
  unsubscribe(typeUrl: string, name: string, listener: ChannelListener): boolean {
    const resource = this.get(typeUrl, name);
    if (resource === undefined) return false;
    resource.listeners.delete(listener);
    if (resource.listeners.size > 0) return false;
    this.types.get(typeUrl)?.byName.delete(name);
    const { state, id } = resource;
    resource.release();
    if (state.kind === 'accepted' && state.deletionIgnored) {
      this.options.logger.info(
        () => `${describeResource(id)}: no longer watched after its removal`,
      );
    }
    return true;
  }

  /** A resource subscribed to. */
  get(typeUrl: string, name: string): ChannelResource | undefined {
    return this.types.get(typeUrl)?.byName.get(name);
  }

  /** A type that there is or was a subscription of. */
  type(typeUrl: string): ResourceType<unknown> | undefined {
    return this.types.get(typeUrl)?.type;
  }

  /** The resources subscribed to of a type, in the order they were added. */
  ofType(typeUrl: string): ReadonlyMap<string, ChannelResource> {
    return this.types.get(typeUrl)?.byName ?? NO_RESOURCES;
  }

  /** The types subscribed to, as far as they pass the filter. */
  typeUrls(filter: (type: ResourceType<unknown>) => boolean): string[] {
    const typeUrls: string[] = [];
    for (const [typeUrl, { type, byName }] of this.types) {
      if (byName.size > 0 && filter(type)) typeUrls.push(typeUrl);
    }
    return typeUrls;
  }

  /** Applies a response. Resources subscribed to since it arrived are not removed by it. */
  onResponse(typeUrl: string, { version, read, latestPosition }: ReadResponse): void {
    const { byName } = this.types.get(typeUrl) ?? {};
    if (byName === undefined) return;
    for (const [name, outcome] of read.outcomes) {
      const resource = byName.get(name);
      if (resource !== undefined) this.applyOutcome(resource, outcome, version);
    }
    for (const name of read.removed) {
      const resource = byName.get(name);
      if (resource === undefined || resource.position > latestPosition) continue;
      this.applyDeletion(resource, version, true);
    }
    if (!read.isComplete) return;
    for (const resource of byName.values()) {
      if (resource.position > latestPosition || read.outcomes.has(resource.name)) continue;
      this.applyDeletion(resource, version, false);
    }
  }

  /** Applies that a resource was not sent in time. */
  onTimeout(typeUrl: string, name: string, serverAnswered: boolean): void {
    const resource = this.get(typeUrl, name);
    if (resource === undefined) return;
    const event = timeoutEvent(resource.id, serverAnswered, this.origin());
    resource.apply(event);
    const { channel } = this.options;
    for (const listener of resource.listeners) {
      listener.onResourceTimeout(channel, { typeUrl, name }, event);
    }
  }

  /** Gives a target what the channel has of a resource. */
  share(resource: ChannelResource, listener: ChannelListener): void {
    const { state, remainingMs, name, type } = resource;
    listener.onShared(this.options.channel, { typeUrl: type.typeUrl, name }, state, remainingMs);
  }

  private applyOutcome(resource: ChannelResource, outcome: ResourceOutcome, version: string): void {
    switch (outcome.kind) {
      case 'lost':
        return;
      case 'renewed':
        this.renew(resource, outcome.ttlMs);
        return;
      default:
        this.applyJudgement(resource, outcome, version);
    }
  }

  private applyJudgement(resource: ChannelResource, outcome: Judgement, version: string): void {
    const { id, state } = resource;
    if (state.kind === 'accepted' && state.deletionIgnored) {
      this.options.logger.info(() => `${describeResource(id)}: sent again after its removal`);
    }
    const event = outcomeEvent(id, outcome, version, this.origin());
    const ttlMs = outcome.kind === 'accepted' ? outcome.ttlMs : undefined;
    if (outcome.kind === 'accepted') {
      reportSkipped(resource, outcome.accepted, this.options.logger);
    }
    resource.apply(event);
    if (outcome.kind === 'accepted') resource.keepFor(ttlMs);
    this.notify(resource, event, ttlMs);
  }

  /** A heartbeat cannot end a time to live, only begin it anew. It is also good for a target with another value. */
  private renew(resource: ChannelResource, ttlMs: number | undefined): void {
    // Its value may have gone while the response was read.
    if (resource.accepted === undefined) return;
    if (ttlMs !== undefined) resource.keepFor(ttlMs);
    const { channel } = this.options;
    const { typeUrl } = resource.type;
    const key = { typeUrl, name: resource.name };
    for (const listener of resource.listeners) {
      const isInUse = listener.cached(typeUrl, resource.name)?.serverKey === channel.server.key;
      if (!isInUse) this.share(resource, listener);
      else if (ttlMs !== undefined) listener.onRenewed(channel, key, ttlMs);
    }
  }

  /** @param isExplicit Whether the server says so, instead of leaving the resource out. */
  private applyDeletion(resource: ChannelResource, version: string, isExplicit: boolean): void {
    const { id, state, type } = resource;
    const { policy, description } = this.options.channel;
    const handling = removalHandling(policy, !type.allResourcesRequiredInSotw);
    const isFirst = state.kind === 'accepted' && !state.deletionIgnored;
    if (isFirst && handling === 'ignore') {
      // gRFC A53 wants a warning. grpc-js has no such level, and shows nothing below an error by default.
      this.options.logger.error(
        () => `${describeResource(id)}: removed by ${description}, kept (ignore_resource_deletion)`,
      );
    }
    const event = deletionEvent(id, { version, isExplicit, handling }, this.origin());
    resource.apply(event);
    this.notify(resource, event, undefined);
  }

  private notify(
    { type, name, listeners }: ChannelResource,
    event: ResourceEvent<unknown>,
    ttlMs: number | undefined,
  ): void {
    const key: ResourceKey = { typeUrl: type.typeUrl, name };
    for (const listener of listeners) listener.onResource(this.options.channel, key, event, ttlMs);
  }

  private origin(): EventOrigin {
    const { channel, clock } = this.options;
    return { server: channel.description, policy: channel.policy, nowMs: clock.now() };
  }
}
