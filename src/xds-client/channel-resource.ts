import type { ServerConfig } from '../bootstrap/bootstrap';
import type { Clock } from '../util/clock';
import { ResponseOrder } from './ads/ads-response';
import type { ReadResponse } from './ads/response-reader';
import type { RequestedResource } from './ads/subscriptions';
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
import { ElementCount, type ElementCounts } from './budgets';
import type { ElementLimit, ResourceType } from './resource-type';
import { removalHandling, type ServerPolicy } from './server-policy';
import type { ResourceId } from './xds-errors';

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
  /**
   * Called in the queue with an event of the resource at one server.
   * @param before The state there before the event.
   */
  onResourceEvent(
    event: ResourceEvent<unknown>,
    before: ResourceState<unknown>,
    resource: ChannelResource,
  ): void;
}

/** Receives the events of the resources of a channel, for the log and the history. */
export interface ResourceListener {
  /** Called with each event before it takes effect, but not with heartbeats. It must not throw. */
  onEvent(
    resource: ChannelResource,
    event: ResourceEvent<unknown>,
    before: ResourceState<unknown>,
  ): void;
  /** Called when the last subscriber of a resource is removed. */
  onReleased(resource: ChannelResource, state: ResourceState<unknown>): void;
}

/** What the resources of one channel share. */
export interface ChannelResourceOptions {
  readonly channel: Channel;
  readonly clock: Clock;
  readonly listener: ResourceListener;
  readonly elements: ElementCounts;
  /** The limit on what they take. */
  readonly cacheLimit: ElementLimit;
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
export class ChannelResource implements RequestedResource {
  readonly subscribers = new Set<ResourceSubscriber>();
  private current: ResourceState<unknown>;
  private currentLifetime: Lifetime | undefined;
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
    this.current = { kind: 'requested', sinceMs: clock.now() };
  }

  /** The channel that it belongs to. */
  get channel(): Channel {
    return this.options.channel;
  }

  /** The name in messages. */
  get id(): ResourceId {
    return { typeName: this.type.typeName, name: this.name };
  }

  /** The state at this server. An expired value is a failure. */
  get state(): ResourceState<unknown> {
    const lifetime = this.currentLifetime;
    if (lifetime !== undefined && this.options.clock.monotonicMs() >= lifetime.endsAtMs) {
      this.enter(expiryEvent(this.id, lifetime.ttlMs, this.origin()), this.current);
    }
    return this.current;
  }

  /** How long its value may be used; `undefined` if it does not expire. */
  get lifetime(): Lifetime | undefined {
    return this.currentLifetime;
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

  /** Handles that a response contains the resource. */
  receive(event: ResourceEvent<unknown>): void {
    if (event.kind === 'renewed') {
      this.renew(event);
      return;
    }
    if (event.kind === 'accepted' && event.version !== undefined) {
      event.accepted.version = event.version;
    }
    this.apply(this.withinRoom(event));
  }

  /** Handles its removal. @param isExplicit Whether the server says so, instead of leaving the resource out. */
  remove(version: string, isExplicit: boolean): void {
    const handling = removalHandling(this.channel.policy, !this.type.allResourcesRequiredInSotw);
    const deletion = { version, isExplicit, wasReceived: wasReceived(this.state), handling };
    this.apply(deletionEvent(this.id, deletion, this.origin()));
  }

  /** Handles that it was not received in time. */
  timeOut(serverAnswered: boolean): void {
    this.apply(timeoutEvent(this.id, serverAnswered, this.origin()));
  }

  /** Ends its use. Called once, when the last subscriber is removed. */
  release(): void {
    this.options.listener.onReleased(this, this.state);
    this.elements?.release();
    this.cached.release();
    this.rejected.release();
  }

  /** A heartbeat cannot end a time to live, only begin it anew. */
  private renew(event: Extract<ResourceEvent<unknown>, { readonly kind: 'renewed' }>): void {
    const { state } = this;
    // The value may have expired while the response was read.
    if (state.kind !== 'accepted') return;
    if (event.ttlMs !== undefined) this.keepFor(event.ttlMs);
    this.notify(event, state);
  }

  private apply(event: ResourceEvent<unknown>): void {
    const before = this.state;
    this.enter(event, before);
    this.notify(event, before);
  }

  private enter(event: ResourceEvent<unknown>, before: ResourceState<unknown>): void {
    this.options.listener.onEvent(this, event, before);
    const next = nextResourceState(before, event);
    this.current = next;
    if (event.kind === 'accepted') this.keepFor(event.ttlMs);
    else if (next.kind !== 'accepted') this.currentLifetime = undefined;
    this.count(next);
  }

  private notify(event: ResourceEvent<unknown>, before: ResourceState<unknown>): void {
    for (const subscriber of this.subscribers) subscriber.onResourceEvent(event, before, this);
  }

  private keepFor(ttlMs: number | undefined): void {
    if (ttlMs === undefined) this.currentLifetime = undefined;
    else this.currentLifetime = { ttlMs, endsAtMs: this.options.clock.monotonicMs() + ttlMs };
  }

  private count(state: ResourceState<unknown>): void {
    const accepted = state.kind === 'accepted' ? state.accepted : undefined;
    this.elements?.set(accepted?.elements ?? 0);
    this.cached.set(accepted === undefined ? 0 : cachedBytes(accepted));
    this.rejected.set(rejectedBytes(failureOf(state)));
  }

  /** Returns the event of a rejection without the rejected bytes if there is no room for them. */
  private withinRoom(event: ResourceEvent<unknown>): ResourceEvent<unknown> {
    if (event.kind !== 'failed' || rejectedBytes(event.failure) <= this.rejected.room) return event;
    return { ...event, failure: { ...event.failure, rejected: undefined } };
  }

  private origin(): EventOrigin {
    const { description, policy } = this.channel;
    return { server: description, policy, nowMs: this.options.clock.now() };
  }
}

/** Returns how many bytes a failure keeps in memory. */
function rejectedBytes(failure: Failure | undefined): number {
  return failure?.rejected?.buffer.byteLength ?? 0;
}

interface TypeResources {
  readonly type: ResourceType<unknown>;
  readonly byName: Map<string, ChannelResource>;
  /** The order of the resources in the latest response. */
  readonly order: ResponseOrder;
}

const NO_RESOURCES: ReadonlyMap<string, ChannelResource> = new Map();

/** The resources subscribed to at one management server, by type and name. They survive streams. */
export class ChannelResources {
  private readonly types = new Map<string, TypeResources>();
  private latest = 0;

