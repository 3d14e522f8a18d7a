import type { ObjectKey } from '../cluster-objects';
import { readKey, type ObjectIdentity } from '../object-key';
import { OBJECT_LIMITS } from '../object-limits';
import { readObjectOf, type ObjectProblem, type WatchedObject } from '../read-objects';
import { refusedByEvent, unreadable } from './api-failure';
import type { ApiAnswer, ApiFailure, ApiRequest, KubernetesApi } from './kubernetes-api';
import {
  isNewer,
  isOlder,
  MISSING_MS,
  nextStep,
  RETRY_BACKOFF,
  type NextStep,
} from './reflector-steps';
import { acceptOf, pathOf, type WatchedResource } from './watched-kinds';
import {
  firstBackoffStep,
  type BackoffOptions,
  type BackoffStep,
} from '../../../../src/util/backoff';
import type { Clock } from '../../../../src/util/clock';
import { createHandle, type Handle } from '../../../../src/util/handle';
import type { Random } from '../../../../src/util/random';
import type { Result } from '../../../../src/util/result';
import type { Steps } from '../../../../src/util/time-slices';
import { inSteps } from '../steps';
import type { TimeSlices } from '../../../../src/util/time-slices';
import { listAt, valueAt } from '../../../../src/util/value-at';

/** Receives the objects of one kind, and how their watch fares. */
export interface ReflectorListener {
  /** An object was added or changed. */
  onObject(object: WatchedObject): void;
  /** An object was deleted. */
  onDeleted(key: ObjectKey): void;
  /** All objects have been received, or there are none because the kind is not installed, or a role lacks one that is not needed. */
  onListed(): void;
  /** An object cannot be read. What was received of it before stays. */
  onUnreadable(problem: ObjectProblem): void;
  /** A request has failed. */
  onFailure(cause: NextStep['cause'], failure: ApiFailure): void;
  /** The API server answers as it should. */
  onWorking(): void;
}

export interface ReflectorOptions {
  readonly api: KubernetesApi;
  readonly resource: WatchedResource;
  /** Default: all namespaces. */
  readonly namespace?: string | undefined;
  /** The objects that are known already, such as those that were saved. */
  readonly known: Iterable<ObjectKey>;
  readonly listener: ReflectorListener;
  readonly clock: Clock;
  readonly random: Random;
  readonly timeSlices: TimeSlices;
}

/** What a reflector does at the moment, with what it has to release. */
type State =
  | { readonly kind: 'stopped' }
  | { readonly kind: 'listing'; readonly list: ListProgress; readonly work: Handle }
  | { readonly kind: 'watching'; readonly sinceMs: number; readonly work: Handle }
  | {
      readonly kind: 'waiting';
      readonly work: Handle;
      /** When it continues, in milliseconds of the monotonic clock. */
      readonly dueMs: number;
      /** Continues before the time is over; undefined if the API server was not away. */
      readonly retry: (() => void) | undefined;
    };

/** The pages of a list that have been read so far. */
interface ListProgress {
  readonly seen: Set<ObjectKey>;
  pages: number;
}

/** Objects of a page. One page takes a few megabytes. */
const PAGE_SIZE = 500;
/** Pages of a list: those of the largest, and more, because a page may have fewer objects. */
const MAX_PAGES = 1000;
/** A watch ends by design after this time and at most twice as long, as those of `client-go` do. */
const WATCH_SECONDS = 300;

/** What a reflector does, for metrics. */
export interface ReflectorState {
  readonly phase: State['kind'];
  readonly objectCount: number;
  /** When the API server last confirmed what is known, in milliseconds of the monotonic clock; undefined if it has not yet. */
  readonly confirmedMs: number | undefined;
  /** The resource version up to which everything is known. */
  readonly version: string | undefined;
  /** Why the last request failed; undefined if it did not. */
  readonly lastError: string | undefined;
  /** Whether the API server knows the kind; true until it says otherwise. */
  readonly isInstalled: boolean;
  /** When the next request is made, in milliseconds of the monotonic clock; undefined if one is being made. */
  readonly nextMs: number | undefined;
}

