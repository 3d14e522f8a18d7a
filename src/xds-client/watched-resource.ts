import type { Handle } from '../util/handle';
import { err, ok, type Result } from '../util/result';
import type { Channel, ChannelResource, Lifetime, ResourceSubscriber } from './channel-resource';
import type { ClientContext } from './client-context';
import type { ResourceSnapshot } from './client-snapshot';
import { diagnostics, type ResourceProblem } from './diagnostics';
import {
  expiryEvent,
  failureOf,
  nextResourceState,
  type Accepted,
  type ResourceEvent,
  type ResourceState,
} from './resource-state';
import type { ResourceType } from './resource-type';
import type { ResourceWatcher, WatchError } from './resource-watcher';
import type { XdsChannel } from './xds-channel';
import { unreachableError, type ResourceId, type ServerFailure } from './xds-errors';
import { afterRunning } from '../util/running-time';

/** A resource as one target sees it. */
export interface ResourceView<T> {
  /** The state at the server whose value is in use, or from which one is expected. */
  readonly state: ResourceState<T>;
  /** Why no server can be reached now. A known failure says more: with one, it is not set. */
  readonly unreachable: WatchError | undefined;
}

/** Returns the view with a state, and why no server can be reached; the same view if that is what it shows already. */
export function nextView<T>(
  view: ResourceView<T>,
  state: ResourceState<T>,
  unreachable: WatchError | undefined,
): ResourceView<T> {
  const shown = state.kind === 'failed' ? undefined : unreachable;
  if (view.state === state && view.unreachable === shown) return view;
  return { state, unreachable: shown };
}

/** A notification of watchers. */
export type Notification<T> =
  | { readonly kind: 'changed'; readonly update: Result<T, WatchError> }
  | { readonly kind: 'ambient'; readonly error: WatchError | undefined };

/**
 * Returns the notifications that are due when one view replaces another. A failure with the same text as the one before
 * is not notified again.
 * @param before `undefined` for a watcher that has not been notified of anything yet.
 */
export function notificationsBetween<T>(
  before: ResourceView<T> | undefined,
  after: ResourceView<T>,
): readonly Notification<T>[] {
  const error = errorOf(after);
  const known = before && errorOf(before);
  const used = before?.state.kind === 'accepted' ? before.state.accepted : undefined;
  if (after.state.kind === 'accepted') {
    const { value } = after.state.accepted;
    const ambient: Notification<T> = { kind: 'ambient', error };
    if (used?.value === value) return isSameText(known, error) ? [] : [ambient];
    const changed: Notification<T> = { kind: 'changed', update: ok(value) };
    return error === undefined ? [changed] : [changed, ambient];
  }
  if (error === undefined) return [];
  const isKnown = used === undefined && known?.kind === error.kind && isSameText(known, error);
  return isKnown ? [] : [{ kind: 'changed', update: err(error) }];
}

function isSameText(a: WatchError | undefined, b: WatchError | undefined): boolean {
  return a?.message === b?.message;
}

/**
 * The error that watchers are notified of: an ambient one if there is a value. That no server can be reached comes first,
 * because other errors may then be outdated.
 */
function errorOf({ state, unreachable }: ResourceView<unknown>): WatchError | undefined {
  return unreachable ?? failureOf(state)?.error;
}

/** The authority of watched resources. All methods are called in the serializer. */
export interface ResourceOwner {
  readonly context: ClientContext;
  /** The target that watches them; `undefined` if the client has none. */
  readonly target: string | undefined;
  /** Why each server in use that has failed cannot be used. */
  readonly serverFailures: readonly ServerFailure[];
  /** Describes since when a resource has been pending and what each server is doing about it. */
  describeWait(resource: WatchedResource): string;
  /** A server has sent the resource, rejected it or been found not to have it, for the first time. */
  onAnswered(resource: WatchedResource): void;
  /** The last watch has been removed, possibly not for the first time. */
  onUnwatched(resource: WatchedResource): void;
  /** The time to live of the value is over. */
  onExpired(resource: WatchedResource): void;
}

/** One call of `XdsClient.watch`: its watcher, until it is released. */
export class Watch {
  private watcher: ResourceWatcher<unknown> | undefined;

  constructor(watcher: ResourceWatcher<unknown>) {
    this.watcher = watcher;
  }

  /** Ends the notifications, also those that are in the serializer. */
  end(): void {
    this.watcher = undefined;
  }

