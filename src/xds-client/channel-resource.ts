import type { ServerConfig } from '../bootstrap/bootstrap';
import type { Clock } from '../util/clock';
import { errorStack } from '../util/error-message';
import type { Logger } from '../util/logger';
import type { RequestedResource } from './ads/subscriptions';
import type { ChangeHistory, ResourceChange } from './client-snapshot';
import { deletionEvent, expiryEvent, timeoutEvent, type EventOrigin } from './resource-events';
import {
  cachedBytes,
  nextResourceState,
  type Accepted,
  type Failure,
  type ResourceEvent,
  type ResourceState,
  type ValueChange,
} from './resource-state';
import { ElementCount, type ElementCounts } from './element-counts';
import { REJECTED_BYTES_LIMIT } from './limits';
import type { ElementLimit, ResourceType } from './resource-type';
import { TRACER } from './server-health';
import { removalHandling, type ServerPolicy } from './server-policy';
import { describeResource, type ResourceId } from './xds-errors';

/** The channel of one management server, as its resources and their subscribers see it. */
export interface Channel {
  readonly server: ServerConfig;
  readonly policy: ServerPolicy;
  /** Names the server and the node in messages. */
  readonly description: string;
}

/** A resource that a target watches, subscribed to at one or more servers. */
export interface ResourceSubscriber {
  /** The value in use, whichever server it is from. */
  readonly accepted: Accepted<unknown> | undefined;
  /** Called in the queue. */
  onResourceEvent(event: ResourceEvent<unknown>, channel: Channel): void;
}

/** What the resources of one channel share. */
export interface ChannelResourceOptions {
  readonly channel: Channel;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly elements: ElementCounts;
  /** The limit on what they take. */
  readonly cacheLimit: ElementLimit;
  readonly history: ChangeHistory;
}

/** The time to live of a value. */
interface Lifetime {
  readonly ttlMs: number;
  /** On the monotonic clock. */
  readonly endsAtMs: number;
}

/**
 * A resource as one management server has sent it, decoded once for all its subscribers. It lives as long as one of
 * them is subscribed.
 */
export class ChannelResource implements RequestedResource {
  readonly subscribers = new Set<ResourceSubscriber>();
  private current: ResourceState<unknown>;
  private lifetime: Lifetime | undefined;
  /** What is counted of the value. */
  private readonly elements: ElementCount | undefined;
  private readonly cached: ElementCount;
  /** What is counted of the rejected version. */
  private readonly rejected: ElementCount;

  /** @param position Its place in the order in which the resources of the channel were subscribed to. */
  constructor(
    readonly type: ResourceType<unknown>,
    readonly name: string,
    readonly position: number,
    private readonly options: ChannelResourceOptions,
  ) {
    const { clock, elements, cacheLimit } = options;
    const { elementLimit } = type;
    this.elements = elementLimit && new ElementCount(elements, elementLimit);
    this.cached = new ElementCount(elements, cacheLimit);
    this.rejected = new ElementCount(elements, REJECTED_BYTES_LIMIT);
    const sinceMs = clock.now();
    this.current = { kind: 'requested', sinceMs, unreachable: undefined };
  }

  /** The last value accepted from this server, unless it has expired. */
  get accepted(): Accepted<unknown> | undefined {
    const { state } = this;
    return state.kind === 'accepted' ? state.accepted : undefined;
  }

  /** See `RequestedResource`. */
  get heldVersion(): string | undefined {
    const { accepted } = this;
    if (accepted === undefined) return undefined;
    for (const subscriber of this.subscribers) {
      if (!this.isInUse(subscriber)) return undefined;
    }
    return accepted.version;
  }

  /** The event of a subscriber that is added after the server has sent the resource, or failed to. */
  get known(): ResourceEvent<unknown> | undefined {
    const { state, lifetime } = this;
    if (state.kind === 'requested') return undefined;
    const ttlMs = lifetime && lifetime.endsAtMs - this.options.clock.monotonicMs();
    return { kind: 'shared', state, ttlMs };
  }