  constructor(private readonly options: ChannelResourceOptions) {}

  /** The position of the resource subscribed to last. See `ChannelResource.position`. */
  get latestPosition(): number {
    return this.latest;
  }

  /** Adds a subscriber to a resource. */
  add(type: ResourceType<unknown>, name: string, subscriber: ResourceSubscriber): ChannelResource {
    let ofType = this.types.get(type.typeUrl);
    if (ofType === undefined) {
      ofType = { type, byName: new Map(), order: new ResponseOrder(type.typeUrl) };
      this.types.set(type.typeUrl, ofType);
    }
    let resource = ofType.byName.get(name);
    if (resource === undefined) {
      resource = new ChannelResource(type, name, ++this.latest, this.options);
      ofType.byName.set(name, resource);
    }
    resource.subscribers.add(subscriber);
    return resource;
  }

  /**
   * Removes a subscriber. The type stays known, because a response of it may be on its way.
   * @returns whether it was the last one of the resource.
   */
  remove(resource: ChannelResource, subscriber: ResourceSubscriber): boolean {
    const { type, name, subscribers } = resource;
    if (!subscribers.delete(subscriber) || subscribers.size > 0) return false;
    this.types.get(type.typeUrl)?.byName.delete(name);
    resource.release();
    return true;
  }

  /** A resource that has a subscriber. */
  get(typeUrl: string, name: string): ChannelResource | undefined {
    return this.types.get(typeUrl)?.byName.get(name);
  }

  /** A type of which a resource has, or had, a subscriber. */
  type(typeUrl: string): ResourceType<unknown> | undefined {
    return this.types.get(typeUrl)?.type;
  }

  /** The resources of a type, in the order they were added. The same object at all times. */
  ofType(typeUrl: string): ReadonlyMap<string, ChannelResource> {
    return this.types.get(typeUrl)?.byName ?? NO_RESOURCES;
  }

  /** The order of the latest response of a type. The same object at all times. */
  orderOf(typeUrl: string): ResponseOrder {
    return this.types.get(typeUrl)?.order ?? new ResponseOrder(typeUrl);
  }

  /** The types of which there are resources, as far as they pass the filter. */
  typeUrls(filter: (type: ResourceType<unknown>) => boolean): string[] {
    const typeUrls: string[] = [];
    for (const [typeUrl, { type, byName }] of this.types) {
      if (byName.size > 0 && filter(type)) typeUrls.push(typeUrl);
    }
    return typeUrls;
  }

  /**
   * Applies a response. Resources subscribed to since it arrived are not removed by it.
   * @param latestPosition When it arrived.
   */
  onResponse(
    typeUrl: string,
    version: string,
    { events, removed, lost, isComplete }: ReadResponse,
    latestPosition: number,
  ): void {
    const byName = this.ofType(typeUrl);
    applyEach(events, ([name, event]) => byName.get(name)?.receive(event));
    const remove = (name: string, isExplicit: boolean) => {
      const resource = byName.get(name);
      if (resource === undefined || resource.position > latestPosition) return;
      resource.remove(version, isExplicit);
    };
    applyEach(removed, (name) => remove(name, true));
    if (!isComplete) return;
    const explicit = new Set(removed);
    applyEach(byName.keys(), (name) => {
      if (!events.has(name) && !lost.has(name) && !explicit.has(name)) remove(name, false);
    });
  }
}

/** An exception about one resource is thrown when the function has been called for all others. */
function applyEach<T>(items: Iterable<T>, apply: (item: T) => void): void {
  let failure: { readonly error: unknown } | undefined;
  for (const item of items) {
    try {
      apply(item);
    } catch (error) {
      failure ??= { error };
    }
  }
  if (failure !== undefined) throw failure.error;
}
