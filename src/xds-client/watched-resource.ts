import type { Clock } from '../util/clock';
import type { Handle } from '../util/handle';
import type { SerialQueue } from '../util/serial-queue';
import type { Channel, ResourceSubscriber } from './channel-resource';
import type { ResourceSnapshot } from './client-snapshot';
import { hasResourceSubscribers, publishResourceChange } from './diagnostics';
import {
  type Accepted,
  currentNotifications,
  expiryEvent,
  type Failure,
  nextResourceState,
  type Notification,
  notificationsBetween,
  type ResourceEvent,
  type ResourceState,
} from './resource-state';
import type { ResourceType } from './resource-type';
import type { ResourceWatcher } from './resource-watcher';
import type { ServerChannel } from './server-channel';
import { UpdateBudget } from './budgets';
import type { ResourceId } from './xds-errors';

/** One call of `XdsClient.watch`: its watcher, until it is released. */
export class Watch {
  private watcher: ResourceWatcher<unknown> | undefined;

  constructor(watcher: ResourceWatcher<unknown>) {
    this.watcher = watcher;
  }

  /** Ends the notifications, also those that are in the queue. */
  end(): void {
    this.watcher = undefined;
  }

  /** Notifies the watcher. */
  notify(notification: Notification<unknown>): void {
    const { watcher } = this;
    if (notification.kind === 'ambient') watcher?.onAmbientError(notification.error);
    else watcher?.onResourceChanged(notification.update, notification.change);
  }
}

/** Uses the watched resources of one authority. All methods are called in the queue. */
export interface ResourceOwner {
  /** A server has sent the resource, rejected it or been found not to have it, for the first time. */
  onAnswered(resource: WatchedResource): void;
  /** The last watch has been removed, possibly not for the first time. */
  onUnwatched(resource: WatchedResource): void;
  /** The time to live of the value is over. */
  onExpired(resource: WatchedResource): void;
}

/** What the watched resources of one authority share. */
export interface WatchedResourceOptions {
  readonly owner: ResourceOwner;
  readonly queue: SerialQueue;
  readonly clock: Clock;
  /** `node.id`, for diagnostics. */
  readonly nodeId: string;
  /** The target that watches it; `undefined` if the client has none. */
  readonly target: string | undefined;
}

/** Notifications that are due. */
interface Backlog {
  /** The state that watchers were notified of last. */
  readonly notified: ResourceState<unknown>;
  /** Runs until they may be notified again. */
  readonly timer: Handle;
}

/**
 * A resource with at least one watch: its state, its subscriptions at the servers, and its watches. Every event goes
 * through `apply`. Watchers are notified in tasks of their own, after the current one, so that no state is half changed
 * when they run, and none is affected by an exception of another one. Notifications that are too frequent are delayed,
 * and then have the latest state.
 */
export class WatchedResource implements ResourceSubscriber {
  private current: ResourceState<unknown>;
  private readonly watches = new Set<Watch>();
  private readonly budget: UpdateBudget;
  private backlog: Backlog | undefined;
  /** Runs until the value expires. */
  private expiry: Handle | undefined;
  /** One for each server that the authority uses, in their order. */
  private readonly subscriptions: Handle[] = [];

  constructor(
    readonly type: ResourceType<unknown>,
    readonly name: string,
    private readonly options: WatchedResourceOptions,
  ) {
    const { clock } = options;
    this.current = { kind: 'requested', sinceMs: clock.now(), unreachable: undefined };
    this.budget = new UpdateBudget(clock.monotonicMs());
  }

  /** What is known of it. */
  get state(): ResourceState<unknown> {
    return this.current;
  }

  /** The value in use. */
  get accepted(): Accepted<unknown> | undefined {
    return this.current.kind === 'accepted' ? this.current.accepted : undefined;
  }

  /** Milliseconds since it was requested; zero once it is no longer pending. */
  get pendingMs(): number {
    const { current } = this;
    return current.kind === 'requested' ? this.options.clock.now() - current.sinceMs : 0;
  }

  /** The name in messages. */
  get id(): ResourceId {
    return { typeName: this.type.typeName, name: this.name };
  }

  /** Whether there is a watch. */
  get isWatched(): boolean {
    return this.watches.size > 0;
  }

  /** Adds a watch, whose watcher is notified of the current state. */
  addWatch(watch: Watch): void {
    // The others are notified now, too, so that all know the same state.
    this.clearBacklog();
    this.watches.add(watch);
    for (const notification of currentNotifications(this.current)) this.notify(watch, notification);
  }

  /** Removes a watch. */
  removeWatch(watch: Watch): void {
    this.watches.delete(watch);
    if (!this.isWatched) this.options.owner.onUnwatched(this);
  }