/**
 * Lists and watches the objects of one kind. A watch that ends is continued at the last resource version; if that is too old,
 * the objects are listed again and compared with those that are known, so that unchanged ones are no change.
 */
export class Reflector {
  private state: State = { kind: 'stopped' };
  /** The resource versions of the objects; '' if it is not known. */
  private readonly known = new Map<ObjectKey, string>();
  /** The resource version up to which everything is known. */
  private version: string | undefined;
  /** Those since a request was successful: an API server that is away and one that answers with failures have their own. */
  private readonly backoffs = new Map<BackoffOptions, BackoffStep>();
  /** Since when lists have found that the kind is not installed, in milliseconds of the monotonic clock. */
  private missingSinceMs: number | undefined;
  /** False after a place in a list has become too old: then a list is one page. */
  private isPaged = true;
  private confirmedMs: number | undefined;
  private lastError: string | undefined;
  private isInstalled = true;

  constructor(private readonly options: ReflectorOptions) {
    for (const key of options.known) this.known.set(key, '');
  }

  /** Starts to list; may be called once. */
  start(): void {
    this.list();
  }

  /** Ends without a further event. */
  stop(): void {
    this.setState({ kind: 'stopped' });
  }

  /** Continues at once if the API server was away at the last request: it answers others again. */
  retry(): void {
    if (this.state.kind === 'waiting') this.state.retry?.();
  }

  read(): ReflectorState {
    const { confirmedMs, version, lastError, isInstalled, state } = this;
    const nextMs = state.kind === 'waiting' ? state.dueMs : undefined;
    const objectCount = this.known.size;
    return { phase: state.kind, objectCount, confirmedMs, version, lastError, isInstalled, nextMs };
  }

  private setState(state: State): void {
    if (this.state.kind !== 'stopped') this.state.work.release();
    this.state = state;
  }

  private list(): void {
    this.requestPage({ seen: new Set(), pages: 0 }, '');
  }

  private requestPage(list: ListProgress, place: string): void {
    const work = this.options.api.call(this.listRequest(place), (answer) =>
      this.onPage(list, answer),
    );
    this.setState({ kind: 'listing', list, work });
  }

  private listRequest(place: string): ApiRequest {
    const query = {
      ...this.selection(),
      ...(this.isPaged && { limit: String(PAGE_SIZE) }),
      ...(place !== '' && { continue: place }),
    };
    return { ...this.request(true), query };
  }

  private request(isList: boolean): Pick<ApiRequest, 'path' | 'accept'> {
    const { resource, namespace } = this.options;
    return { path: pathOf(resource, namespace), accept: acceptOf(resource, isList) };
  }

  private selection(): Record<string, string> {
    const { labelSelector } = this.options.resource;
    return labelSelector === '' ? {} : { labelSelector };
  }

  private onPage(list: ListProgress, answer: Result<ApiAnswer, ApiFailure>): void {
    if (!answer.ok) {
      this.isPaged = !answer.error.isGone;
      this.fail('listing', answer.error, 0);
      return;
    }
    const steps = this.readPage(list, answer.value.body);
    const work = this.options.timeSlices.startLater({ batch: { run: (task) => task() }, steps });
    this.setState({ kind: 'listing', list, work });
  }

  private *readPage(list: ListProgress, body: unknown): Steps<void> {
    const version = valueAt(body, 'metadata', 'resourceVersion');
    const place = valueAt(body, 'metadata', 'continue');
    if (typeof version !== 'string' || version === '') {
      this.fail('listing', unreadable('the list has no resource version'), 0);
      return;
    }
    yield* inSteps(listAt(body, 'items'), (item) => this.takeListed(list, item), sizeOf);
    if (typeof place !== 'string' || place === '') this.endList(list, version);
    else if (++list.pages < MAX_PAGES) this.requestPage(list, place);
    else this.fail('listing', unreadable(`the list has more than ${MAX_PAGES} pages`), 0);
  }

