import type { SerialQueue } from '../util/serial-queue';
import type { ResourceSnapshot } from './client-snapshot';
import {
  currentNotifications,
  nextResourceState,
  type Accepted,
  type Failure,
  type Notification,
  type ResourceEvent,
  type ResourceState,
} from './resource-state';
import type { ResourceType } from './resource-type';
import type { ResourceWatcher } from './resource-watcher';
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
    if (notification.kind === 'changed') this.watcher?.onResourceChanged(notification.update);
    else this.watcher?.onAmbientError(notification.error);
  }
}

/**
 * A resource with at least one watcher: its state, and whom to tell. Everything that happens to it goes
 * through `apply`. Watchers are told in tasks of their own, after whatever is going on, so that no state
 * is half changed when they run and none is affected by what another one throws.
 */
export class WatchedResource {
  private current: ResourceState<unknown>;
  private readonly watches = new Set<Watch>();

  /**
   * @param sinceMs Milliseconds since the epoch.
   * @param onUnwatched Called when the last watch has been taken away, possibly more than once.
   */
  constructor(
    readonly type: ResourceType<unknown>,
    readonly name: string,
    sinceMs: number,
    private readonly queue: SerialQueue,
    private readonly onUnwatched: (resource: WatchedResource) => void,
  ) {
    this.current = { kind: 'requested', sinceMs, unreachable: undefined };
  }

  /** What is known of it. */
  get state(): ResourceState<unknown> {
    return this.current;
  }

  /** The value in use. */
  get accepted(): Accepted<unknown> | undefined {
    return this.current.kind === 'accepted' ? this.current.accepted : undefined;
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
    this.watches.add(watch);
    for (const notification of currentNotifications(this.current)) this.tell(watch, notification);
  }

  /** Takes a watch away. */
  removeWatch(watch: Watch): void {
    this.watches.delete(watch);
    if (!this.isWatched) this.onUnwatched(this);
  }

  /** Lets something happen to the resource. */
  apply(event: ResourceEvent<unknown>): void {
    const { state, notifications } = nextResourceState(this.current, event);
    this.current = state;
    for (const notification of notifications) {
      for (const watch of this.watches) this.tell(watch, notification);
    }
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

  private tell(watch: Watch, notification: Notification<unknown>): void {
    this.queue.run(() => watch.notify(notification));
  }
}

function failureOf(state: ResourceState<unknown>): Failure | undefined {
  return state.kind === 'requested' ? undefined : state.failure;
}