  /** Handles that a response contains the resource. */
  receive(event: ResourceEvent<unknown>): void {
    if (event.kind === 'renewed') {
      this.renew(event.ttlMs);
      return;
    }
    if (this.isDeletionIgnored) {
      this.options.logger.info(() => `${describeResource(this.id)}: sent again after its removal`);
    }
    this.describe(() => this.logEvent(event));
    if (event.kind === 'accepted') {
      const { accepted, version } = event;
      if (version !== undefined) accepted.version = version;
    }
    const kept = this.withinRoom(event);
    this.apply(kept);
    this.notify(kept);
  }

  /** Handles its removal. @param isExplicit Whether the server says so, instead of leaving the resource out. */
  remove(version: string, isExplicit: boolean): void {
    const { id, state, type } = this;
    const { channel, logger } = this.options;
    const handling = removalHandling(channel.policy, !type.allResourcesRequiredInSotw);
    if (state.kind === 'accepted' && !state.deletionIgnored && handling === 'ignore') {
      // gRFC A53 requires a warning. grpc-js has no such level, and shows nothing below an error by default.
      logger.error(
        () =>
          `${describeResource(id)}: removed by ${channel.description}, kept (ignore_resource_deletion)`,
      );
    }
    const event = deletionEvent(id, { version, isExplicit, handling }, this.origin());
    this.apply(event);
    this.notify(event);
  }

  /** Handles that it was not received in time. */
  timeOut(serverAnswered: boolean): void {
    const event = timeoutEvent(this.id, serverAnswered, this.origin());
    this.apply(event);
    this.notify(event);
  }

  /** Ends its use. Called once, when the last subscriber is removed. */
  release(): void {
    if (this.isDeletionIgnored) {
      const text = () => `${describeResource(this.id)}: no longer watched after its removal`;
      this.options.logger.info(text);
    }
    this.elements?.release();
    this.cached.release();
    this.rejected.release();
  }

  /** What this server has made of the resource. An expired value is a failure. */
  private get state(): ResourceState<unknown> {
    const { lifetime } = this;
    if (lifetime !== undefined && this.options.clock.monotonicMs() >= lifetime.endsAtMs) {
      this.apply(expiryEvent(this.id, lifetime.ttlMs, this.origin()));
    }
    return this.current;
  }

  private get isDeletionIgnored(): boolean {
    const { state } = this;
    return state.kind === 'accepted' && state.deletionIgnored;
  }

  private get id(): ResourceId {
    return { typeName: this.type.typeName, name: this.name };
  }

  /** Runs what only describes the resource. An exception in it changes nothing else. */
  private describe(task: () => void): void {
    try {
      task();
    } catch (error) {
      const text = () =>
        `${describeResource(this.id)}: unexpected error in its description: ${errorStack(error)}`;
      this.options.logger.error(text);
    }
  }

  private logEvent(event: ResourceEvent<unknown>): void {
    if (event.kind !== 'accepted' || event.accepted.value === this.accepted?.value) return;
    this.logSkipped(event.accepted);
    this.logUnused(event.accepted);
    this.traceChange(event.accepted.version, event.change);
  }

  /** A heartbeat cannot end a time to live, only begin it anew. A subscriber with another value receives this one. */
  private renew(ttlMs: number | undefined): void {
    // The value may have expired while the response was read.
    if (this.accepted === undefined) return;
    if (ttlMs !== undefined) this.keepFor(ttlMs);
    const { known } = this;
    for (const subscriber of this.subscribers) {
      const event = this.isInUse(subscriber) ? { kind: 'renewed' as const, ttlMs } : known;
      if (event !== undefined) subscriber.onResourceEvent(event, this.options.channel);
    }
  }

  private isInUse({ accepted }: ResourceSubscriber): boolean {
    return accepted?.serverKey === this.options.channel.server.key;
  }

  private apply(event: ResourceEvent<unknown>): void {
    this.describe(() => this.remember(event));
    this.current = nextResourceState(this.current, event);
    const { current } = this;
    if (event.kind === 'accepted') this.keepFor(event.ttlMs);
    else if (current.kind !== 'accepted') this.lifetime = undefined;
    this.count(current);
  }