  private takeListed({ seen }: ListProgress, item: unknown): void {
    const identity = readKey(item);
    this.take(identity, item);
    if (identity !== undefined && this.known.has(identity.key)) seen.add(identity.key);
  }

  private take(identity: ObjectIdentity | undefined, json: unknown): void {
    const { resource, listener } = this.options;
    const isFull = this.known.size >= OBJECT_LIMITS.perKind;
    if (isFull && identity !== undefined && !this.known.has(identity.key)) {
      return listener.onUnreadable(TOO_MANY);
    }
    const object = readObjectOf(resource.kind, json);
    if (!object.ok || identity === undefined) {
      listener.onUnreadable(object.ok ? { key: undefined, violations: [] } : object.error);
      return;
    }
    this.known.set(identity.key, identity.resourceVersion);
    listener.onObject(object.value);
  }

  private endList({ seen }: ListProgress, version: string): void {
    for (const key of this.known.keys()) if (!seen.has(key)) this.forget(key);
    this.version = version;
    this.isPaged = true;
    this.missingSinceMs = undefined;
    this.confirm();
    this.onWorking();
    this.options.listener.onListed();
    this.watch({ isAfterFailure: false });
  }

  private onWorking(): void {
    this.lastError = undefined;
    this.isInstalled = true;
    this.options.listener.onWorking();
  }

  private forget(key: ObjectKey): void {
    if (this.known.delete(key)) this.options.listener.onDeleted(key);
  }

  private watch({ isAfterFailure }: { readonly isAfterFailure: boolean }): void {
    const { api, clock, random } = this.options;
    const seconds = Math.round(WATCH_SECONDS * (1 + random()));
    const query = {
      ...this.selection(),
      watch: 'true',
      allowWatchBookmarks: 'true',
      resourceVersion: this.version ?? '',
      timeoutSeconds: String(seconds),
    };
    const sinceMs = clock.monotonicMs();
    const events = api.watch(
      { ...this.request(false), query },
      {
        onOpen: () => this.onWorking(),
        onEvent: (json) => this.onEvent(json),
        onOversized: () => this.options.listener.onUnreadable(OVERSIZED),
        onEnd: (failure) => this.fail('watching', failure, clock.monotonicMs() - sinceMs),
      },
    );
    const check = isAfterFailure ? this.checkVersion(this.version ?? '') : undefined;
    const work = createHandle(() => {
      events.release();
      check?.release();
    });
    this.setState({ kind: 'watching', sinceMs, work });
  }

  /**
   * Ends the watch if the API server has gone back to an earlier resource version, as after etcd was restored from a backup: a watch
   * waits for versions that are yet to come, and misses what changes until then.
   */
  private checkVersion(from: string): Handle {
    const request = { ...this.request(true), query: { ...this.selection(), limit: '1' } };
    return this.options.api.call(request, (answer) => {
      const version = answer.ok && valueAt(answer.value.body, 'metadata', 'resourceVersion');
      if (typeof version === 'string' && isOlder(version, from)) {
        this.failWatch(unreadable(GONE_BACK));
      }
    });
  }

  private onEvent(json: unknown): void {
    const type = valueAt(json, 'type');
    const object = valueAt(json, 'object');
    if (type === 'ERROR') return this.failWatch(refusedByEvent(object));
    const version = valueAt(object, 'metadata', 'resourceVersion');
    if (typeof version !== 'string' || version === '') {
      return this.failWatch(unreadable('an event has no resource version'));
    }
    if (type !== 'BOOKMARK') {
      const problem = this.takeEvent(type, object, version);
      if (problem !== undefined) return this.failWatch(unreadable(problem));
    } else if (this.version !== undefined && isOlder(version, this.version)) {
      return this.failWatch(unreadable(GONE_BACK));
    }
    this.confirm();
    if (this.version === undefined || isNewer(version, this.version)) this.version = version;
  }

