import type { Clock } from '../util/clock';
import type { Handle } from '../util/handle';
import { err, ok } from '../util/result';
import type { SerialQueue } from '../util/serial-queue';
import type { Channel, ChannelResource, Lifetime, ResourceSubscriber } from './channel-resource';
import type { ResourceSnapshot } from './client-snapshot';
import { diagnostics, type ResourceEventBase, type ResourceProblem } from './diagnostics';
import {
  expiryEvent,
  failureOf,
  nextResourceState,
  type Accepted,
  type Failure,
  type ResourceEvent,
  type ResourceState,
} from './resource-state';
import type { ResourceType } from './resource-type';
import type { Notification, Watch, WatchError } from './resource-watcher';
import type { XdsChannel } from './xds-channel';
import { unreachableError, type ResourceId } from './xds-errors';
import { afterRunning } from '../util/running-time';

/** A resource as one target sees it. */
export interface ResourceView<T> {
  /** The state at the server whose value is in use, or from which one is expected. */
  readonly state: ResourceState<T>;
  /** Why no server can be reached now. A known failure says more: with one, it is not set. */
  readonly unreachable: WatchError | undefined;
}

/**
 * Returns the view after an event at a server.
 * @param state The state after it.
 */
export function viewAfter<T>(
  view: ResourceView<T>,
  event: ResourceEvent<T>,
  state = nextResourceState(view.state, event),
): ResourceView<T> {
  const hasNews = event.kind === 'accepted' || state.kind === 'failed';
  return withState(view, state, hasNews ? undefined : view.unreachable);
}

/** Returns the view while no server can be reached, or, without an error, when one can be reached again. */
export function viewWhen<T>(
  view: ResourceView<T>,
  unreachable: WatchError | undefined,
): ResourceView<T> {
  return view.state.kind === 'failed' ? view : withState(view, view.state, unreachable);
}

function withState<T>(
  view: ResourceView<T>,
  state: ResourceState<T>,
  unreachable: WatchError | undefined,
): ResourceView<T> {
  const isSame = view.state === state && view.unreachable === unreachable;
  return isSame ? view : { state, unreachable };
}

/** Returns what a watcher is notified of that has not been notified of anything yet. */
export function currentNotifications<T>(view: ResourceView<T>): readonly Notification<T>[] {
  const { state } = view;
  if (state.kind !== 'accepted') {
    const error = errorOf(view);
    return error === undefined ? [] : [{ kind: 'changed', update: err(error) }];
  }
  const value: Notification<T> = { kind: 'changed', update: ok(state.accepted.value) };
  const error = errorOf(view);
  return error === undefined ? [value] : [value, { kind: 'ambient', error }];
}

/**
 * Returns the notifications that are due when one view replaces another. A failure with the same text as the one before
 * is not notified again.
 */
export function notificationsBetween<T>(
  before: ResourceView<T>,
  after: ResourceView<T>,
): readonly Notification<T>[] {
  const error = errorOf(after);
  const known = errorOf(before);
  const isSameText = known?.message === error?.message;
  if (after.state.kind === 'accepted') {
    if (before.state.kind !== 'accepted') return currentNotifications(after);
    if (before.state.accepted.value !== after.state.accepted.value) {
      return currentNotifications(after);
    }
    return isSameText ? NO_NOTIFICATIONS : [{ kind: 'ambient', error }];
  }
  const isKnown = before.state.kind !== 'accepted' && isSameText && known?.kind === error?.kind;
  return error === undefined || isKnown
    ? NO_NOTIFICATIONS
    : [{ kind: 'changed', update: err(error) }];
}

const NO_NOTIFICATIONS: readonly never[] = [];

/**
 * The error that watchers are notified of: an ambient one if there is a value. That no server can be reached comes first,
 * because other errors may then be outdated.
 */
function errorOf({ state, unreachable }: ResourceView<unknown>): WatchError | undefined {
  return unreachable ?? failureOf(state)?.error;
}

/** The authority of watched resources. All methods are called in the queue. */
export interface ResourceOwner {
  readonly queue: SerialQueue;
  readonly clock: Clock;
  /** `node.id`, for diagnostics. */
  readonly nodeId: string;
  /** The target that watches them; `undefined` if the client has none. */
  readonly target: string | undefined;
  /** A server has sent the resource, rejected it or been found not to have it, for the first time. */
  onAnswered(resource: WatchedResource): void;
  /** The last watch has been removed, possibly not for the first time. */
  onUnwatched(resource: WatchedResource): void;
  /** The time to live of the value is over. */
  onExpired(resource: WatchedResource): void;
}

/** The end of the value in use. */
interface Expiry {
  readonly lifetime: Lifetime;
  readonly timer: Handle;
}