  /** Notifies the watcher. */
  notify(notification: Notification<unknown>): void {
    const { watcher } = this;
    if (notification.kind === 'ambient') watcher?.onAmbientError(notification.error);
    else watcher?.onResourceChanged(notification.update);
  }
}

/** The end of the value in use. */
interface Expiry {
  readonly lifetime: Lifetime;
  readonly timer: Handle;
}

/**
 * A resource with at least one watch: the view of it, its subscriptions at the servers, and its watches. The view shows the
 * state of a `ChannelResource` and follows it. After a switch it still shows the old server's state: an event of the new server
 * is applied to that one, so that the old value stays until a new one comes. Watchers are notified in tasks of their own, after
 * the current one, so that no state is half changed when they run, and none is affected by an exception of another one.
 */
export class WatchedResource implements ResourceSubscriber {
  private view: ResourceView<unknown>;
  private readonly watches = new Set<Watch>();
  /** Outlives the subscription at the server that the value is from. */
  private expiry: Expiry | undefined;
  /** One for each server that the authority uses, in their order. */
  private readonly subscriptions: ChannelResource[] = [];

  constructor(
    readonly type: ResourceType<unknown>,
    readonly name: string,
    readonly owner: ResourceOwner,
  ) {
    this.view = {
      state: { kind: 'requested', sinceMs: owner.context.clock.now() },
      unreachable: undefined,
    };
  }

  /** The state in use. */
  get state(): ResourceState<unknown> {
    return this.view.state;
  }

  /** The value in use. */
  get accepted(): Accepted<unknown> | undefined {
    const { state } = this;
    return state.kind === 'accepted' ? state.accepted : undefined;
  }

  /** When it was requested, in milliseconds since the epoch; `undefined` once it is no longer pending. */
  get pendingSinceMs(): number | undefined {
    const { state } = this.view;
    return state.kind === 'requested' ? state.sinceMs : undefined;
  }

  /** The name in messages. */
  get id(): ResourceId {
    return { typeName: this.type.typeName, name: this.name };
  }

  /** Whether there is a watch. */
  get isWatched(): boolean {
    return this.watches.size > 0;
  }

  /** Adds a watch, whose watcher is notified of the current view. */
  addWatch(watch: Watch): void {
    this.watches.add(watch);
    for (const notification of notificationsBetween(undefined, this.view)) {
      this.owner.context.serializer.run(() => watch.notify(notification));
    }
  }

  /** Removes a watch. */
  removeWatch(watch: Watch): void {
    this.watches.delete(watch);
    if (!this.isWatched) this.owner.onUnwatched(this);
  }

  /**
   * Subscribes to the resource at one more server.
   * @param isInUse Whether resources are used from it. What it had sent before, for other targets, is not mixed with the
   * resources of another server.
   */
  subscribe(channel: XdsChannel, isInUse: boolean): void {
    const resource = channel.subscribe(this.type, this.name, this);
    this.subscriptions.push(resource);
    if (isInUse) this.adopt(resource);
  }

  /** Ends the subscriptions at all servers but the first `count`. */
  unsubscribeAfter(count: number): void {
    for (const resource of this.subscriptions.splice(count)) {
      resource.channel.unsubscribe(resource, this);
    }
  }

  onResourceEvent(
    event: ResourceEvent<unknown>,
    before: ResourceState<unknown>,
    resource: ChannelResource,
  ): void {
    const { channel } = resource;
    if (event.kind === 'renewed' && this.accepted?.serverKey !== channel.server.key) {
      this.adopt(resource);
      return;
    }
    const { state, unreachable } = this.view;
    const next = state === before ? resource.state : nextResourceState(state, event);
    this.show(next, event.kind === 'accepted' ? undefined : unreachable, channel);
    if (event.kind === 'accepted' || event.kind === 'renewed') this.keepFor(resource);
  }

  /** Handles that no server can be reached. @param failures Those of the servers that were tried. */
  onUnreachable(failures: readonly ServerFailure[]): void {
    this.show(this.state, unreachableError(this.id, failures));
  }

  /** Handles that a server can be reached again. */
  onReachable(): void {
    this.show(this.state, undefined);
  }

  /** Ends the subscriptions and the notifications. */
  release(): void {
    this.endExpiry();
    this.unsubscribeAfter(0);
  }

