import type { Clock } from '../util/clock';
import type { Handle } from '../util/handle';
import type { SerialQueue } from '../util/serial-queue';
import type { ResourceSnapshot } from './client-snapshot';
import { hasResourceSubscribers, publishResourceChange } from './resource-diagnostics';
import {
  currentNotifications,
  nextResourceState,
  notificationsBetween,
  type Accepted,
  type Failure,
  type Notification,
  type ResourceEvent,
  type ResourceState,
} from './resource-state';
import type { ResourceType } from './resource-type';
import type { ResourceWatcher } from './resource-watcher';
import { UpdateBudget } from './update-budget';
import type { ResourceId } from './xds-errors';

/** One call of `XdsClient.watch`: its watcher, until it is released. */
export class Watch {
  private watcher: ResourceWatcher<unknown> | undefined;

  constructor(watcher: ResourceWatcher<unknown>) {
    this.watcher = watcher;
  }

  /** The watcher is told nothing from now on, not even what is already in the queue. */
  end(): void {
    this.watcher = undefined;
  }

  /** Tells the watcher. */
  notify(notification: Notification<unknown>): void {
    const { watcher } = this;
    if (notification.kind === 'ambient') watcher?.onAmbientError(notification.error);
    else watcher?.onResourceChanged(notification.update, notification.change);
  }
}

/** What a watched resource is made of. */
export interface WatchedResourceOptions {
  readonly type: ResourceType<unknown>;
  readonly name: string;
  readonly queue: SerialQueue;
  readonly clock: Clock;
  /** `node.id`, for whoever observes the process. */
  readonly nodeId: string;
  /** The target that watches it; `undefined` if the client has none. */
  readonly target: string | undefined;
  /** Called when something has been heard of the resource for the first time. */
  readonly onAnswered: (resource: WatchedResource) => void;
  /** Called when the last watch has been taken away, possibly more than once. */
  readonly onUnwatched: (resource: WatchedResource) => void;
}

/** What watchers have yet to be told. */
interface Backlog {
  /** What they were told of last. */
  readonly told: ResourceState<unknown>;
  /** Runs out when they may be told again. */
  readonly timer: Handle;
}

/**
 * A resource with at least one watcher: its state, and whom to tell. Everything that happens to it goes
 * through `apply`. Watchers are told in tasks of their own, after whatever is going on, so that no state
 * is half changed when they run and none is affected by what another one throws. What changes too often is
 * told less often, and then as it is by then.
 */
export class WatchedResource {
  readonly type: ResourceType<unknown>;
  readonly name: string;
  private current: ResourceState<unknown>;
  private readonly watches = new Set<Watch>();
  private readonly budget: UpdateBudget;
  private backlog: Backlog | undefined;

  constructor(private readonly options: WatchedResourceOptions) {
    const { type, name, clock } = options;
    this.type = type;
    this.name = name;
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

  /** What messages call it. */
  get id(): ResourceId {
    return { typeName: this.type.typeName, name: this.name };
  }

  /** Whether anybody is watching. */
  get isWatched(): boolean {
    return this.watches.size > 0;
  }

  /** Adds a watch and tells it what is known already. */
  addWatch(watch: Watch): void {
    // The others come to know of it now, too, so that all have been told of the same state.
    this.clearBacklog();
    this.watches.add(watch);
    for (const notification of currentNotifications(this.current)) this.tell(watch, notification);
  }

  /** Takes a watch away. */
  removeWatch(watch: Watch): void {
    this.watches.delete(watch);
    if (!this.isWatched) this.options.onUnwatched(this);
  }

  /**
   * Lets something happen to the resource.
   * @param serverUri Of the server that it is the doing of; absent if it is that of several.
   */
  apply(event: ResourceEvent<unknown>, serverUri?: string): void {
    const before = this.current;
    this.current = nextResourceState(before, event);
    if (before.kind === 'requested' && this.current.kind !== 'requested') {
      this.options.onAnswered(this);
    }
    if (hasResourceSubscribers()) this.publish(before, serverUri);
    if (this.backlog !== undefined) return;
    const change = event.kind === 'accepted' ? event.change : undefined;
    const notifications = notificationsBetween(before, this.current, change);
    if (notifications.length === 0) return;
    const { clock, queue } = this.options;
    const waitMs = this.budget.take(clock.monotonicMs());
    if (waitMs === 0) {
      this.tellAll(notifications);
      return;
    }
    const timer = clock.setTimer(() => queue.run(() => this.clearBacklog()), waitMs);
    this.backlog = { told: before, timer };
  }

  /** Tells nobody anything any more. */
  close(): void {
    this.backlog?.timer.release();
    this.backlog = undefined;
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

  private publish(before: ResourceState<unknown>, serverUri: string | undefined): void {
    const { typeUrl } = this.type;
    const { nodeId, target } = this.options;
    const about = { nodeId, target, typeUrl, name: this.name, serverUri };
    publishResourceChange(before, this.current, about);
  }

  private clearBacklog(): void {
    const { backlog } = this;
    if (backlog === undefined) return;
    this.close();
    this.budget.take(this.options.clock.monotonicMs());
    this.tellAll(notificationsBetween(backlog.told, this.current));
  }

  private tellAll(notifications: readonly Notification<unknown>[]): void {
    for (const notification of notifications) {
      for (const watch of this.watches) this.tell(watch, notification);
    }
  }

  private tell(watch: Watch, notification: Notification<unknown>): void {
    this.options.queue.run(() => watch.notify(notification));
  }
}

function failureOf(state: ResourceState<unknown>): Failure | undefined {
  return state.kind === 'requested' ? undefined : state.failure;
}
