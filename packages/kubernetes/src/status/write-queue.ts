import {
  firstBackoffStep,
  type BackoffOptions,
  type BackoffStep,
} from '../../../../src/util/backoff';
import type { Clock } from '../../../../src/util/clock';
import type { Handle } from '../../../../src/util/handle';
import type { Logger } from '../../../../src/util/logger';
import type { Random } from '../../../../src/util/random';
import { quoteText } from '../../../../src/util/text';
import type { ApiFailure } from '../api/kubernetes-api';
import { namespaceIn } from '../object-key';

/** How a write ended: it was made, what it would say is there already, or it failed. */
export type WriteOutcome = 'written' | 'unneeded' | ApiFailure;

export interface WriteQueueOptions {
  readonly clock: Pick<Clock, 'monotonicMs' | 'setTimer'>;
  readonly random: Random;
  readonly logger: Logger;
  /** What is done, for messages, such as `writing the status of GRPCRoutes`. */
  readonly subject: string;
  /** What a ClusterRole must have for it, for messages. */
  readonly rule: string;
  /** Starts one write. The handle cancels it; then the callback is not called. A key begins with a namespace and `/`. */
  readonly write: (key: string, onEnd: (outcome: WriteOutcome) => void) => Handle;
}

/** Milliseconds within which replicas begin a write, each at another time, so that the others see what the first one has written. */
const JITTER_MS = 2000;
/** Milliseconds between two writes. */
const GAP_MS = 100;
/**
 * Between two writes of one key: should two versions of this control plane, or two with different objects in view, write different
 * things in turn, they do so ever more seldom.
 */
const PACE: BackoffOptions = { initialMs: 1000, multiplier: 2, maxMs: 300_000, jitter: 0.2 };
/** Between two writes in a namespace in which they are not permitted: it may be about to be deleted, or a role may be missing. */
const REFUSED_PACE: BackoffOptions = {
  initialMs: 60_000,
  multiplier: 2,
  maxMs: 600_000,
  jitter: 0.2,
};
/** Namespaces of which it is logged that writes are not permitted. */
const MAX_LOGGED_NAMESPACES = 10;
/** Milliseconds without a write after which the next one of a key is not delayed. */
const QUIET_MS = 600_000;

const FORBIDDEN = 403;
const CONFLICT = 409;
/** Answers that the same request gets again: the object is gone or refused. */
const FINAL: ReadonlySet<number | undefined> = new Set([400, 404, 405, 413, 422]);

/** The last writes of a key, or the last refusals in a namespace. */
interface Pace {
  readonly step: BackoffStep;
  readonly lastMs: number;
}

/**
 * Writes to the API server, one at a time and slowly: nothing of what is written is needed to serve. A write is for a key, and what
 * it says is found when it is made. In a namespace without the permission, that is logged once, and one write is attempted ever more
 * seldom.
 */
export class WriteQueue {
  /** When each key is written, on the monotonic clock. */
  private readonly due = new Map<string, number>();
  private readonly paces = new Map<string, Pace>();
  /** By namespace. */
  private readonly refusals = new Map<string, Pace>();
  private running: { readonly key: string; isPutAgain: boolean; handle?: Handle } | undefined;
  private timer: { readonly dueMs: number; readonly handle: Handle } | undefined;
  /** When the next write may begin. */
  private notBeforeMs = 0;
  private isEnded = false;
  private isFailing = false;

  constructor(private readonly options: WriteQueueOptions) {}

  /** Writes a key soon, unless it is in the queue already. */
  put(key: string): void {
    if (this.isEnded || this.due.has(key)) return;
    if (this.running?.key === key) this.running.isPutAgain = true;
    else this.enqueue(key, this.options.random() * JITTER_MS);
  }

  /** Forgets a key of which nothing is to be written any more. */
  remove(key: string): void {
    this.due.delete(key);
    this.paces.delete(key);
    if (this.running?.key === key) this.running.isPutAgain = false;
    this.forgetRefusal(namespaceIn(key));
  }

  /** Cancels what is queued and running. Idempotent. */
  close(): void {
    this.isEnded = true;
    this.due.clear();
    this.paces.clear();
    this.refusals.clear();
    this.timer?.handle.release();
    this.running?.handle?.release();
  }

  private enqueue(key: string, delayMs: number): void {
    const nowMs = this.options.clock.monotonicMs();
    const paceMs = endOf(this.paces.get(key));
    const refusalMs = endOf(this.refusals.get(namespaceIn(key)));
    const dueMs = Math.max(nowMs + delayMs, paceMs, refusalMs);
    this.due.set(key, dueMs);
    if (this.running === undefined) this.wakeAt(dueMs);
  }