  /** @returns why the events of this watch cannot be relied on, if they cannot. */
  private takeEvent(type: unknown, object: unknown, version: string): string | undefined {
    const identity = readKey(object);
    if (identity === undefined) return 'an event has no object with a name';
    const known = this.known.get(identity.key);
    // Once more, as when a watch is continued.
    if (known !== undefined && !isNewer(version, known)) return undefined;
    if (type === 'DELETED') {
      this.forget(identity.key);
      return undefined;
    }
    if (type !== 'ADDED' && type !== 'MODIFIED') return 'an event has an unknown type';
    // It may have been deleted since.
    const isLate = this.version !== undefined && !isNewer(version, this.version);
    if (known === undefined && isLate) return 'events are out of order';
    this.take(identity, object);
    return undefined;
  }

  private failWatch(failure: ApiFailure): void {
    const { state } = this;
    if (state.kind !== 'watching') return;
    const lastedMs = this.options.clock.monotonicMs() - state.sinceMs;
    this.fail('watching', failure, lastedMs);
  }

  private fail(
    phase: 'listing' | 'watching',
    failure: ApiFailure | undefined,
    lastedMs: number,
  ): void {
    const { resource, listener } = this.options;
    const isKnown = this.version !== undefined || this.known.size > 0;
    const { isOptional } = resource;
    const step = nextStep({ phase, failure, lastedMs, isOptional, isKnown });
    if (step.isFailure) this.lastError = failure?.message;
    this.isInstalled = step.cause !== 'missing';
    if (step.cause === 'missing' && isKnown) this.missesKnown();
    else if (failure !== undefined && step.isFailure) listener.onFailure(step.cause, failure);
    if (step.cause === 'missing' && !isKnown) listener.onListed();
    else if (step.cause === 'forbidden') this.onForbidden();
    this.wait(step, failure);
  }

  /**
   * The kind is not installed any more, which deletes its objects. That is believed after a while only: an API server that has
   * just started does not know its custom resources yet.
   */
  private missesKnown(): void {
    const nowMs = this.options.clock.monotonicMs();
    this.missingSinceMs ??= nowMs;
    if (nowMs - this.missingSinceMs < MISSING_MS) return;
    for (const key of this.known.keys()) this.forget(key);
    this.version = undefined;
  }

  /** Everything else is served without some kinds, unless a role had them before. */
  private onForbidden(): void {
    const { resource, listener } = this.options;
    if (resource.lossIfForbidden !== undefined && this.known.size === 0) listener.onListed();
  }

  private wait(step: NextStep, failure: ApiFailure | undefined): void {
    const { clock, random } = this.options;
    let delayMs = step.delayMs * (1 + RETRY_BACKOFF.jitter * random());
    const { backoff: options } = step;
    if (options === undefined) this.backoffs.clear();
    else {
      const isFree = this.backoffs.size === 0 && !step.isFailure;
      const backoff = this.backoffs.get(options)?.next() ?? firstBackoffStep(options, random);
      this.backoffs.set(options, backoff);
      if (!isFree) delayMs = Math.max(delayMs, backoff.delayMs);
    }
    const isAfterFailure = failure !== undefined;
    const next = () => (step.next === 'list' ? this.list() : this.watch({ isAfterFailure }));
    const { status = 500, isGone } = failure ?? { isGone: true };
    const retry = status >= 500 && !isGone ? next : undefined;
    const dueMs = clock.monotonicMs() + delayMs;
    this.setState({ kind: 'waiting', work: clock.setTimer(next, delayMs), dueMs, retry });
  }

  private confirm(): void {
    this.confirmedMs = this.options.clock.monotonicMs();
  }
}

const GONE_BACK = 'the API server has gone back to an earlier resource version';

const TOO_MANY: ObjectProblem = {
  key: undefined,
  violations: [`there are ${OBJECT_LIMITS.perKind} objects of this kind already`],
};

const OVERSIZED: ObjectProblem = { key: undefined, violations: ['the object is too large'] };

/** The number of small operations that reading an object takes: most are endpoints. */
function sizeOf(item: unknown): number {
  return 8 + 8 * listAt(item, 'endpoints').length;
}