  /** Returns the event of a rejection without the rejected bytes if there is no room for them. */
  private withinRoom(event: ResourceEvent<unknown>): ResourceEvent<unknown> {
    if (event.kind !== 'failed' || rejectedBytes(event.failure) <= this.rejected.room) return event;
    return { ...event, failure: { ...event.failure, rejected: undefined } };
  }

  private notify(event: ResourceEvent<unknown>): void {
    const { channel } = this.options;
    for (const subscriber of this.subscribers) subscriber.onResourceEvent(event, channel);
  }

  private keepFor(ttlMs: number | undefined): void {
    if (ttlMs === undefined) this.lifetime = undefined;
    else this.lifetime = { ttlMs, endsAtMs: this.options.clock.monotonicMs() + ttlMs };
  }

  private count(state: ResourceState<unknown>): void {
    const accepted = state.kind === 'accepted' ? state.accepted : undefined;
    this.elements?.set(accepted?.elements ?? 0);
    this.cached.set(accepted === undefined ? 0 : cachedBytes(accepted));
    this.rejected.set(state.kind === 'requested' ? 0 : rejectedBytes(state.failure));
  }

  /**
   * Logs what is not used of a resource: as an error when it differs from what was skipped before, because nothing less
   * is shown by default.
   */
  private logSkipped(next: Accepted<unknown>): void {
    const { type, accepted: before, id } = this;
    const skipped = type.describeSkipped(next.value);
    if (skipped === undefined) return;
    const text = () => `${describeResource(id)}: version "${next.version}": ${skipped}`;
    const known = before && type.describeSkipped(before.value);
    if (skipped === known) this.options.logger.info(text);
    else this.options.logger.error(text);
  }

  /** Logs the fields that have no effect. It takes time, so only where the line is shown. */
  private logUnused({ version, bytes }: Accepted<unknown>): void {
    const { logger } = this.options;
    // Whether the line is shown is asked last, because that reads the environment.
    if (logger.showsInfo !== true) return;
    const fields = this.type.describeUnusedFields(bytes);
    if (fields.length === 0) return;
    const { name, type } = this;
    logger.info(
      () =>
        `${describeResource(this.id)}: version "${version}": without effect on gRPC clients: ${fields.join(', ')}`,
      { event: 'fields-unused', typeUrl: type.typeUrl, name, version },
    );
  }

  private remember(event: ResourceEvent<unknown>): void {
    const { channel, clock, history } = this.options;
    const entry = this.describeEvent(event);
    if (entry === undefined) return;
    const { type, name } = this;
    const { serverUri } = channel.server;
    history.add({ atMs: clock.now(), serverUri, typeUrl: type.typeUrl, name, ...entry });
  }

  /** Describes an event for the history; `undefined` if nothing changed. */
  private describeEvent(
    event: ResourceEvent<unknown>,
  ): Pick<ResourceChange, 'kind' | 'version' | 'text' | 'bytes'> | undefined {
    switch (event.kind) {
      case 'accepted': {
        const { accepted, change } = event;
        if (this.current.kind === 'accepted' && this.current.accepted.value === accepted.value) {
          return undefined;
        }
        const text = (change && this.type.describeChange(change.change)) ?? '';
        const { version, bytes } = accepted;
        return { kind: 'accepted', version, text, bytes };
      }
      case 'failed': {
        const { error, rejected: bytes } = event.failure;
        return { kind: 'rejected', version: '', text: error.message, bytes };
      }
      case 'deleted':
      case 'timed-out': {
        const kind = event.kind === 'deleted' ? 'removed' : 'timed-out';
        return { kind, version: '', text: event.failure.error.message, bytes: undefined };
      }
      default:
        return undefined;
    }
  }

  private traceChange(version: string, change: ValueChange | undefined): void {
    const { type, id } = this;
    if (change === undefined) return;
    const text = () =>
      `${describeResource(id)}: version "${version}": ${type.describeChange(change.change)}`;
    this.options.logger.trace(TRACER, text);
  }

  private origin(): EventOrigin {
    const { channel, clock } = this.options;
    return { server: channel.description, policy: channel.policy, nowMs: clock.now() };
  }
}

/** Returns how many bytes a failure keeps in memory. */
function rejectedBytes(failure: Failure | undefined): number {
  return failure?.rejected?.buffer.byteLength ?? 0;
}
