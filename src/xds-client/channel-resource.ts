import type { ServerConfig } from '../bootstrap/bootstrap';
import type { CachedResource } from './ads/read-response';
import type { RequestedResource } from './ads/subscriptions';
import type { ClientContext } from './client-context';
import { REJECTED_BYTES_LIMIT } from './limits';
import {
  cachedBytes,
  deletionEvent,
  expiryEvent,
  failureOf,
  nextResourceState,
  timeoutEvent,
  wasReceived,
  type Accepted,
  type EventOrigin,
  type Failure,
  type ResourceEvent,
  type ResourceState,
} from './resource-state';
import type { ResourceType } from './resource-type';
import { removalHandling, type ServerPolicy } from './server-policy';
import type { ResourceId } from './xds-errors';

/** The channel of one management server, as its resources and their subscribers see it. */
export interface Channel {
  readonly server: ServerConfig;
  readonly policy: ServerPolicy;
  /** Names the server and the node in messages. */
  readonly description: string;
  readonly context: ClientContext;
  /** Receives the events of its resources, for the log and the history. It must not throw. */
  readonly log: ResourceListener;
  /** Ends a subscription. */
  unsubscribe(resource: ChannelResource, subscriber: ResourceSubscriber): void;
}

/** A resource that a target watches, subscribed to at one or more servers. */
export interface ResourceSubscriber {
  /** The value in use, whichever server it is from. */
  readonly accepted: Accepted<unknown> | undefined;
  /**
   * Called in the serializer with an event of the resource at one server.
   * @param before The state there before the event.
   */
  onResourceEvent(
    event: ResourceEvent<unknown>,
    before: ResourceState<unknown>,
    resource: ChannelResource,
  ): void;
}

/** Receives the events of the resources of a channel. */
export interface ResourceListener {
  /** Called with each event before it takes effect, but not with heartbeats. */
  onEvent(
    resource: ChannelResource,
    event: ResourceEvent<unknown>,
    before: ResourceState<unknown>,
  ): void;
  /** Called when the last subscriber of a resource is removed. */
  onReleased(resource: ChannelResource, state: ResourceState<unknown>): void;
}

/** The time to live of a value. */
export interface Lifetime {
  readonly ttlMs: number;
  /** On the monotonic clock. */
  readonly endsAtMs: number;
}

/**
 * A resource as one management server has sent it, decoded once for all its subscribers: it owns the state. It lives as
 * long as one of them is subscribed.
 */
export class ChannelResource implements RequestedResource, CachedResource {
  readonly subscribers = new Set<ResourceSubscriber>();
  /** How long its value may be used; `undefined` if it does not expire. */
  lifetime: Lifetime | undefined;
  private current: ResourceState<unknown>;
  /** What is counted against the limits: of the value elements and bytes, and bytes of the rejected version. */
  private elements = 0;
  private bytes = 0;
  private rejectedBytes = 0;

  /** @param position Its place in the order in which the resources of the channel were subscribed to. */
  constructor(
    readonly type: ResourceType<unknown>,
    readonly name: string,
    readonly position: number,
    readonly channel: Channel,
  ) {
    this.current = { kind: 'requested', sinceMs: channel.context.clock.now() };
  }

  /** The name in messages. */
  get id(): ResourceId {
    return { typeName: this.type.typeName, name: this.name };
  }

  /** The state at this server. An expired value becomes a failure here: targets have timers of their own for it. */
  get state(): ResourceState<unknown> {
    const { lifetime } = this;
    if (lifetime !== undefined && this.channel.context.clock.monotonicMs() >= lifetime.endsAtMs) {
      this.enter(expiryEvent(this.id, lifetime.ttlMs, this.origin()), this.current);
    }
    return this.current;
  }

  /** The last value accepted from this server, unless it has expired. */
  get accepted(): Accepted<unknown> | undefined {
    const { state } = this;
    return state.kind === 'accepted' ? state.accepted : undefined;
  }