  /**
   * Subscribes to the resource at one more server.
   * @param isInUse Whether resources are used from it. What it had sent before, for other targets, is not mixed with the
   * resources of another server.
   */
  subscribe(channel: ServerChannel, isInUse: boolean): void {
    const subscription = channel.subscribe(this.type, this.name, this);
    this.subscriptions.push(subscription);
    const event = isInUse ? subscription.known : undefined;
    if (event !== undefined) this.onResourceEvent(event, channel);
  }

  /** Ends the subscriptions at all servers but the first `count`. */
  unsubscribeAfter(count: number): void {
    for (const subscription of this.subscriptions.splice(count)) subscription.release();
  }

  /** See `ResourceSubscriber`. */
  onResourceEvent(event: ResourceEvent<unknown>, channel: Channel): void {
    this.apply(event, channel.server.serverUri);
    switch (event.kind) {
      case 'accepted':
        this.keepFor(event.ttlMs, channel);
        break;
      case 'renewed':
        // A heartbeat without a TTL changes nothing.
        if (event.ttlMs !== undefined) this.keepFor(event.ttlMs, channel);
        break;
      case 'shared':
        if (event.state.kind === 'accepted') this.keepFor(event.ttlMs, channel);
        break;
      default:
    }
  }

  /**
   * Applies an event.
   * @param serverUri Of the server that the event is from; absent if it is about several.
   */
  apply(event: ResourceEvent<unknown>, serverUri?: string): void {
    const before = this.current;
    this.current = nextResourceState(before, event);
    if (before === this.current) return;
    if (before.kind === 'requested' && this.current.kind !== 'requested') {
      this.options.owner.onAnswered(this);
    }
    if (hasResourceSubscribers()) this.publish(before, serverUri);
    if (this.backlog !== undefined) return;
    const change = event.kind === 'accepted' ? event.change : undefined;
    const notifications = notificationsBetween(before, this.current, change);
    if (notifications.length === 0) return;
    const { clock, queue } = this.options;
    const waitMs = this.budget.take(clock.monotonicMs());
    if (waitMs === 0) {
      this.notifyAll(notifications);
      return;
    }
    const timer = clock.setTimer(() => queue.run(() => this.clearBacklog()), waitMs);
    this.backlog = { notified: before, timer };
  }

  /** Ends the subscriptions and the notifications. */
  release(): void {
    this.endBacklog();
    this.expiry?.release();
    this.expiry = undefined;
    this.unsubscribeAfter(0);
  }

  /** A copy for diagnostics. */
  snapshot(): ResourceSnapshot {
    const { current } = this;
    const failure = failureOf(current);
    const { accepted } = this;
    return {
      typeUrl: this.type.typeUrl,
      name: this.name,
      status: failure?.status ?? (current.kind === 'requested' ? 'REQUESTED' : 'ACKED'),
      accepted: accepted && {
        version: accepted.version,
        bytes: accepted.bytes,
        updatedAtMs: accepted.updatedAtMs,
      },
      failure: failure && {
        version: failure.version,
        details: failure.error.message,
        atMs: failure.atMs,
        rejected: failure.rejected,
      },
      watchers: this.watches.size,
      waitingSinceMs: current.kind === 'requested' ? current.sinceMs : undefined,
    };
  }

  /** Sets when the value expires. */
  private keepFor(ttlMs: number | undefined, channel: Channel): void {
    this.expiry?.release();
    this.expiry = undefined;
    if (ttlMs === undefined) return;
    const { clock, queue } = this.options;
    const expiry = clock.setTimer(() => {
      queue.run(() => {
        if (this.expiry === expiry) this.expire(ttlMs, channel);
      });
    }, ttlMs);
    this.expiry = expiry;
  }

  private expire(ttlMs: number, { server, policy, description }: Channel): void {
    this.expiry = undefined;
    if (this.accepted === undefined) return;
    const { clock, owner } = this.options;
    const origin = { server: description, policy, nowMs: clock.now() };
    this.apply(expiryEvent(this.id, ttlMs, origin), server.serverUri);
    owner.onExpired(this);
  }

  private publish(before: ResourceState<unknown>, serverUri: string | undefined): void {
    const { typeUrl } = this.type;
    const { nodeId, target } = this.options;
    const about = { nodeId, target, typeUrl, name: this.name, serverUri };
    publishResourceChange(before, this.current, about);
  }

  private clearBacklog(): void {
    const { backlog } = this;
    if (backlog === undefined) return;
    this.endBacklog();
    this.budget.take(this.options.clock.monotonicMs());
    this.notifyAll(notificationsBetween(backlog.notified, this.current));
  }

  private endBacklog(): void {
    this.backlog?.timer.release();
    this.backlog = undefined;
  }

  private notifyAll(notifications: readonly Notification<unknown>[]): void {
    for (const notification of notifications) {
      for (const watch of this.watches) this.notify(watch, notification);
    }
  }

  private notify(watch: Watch, notification: Notification<unknown>): void {
    this.options.queue.run(() => watch.notify(notification));
  }
}

function failureOf(state: ResourceState<unknown>): Failure | undefined {
  return state.kind === 'requested' ? undefined : state.failure;
}