/**
 * A resource with at least one watch: the view of it, its subscriptions at the servers, and its watches. The states are
 * those of `ChannelResource`; where the value in use is another server's, an event applies to the state with that value.
 * Watchers are notified in tasks of their own, after the current one, so that no state is half changed when they run, and
 * none is affected by an exception of another one.
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
    private readonly owner: ResourceOwner,
  ) {
    this.view = {
      state: { kind: 'requested', sinceMs: owner.clock.now() },
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
    for (const notification of currentNotifications(this.view)) {
      this.owner.queue.run(() => watch.notify(notification));
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
    const { view } = this;
    const next = viewAfter(view, event, view.state === before ? resource.state : undefined);
    this.show(next, channel);
    if (event.kind === 'accepted' || event.kind === 'renewed') this.keepFor(resource);
  }

  /** Handles that no server can be reached. @param causes One sentence per server that was tried. */
  onUnreachable(causes: readonly string[]): void {
    this.show(viewWhen(this.view, unreachableError(this.id, causes)));
  }

  /** Handles that a server can be reached again. */
  onReachable(): void {
    this.show(viewWhen(this.view, undefined));
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
    this.show(withState(this.view, state, undefined), resource.channel);
    if (state.kind === 'accepted') this.keepFor(resource);
  }

  /**
   * Replaces the view.
   * @param channel Of the server that the reason is from; absent if it is about several.
   */
  private show(next: ResourceView<unknown>, channel?: Channel): void {
    const before = this.view;
    if (before === next) return;
    this.view = next;
    if (before.state.kind === 'requested' && next.state.kind !== 'requested') {
      this.owner.onAnswered(this);
    }
    if (hasResourceSubscribers()) this.publish(before, channel);
    const { queue } = this.owner;
    for (const notification of notificationsBetween(before, next)) {
      for (const watch of this.watches) queue.run(() => watch.notify(notification));
    }
  }

  /** Sets when the value expires, as at the server that it is from. */
  private keepFor({ lifetime, channel }: ChannelResource): void {
    if (this.expiry?.lifetime === lifetime) return;
    this.endExpiry();
    if (lifetime === undefined) return;
    const { clock, queue } = this.owner;
    const onOver = () => {
      queue.run(() => {
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
    const { clock } = this.owner;
    const { description: server, policy } = channel;
    const event = expiryEvent(this.id, ttlMs, { server, policy, nowMs: clock.now() });
    this.show(viewAfter(this.view, event), channel);
    this.owner.onExpired(this);
  }

  private endExpiry(): void {
    this.expiry?.timer.release();
    this.expiry = undefined;
  }

  private publish(before: ResourceView<unknown>, channel: Channel | undefined): void {
    const { typeUrl } = this.type;
    const { nodeId, target } = this.owner;
    const { serverUri } = channel?.server ?? {};
    publishChange(before, this.view, { nodeId, target, typeUrl, name: this.name, serverUri });
  }
}

/** Returns whether a channel of diagnostics about resources has a subscriber. */
function hasResourceSubscribers(): boolean {
  const { resourceAccepted, resourceNacked, resourceMissing, resourceStale } = diagnostics;
  return (
    resourceAccepted.hasSubscribers ||
    resourceNacked.hasSubscribers ||
    resourceMissing.hasSubscribers ||
    resourceStale.hasSubscribers
  );
}

type View = ResourceView<unknown>;

/** Publishes how the view of a resource has changed. */
function publishChange(before: View, after: View, about: ResourceEventBase): void {
  publishValue(before.state, after.state, about);
  const failure = failureOf(after.state);
  if (failure !== undefined && failure !== failureOf(before.state)) {
    if (failure.status === 'NACKED') publishNack(failure, after, about);
    else publishProblem(failure.error, after, about);
  }
  const { unreachable: error } = after;
  if (error !== undefined && error.message !== before.unreachable?.message) {
    publishProblem(error, after, about);
  }
}

function publishValue(
  before: ResourceState<unknown>,
  after: ResourceState<unknown>,
  about: ResourceEventBase,
): void {
  if (after.kind !== 'accepted') return;
  const { value, version } = after.accepted;
  const isNew = before.kind !== 'accepted' || before.accepted.value !== value;
  if (isNew) diagnostics.resourceAccepted.publish({ ...about, version });
}

function publishNack({ version, error }: Failure, after: View, about: ResourceEventBase): void {
  const isOldValueInUse = after.state.kind === 'accepted';
  diagnostics.resourceNacked.publish({ ...about, version, error: error.message, isOldValueInUse });
}

function publishProblem(error: WatchError, after: View, about: ResourceEventBase): void {
  const { resourceStale, resourceMissing } = diagnostics;
  const event = { ...about, reason: problemOf(error), error: error.message };
  (after.state.kind === 'accepted' ? resourceStale : resourceMissing).publish(event);
}

function problemOf({ kind }: WatchError): ResourceProblem {
  return kind === 'invalid' || kind === 'bad-name' ? 'does-not-exist' : kind;
}