  get heldVersion(): string | undefined {
    const { state } = this;
    if (state.kind !== 'accepted') return undefined;
    const { accepted, failure, deletionIgnored } = state;
    // A server that knows the version would not send it again, and only that ends the failure.
    if (failure !== undefined || deletionIgnored) return undefined;
    const { key } = this.channel.server;
    for (const subscriber of this.subscribers) {
      if (subscriber.accepted?.serverKey !== key) return undefined;
    }
    return accepted.version;
  }

  /** Handles an event, such as that a response contains the resource. */
  apply(received: ResourceEvent<unknown>): void {
    const event = received.kind === 'failed' ? this.withinRoom(received) : received;
    const before = this.state;
    if (event.kind === 'renewed') {
      // The value may have expired while the response was read.
      if (before.kind !== 'accepted') return;
      // A heartbeat cannot end a time to live, only begin it anew.
      if (event.ttlMs !== undefined) this.lifetime = this.lifetimeOf(event.ttlMs);
    } else {
      this.enter(event, before);
    }
    for (const subscriber of this.subscribers) subscriber.onResourceEvent(event, before, this);
  }

  removal(version: string, isExplicit: boolean): ResourceEvent<unknown> {
    const handling = removalHandling(this.channel.policy, !this.type.allResourcesRequiredInSotw);
    const deletion = { version, isExplicit, wasReceived: wasReceived(this.state), handling };
    return deletionEvent(this.id, deletion, this.origin());
  }

  /** Handles that it was not received in time. */
  timeOut(serverAnswered: boolean): void {
    this.apply(timeoutEvent(this.id, serverAnswered, this.origin()));
  }

  /** Ends its use. Called once, when the last subscriber is removed. */
  release(): void {
    this.channel.log.onReleased(this, this.state);
    this.count(undefined, undefined);
  }

  private enter(event: ResourceEvent<unknown>, before: ResourceState<unknown>): void {
    if (event.kind === 'accepted' && event.version !== undefined) {
      event.accepted.version = event.version;
    }
    this.channel.log.onEvent(this, event, before);
    const next = nextResourceState(before, event);
    this.current = next;
    const ttlMs = event.kind === 'accepted' ? event.ttlMs : undefined;
    if (ttlMs !== undefined) this.lifetime = this.lifetimeOf(ttlMs);
    else if (event.kind === 'accepted' || next.kind !== 'accepted') this.lifetime = undefined;
    this.count(next.kind === 'accepted' ? next.accepted : undefined, failureOf(next));
  }

  private lifetimeOf(ttlMs: number): Lifetime {
    return { ttlMs, endsAtMs: this.channel.context.clock.monotonicMs() + ttlMs };
  }

  private count(accepted: Accepted<unknown> | undefined, failure: Failure | undefined): void {
    const { elements: counts, cacheLimit } = this.channel.context.budgets;
    const { elementLimit } = this.type;
    const elements = accepted?.elements ?? 0;
    const bytes = accepted === undefined ? 0 : cachedBytes(accepted);
    const rejectedBytes = failure === undefined ? 0 : bytesOfRejected(failure);
    if (elementLimit !== undefined) counts.add(elementLimit, elements - this.elements);
    counts.add(cacheLimit, bytes - this.bytes);
    counts.add(REJECTED_BYTES_LIMIT, rejectedBytes - this.rejectedBytes);
    this.elements = elements;
    this.bytes = bytes;
    this.rejectedBytes = rejectedBytes;
  }

  /** Returns the event without the rejected bytes if there is no room for them. */
  private withinRoom(event: FailedEvent): FailedEvent {
    const added = bytesOfRejected(event.failure) - this.rejectedBytes;
    const total = this.channel.context.budgets.elements.of(REJECTED_BYTES_LIMIT) + added;
    if (added <= 0 || total <= REJECTED_BYTES_LIMIT.max) return event;
    return { ...event, failure: { ...event.failure, rejected: undefined } };
  }

  private origin(): EventOrigin {
    const { description, policy, context } = this.channel;
    return { server: description, policy, nowMs: context.clock.now() };
  }
}

type FailedEvent = Extract<ResourceEvent<unknown>, { readonly kind: 'failed' }>;

/** Returns how many bytes a failure keeps in memory. */
function bytesOfRejected({ rejected }: Failure): number {
  return rejected?.buffer.byteLength ?? 0;
}