  /** A copy for diagnostics. */
  snapshot(): ResourceSnapshot {
    const { state, accepted } = this;
    const failure = failureOf(state);
    return {
      typeUrl: this.type.typeUrl,
      name: this.name,
      status: failure?.status ?? (state.kind === 'requested' ? 'REQUESTED' : 'ACKED'),
      accepted: accepted && {
        version: accepted.version,
        bytes: accepted.bytes,
        updatedAtMs: accepted.updatedAtMs,
      },
      failure: failure && {
        version: failure.version,
        details: failure.error.message,
        violations: failure.error.violations,
        atMs: failure.atMs,
        sinceMs: failure.sinceMs,
        rejected: failure.rejected,
      },
      watchers: this.watches.size,
      waitingSinceMs: state.kind === 'requested' ? state.sinceMs : undefined,
    };
  }

  /** Uses what a server has sent before, if it has: a value gives way to another value only. */
  private adopt(resource: ChannelResource): void {
    const { state } = resource;
    if (state.kind === 'requested') return;
    if (state.kind === 'failed' && this.accepted !== undefined) return;
    this.show(state, undefined, resource.channel);
    if (state.kind === 'accepted') this.keepFor(resource);
  }

  /**
   * Replaces the view: see `nextView`.
   * @param channel Of the server that the reason is from; absent if it is about several.
   */
  private show(
    state: ResourceState<unknown>,
    unreachable: WatchError | undefined,
    channel?: Channel,
  ): void {
    const before = this.view;
    const next = nextView(before, state, unreachable);
    if (before === next) return;
    this.view = next;
    if (before.state.kind === 'requested' && next.state.kind !== 'requested') {
      this.owner.onAnswered(this);
    }
    this.publish(before, channel);
    const { serializer } = this.owner.context;
    for (const notification of notificationsBetween(before, next)) {
      for (const watch of this.watches) serializer.run(() => watch.notify(notification));
    }
  }

  /** Sets when the value expires, as at the server that it is from. */
  private keepFor({ lifetime, channel }: ChannelResource): void {
    if (this.expiry?.lifetime === lifetime) return;
    this.endExpiry();
    if (lifetime === undefined) return;
    const { clock, serializer } = this.owner.context;
    const onOver = () => {
      serializer.run(() => {
        if (this.expiry === expiry) this.expire(lifetime, channel);
      });
    };
    const timer = afterRunning(clock, onOver, lifetime.endsAtMs - clock.monotonicMs());
    const expiry: Expiry = { lifetime, timer };
    this.expiry = expiry;
  }

  private expire({ ttlMs }: Lifetime, channel: Channel): void {
    this.expiry = undefined;
    if (this.accepted === undefined) return;
    const { clock } = this.owner.context;
    const { description: server, policy } = channel;
    const event = expiryEvent(this.id, ttlMs, { server, policy, nowMs: clock.now() });
    this.show(nextResourceState(this.state, event), undefined, channel);
    this.owner.onExpired(this);
  }

  private endExpiry(): void {
    this.expiry?.timer.release();
    this.expiry = undefined;
  }

  /** Publishes how the view has changed. */
  private publish(before: ResourceView<unknown>, channel: Channel | undefined): void {
    const { resourceAccepted, resourceNacked, resourceMissing, resourceStale } = diagnostics;
    const channels = [resourceAccepted, resourceNacked, resourceMissing, resourceStale];
    if (!channels.some(({ hasSubscribers }) => hasSubscribers)) return;
    const { target, context } = this.owner;
    const about = {
      nodeId: context.node.id,
      target,
      typeUrl: this.type.typeUrl,
      name: this.name,
      serverUri: channel?.server.serverUri,
    };
    const { state, unreachable } = this.view;
    const isUsed = state.kind === 'accepted';
    const known = before.state.kind === 'accepted' ? before.state.accepted : undefined;
    if (isUsed && state.accepted.value !== known?.value) {
      resourceAccepted.publish({ ...about, version: state.accepted.version });
    }
    const publishProblem = (error: WatchError) => {
      const event = { ...about, reason: problemOf(error), error: error.message };
      (isUsed ? resourceStale : resourceMissing).publish(event);
    };
    const failure = failureOf(state);
    if (failure !== undefined && failure !== failureOf(before.state)) {
      const { status, version, error } = failure;
      if (status === 'NACKED') {
        const { message } = error;
        resourceNacked.publish({ ...about, version, error: message, isOldValueInUse: isUsed });
      } else {
        publishProblem(error);
      }
    }
    if (unreachable !== undefined && unreachable.message !== before.unreachable?.message) {
      publishProblem(unreachable);
    }
  }
}

function problemOf({ kind }: WatchError): ResourceProblem {
  return kind === 'invalid' || kind === 'bad-name' ? 'does-not-exist' : kind;
}
