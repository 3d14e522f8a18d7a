import type { Clock } from '../util/clock';
import type { RequestedResource } from './ads/subscriptions';
import type { ChannelListener } from './channel-listener';
import { expiryEvent, type EventOrigin } from './resource-events';
import type { ElementCounts } from './element-counts';
import {
  nextResourceState,
  type Accepted,
  type ResourceEvent,
  type ResourceState,
} from './resource-state';
import type { ResourceType } from './resource-type';
import type { ResourceId } from './xds-errors';

/** What a channel resource needs. */
export interface ChannelResourceOptions {
  readonly type: ResourceType<unknown>;
  readonly name: string;
  /** See `ChannelResource.position`. */
  readonly position: number;
  readonly clock: Clock;
  /** Of all resources of the server. */
  readonly elements: ElementCounts;
  /** The server, as messages name it. */
  readonly origin: () => EventOrigin;
}

/** The time to live of a value. */
interface Lifetime {
  readonly ttlMs: number;
  /** On the monotonic clock. */
  readonly endsAtMs: number;
}

/**
 * A resource as one management server has sent it, decoded once for every target that watches it. It lives as long
 * as one of them is subscribed to it.
 */
export class ChannelResource implements RequestedResource {
  readonly type: ResourceType<unknown>;
  readonly name: string;
  /** Its place in the order in which the resources of the server were subscribed to. */
  readonly position: number;
  /** The targets subscribed to it. */
  readonly listeners = new Set<ChannelListener>();
  private current: ResourceState<unknown>;
  private lifetime: Lifetime | undefined;
  /** How many elements of the value are counted. */
  private elements = 0;

  constructor(private readonly options: ChannelResourceOptions) {
    const { type, name, position, clock } = options;
    this.type = type;
    this.name = name;
    this.position = position;
    this.current = { kind: 'requested', sinceMs: clock.now(), unreachable: undefined };
  }

  /** What this server has made of the resource. An expired value is a failure. */
  get state(): ResourceState<unknown> {
    const { lifetime } = this;
    if (lifetime !== undefined && this.options.clock.monotonicMs() >= lifetime.endsAtMs) {
      this.apply(expiryEvent(this.id, lifetime.ttlMs, this.options.origin()));
    }
    return this.current;
  }

  /** The last value accepted from this server. */
  get accepted(): Accepted<unknown> | undefined {
    const { state } = this;
    return state.kind === 'accepted' ? state.accepted : undefined;
  }

  /** See `RequestedResource`. */
  get heldVersion(): string | undefined {
    const { accepted } = this;
    if (accepted === undefined) return undefined;
    const { typeUrl } = this.type;
    for (const listener of this.listeners) {
      const inUse = listener.cached(typeUrl, this.name);
      if (inUse?.serverKey !== accepted.serverKey) return undefined;
    }
    return accepted.version;
  }

  /** The name in messages. */
  get id(): ResourceId {
    return { typeName: this.type.typeName, name: this.name };
  }

  /** Milliseconds until the value expires; `undefined`: never. */
  get remainingMs(): number | undefined {
    return this.lifetime && this.lifetime.endsAtMs - this.options.clock.monotonicMs();
  }

  /** Applies what the server did. */
  apply(event: ResourceEvent<unknown>): void {
    this.current = nextResourceState(this.current, event);
    if (this.current.kind !== 'accepted') this.lifetime = undefined;
    this.count(this.current.kind === 'accepted' ? (this.current.accepted.elements ?? 0) : 0);
  }

  /** Stops counting its elements. Called once, when the last target has unsubscribed. */
  release(): void {
    this.count(0);
  }

  /** Sets when the value expires. */
  keepFor(ttlMs: number | undefined): void {
    const endsAtMs = this.options.clock.monotonicMs() + (ttlMs ?? 0);
    this.lifetime = ttlMs === undefined ? undefined : { ttlMs, endsAtMs };
  }

  private count(elements: number): void {
    const { elementLimit } = this.type;
    if (elementLimit === undefined || elements === this.elements) return;
    this.options.elements.add(elementLimit, elements - this.elements);
    this.elements = elements;
  }
}