  /** Writes at a time, unless something is written before. */
  private wakeAt(earliestMs: number): void {
    const dueMs = Math.max(earliestMs, this.notBeforeMs);
    if (this.timer !== undefined && this.timer.dueMs <= dueMs) return;
    this.timer?.handle.release();
    const { clock } = this.options;
    const delayMs = Math.max(dueMs - clock.monotonicMs(), 0);
    this.timer = { dueMs, handle: clock.setTimer(() => this.writeNext(), delayMs) };
  }

  private writeNext(): void {
    this.timer = undefined;
    const nowMs = this.options.clock.monotonicMs();
    let [firstKey, firstMs] = ['', Infinity];
    for (const [key, dueMs] of this.due) if (dueMs < firstMs) [firstKey, firstMs] = [key, dueMs];
    if (firstMs > nowMs) {
      if (firstMs < Infinity) this.wakeAt(firstMs);
      return;
    }
    this.due.delete(firstKey);
    this.running = { key: firstKey, isPutAgain: false };
    this.running.handle = this.options.write(firstKey, (outcome) => this.onEnd(outcome));
  }

  private onEnd(outcome: WriteOutcome): void {
    const { running } = this;
    this.running = undefined;
    if (running === undefined || this.isEnded) return;
    this.notBeforeMs = this.options.clock.monotonicMs() + GAP_MS;
    const failure = typeof outcome === 'object' ? outcome : undefined;
    const namespace = namespaceIn(running.key);
    if (failure?.status === FORBIDDEN) this.onRefused(namespace, failure);
    else {
      if (failure === undefined) this.refusals.delete(namespace);
      if (outcome !== 'unneeded') this.slowDown(running.key);
      this.report(failure);
    }
    const isRetried = failure !== undefined && !FINAL.has(failure.status);
    if (isRetried) this.enqueue(running.key, failure.retryAfterMs ?? 0);
    else if (running.isPutAgain) this.put(running.key);
    if (this.due.size > 0) this.wakeAt(this.notBeforeMs);
  }

  /** The next write of a key is later than this one was, unless there was none for long. */
  private slowDown(key: string): void {
    const { clock, random } = this.options;
    const lastMs = clock.monotonicMs();
    const pace = this.paces.get(key);
    const isQuiet = pace === undefined || lastMs - pace.lastMs > QUIET_MS;
    this.paces.set(key, {
      lastMs,
      step: isQuiet ? firstBackoffStep(PACE, random) : pace.step.next(),
    });
  }

  /** Has what is queued in a namespace wait, since the API server would refuse all of it. */
  private onRefused(namespace: string, { message }: ApiFailure): void {
    const { clock, random, logger, subject, rule } = this.options;
    const lastMs = clock.monotonicMs();
    const before = this.refusals.get(namespace);
    const pace = { lastMs, step: before?.step.next() ?? firstBackoffStep(REFUSED_PACE, random) };
    this.refusals.set(namespace, pace);
    for (const [key, dueMs] of this.due) {
      if (namespaceIn(key) === namespace) this.due.set(key, Math.max(dueMs, endOf(pace)));
    }
    const { size } = this.refusals;
    if (before !== undefined || size > MAX_LOGGED_NAMESPACES) return;
    const others = size === MAX_LOGGED_NAMESPACES ? '; further namespaces are not logged' : '';
    logger.error(
      () =>
        `kubernetes: ${subject} in namespace ${quoteText(namespace)} not permitted, and attempted again later: ${message}. ` +
        `Unless the namespace is being deleted, the ClusterRole needs ${rule}${others}`,
    );
  }

  /** Forgets that writes in a namespace are not permitted once nothing of it is queued. */
  private forgetRefusal(namespace: string): void {
    if (!this.refusals.has(namespace)) return;
    for (const key of this.due.keys()) if (namespaceIn(key) === namespace) return;
    this.refusals.delete(namespace);
  }

  /** Logs the first of several failures, and the end of them. Another writer in between is no failure. */
  private report(failure: ApiFailure | undefined): void {
    if (failure?.status === CONFLICT) return;
    const { logger, subject } = this.options;
    if (failure !== undefined && !this.isFailing) {
      logger.error(() => `kubernetes: ${subject} failed: ${failure.message}`);
    } else if (failure === undefined && this.isFailing) {
      logger.info(() => `kubernetes: ${subject} works again`);
    }
    this.isFailing = failure !== undefined;
  }
}

/** Returns when the next write may be made. */
function endOf(pace: Pace | undefined): number {
  return pace === undefined ? 0 : pace.lastMs + pace.step.delayMs;
}
