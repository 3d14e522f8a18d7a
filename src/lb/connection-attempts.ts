import type { Clock } from '../util/clock';
import { FairQueue } from '../util/fair-queue';
import type { Handle } from '../util/handle';
import type { Logger } from '../util/logger';
import type { Random } from '../util/random';
import { DescriptorShortage, findShortage } from './descriptor-shortage';
import type { LbBatch } from './lb-batch';

/** How long attempts are started without a break. To start one takes grpc-js the longer the more there are. */
const SLICE_MS = 4;
/** The shortest time a timer takes. */
const BREAK_MS = 1;
/**
 * How long an attempt keeps others waiting. Attempts to hosts that do not answer last minutes: they must not keep those
 * that do from being reached.
 */
const SLOW_MS = 1000;

/** A connection to one endpoint, for which turns are requested. */
export interface ConnectionAttempt {
  /** The policy; policies take turns. */
  readonly owner: object;
  /** What `start` runs in. */
  readonly batch: LbBatch;
  /** Starts connecting; `ended` or `delete` is called when that is over. */
  start(): void;
}

export interface ConnectionAttemptsOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** See `Limits`. */
  readonly maxConnectionAttempts: number;
}

/**
 * Decides when connections to endpoints are attempted, for all channels of the process: a bounded number at a time, a few
 * milliseconds of work at a time, and one at a time once the process is out of file descriptors.
 */
export class ConnectionAttempts {
  /** When each started, the oldest first. Without those that are slow. */
  private readonly inFlight = new Map<ConnectionAttempt, number>();
  /** Those that calls wait for. */
  private readonly urgent = new FairQueue<ConnectionAttempt>();
  private readonly waiting = new FairQueue<ConnectionAttempt>();
  private timer: Handle | undefined;
  /** When the timer fires. */
  private timerMs = Infinity;
  /** The work since the last break, and when it ended. */
  private workedMs = 0;
  private workEndMs = -Infinity;
  private connections = 0;
  private shortage: DescriptorShortage | undefined;

  constructor(private readonly options: ConnectionAttemptsOptions) {}

  /** Why attempts wait although few are in flight: the process is out of descriptors; else `undefined`. */
  get shortageText(): string | undefined {
    return this.shortage?.text;
  }

  /**
   * Starts the attempt now, if it may, or when its turn comes. To be called from the batch of the attempt.
   *
   * @param isUrgent Whether a call waits for it.
   */
  request(attempt: ConnectionAttempt, isUrgent: boolean): void {
    if (this.inFlight.has(attempt)) return;
    const now = this.options.clock.monotonicMs();
    const isFirst = this.urgent.size === 0 && (isUrgent || this.waiting.size === 0);
    if (isFirst && this.mayStart(now)) {
      this.waiting.delete(attempt);
      this.start(attempt, now);
    } else if (isUrgent) {
      this.waiting.delete(attempt);
      this.urgent.add(attempt);
    } else {
      this.waiting.add(attempt);
    }
    this.schedule(now);
  }

  /** Counts the attempt out: it is connected or has failed, with the error if any. */
  ended(attempt: ConnectionAttempt, error: string | null): void {
    this.inFlight.delete(attempt);
    const { clock } = this.options;
    const now = clock.monotonicMs();
    const code = error === null ? undefined : findShortage(error);
    if (code === undefined) this.shortage?.onAvailable();
    else this.onShortage(code, now);
    this.endShortage();
    this.schedule(now);
  }

  /** Forgets the attempt, whether it waits or is in flight. */
  delete(attempt: ConnectionAttempt): void {
    this.urgent.delete(attempt);
    this.waiting.delete(attempt);
    this.inFlight.delete(attempt);
    this.schedule(this.options.clock.monotonicMs());
  }

  /** Counts a connection that is up. */
  opened(): void {
    this.connections++;
  }

  /** Counts out a connection that was up: its descriptor is available in a moment. */
  closed(): void {
    this.connections--;
    if (this.shortage === undefined) return;
    const now = this.options.clock.monotonicMs();
    this.shortage.onClosed(now);
    this.schedule(now);
  }

  private onShortage(code: string, now: number): void {
    if (this.shortage !== undefined) {
      this.shortage.onExhausted(now);
      return;
    }
    const { random, logger } = this.options;
    this.shortage = new DescriptorShortage(code, random, now);
    const { text } = this.shortage;
    const { connections } = this;
    // The attempt that failed waits, too.
    const pending = this.pending + this.inFlight.size + 1;
    logger.error(
      () =>
        `xds: ${text}: ${connections} connections to endpoints are open, ${pending} more are pending; raise the limit of ` +
        'open files (ulimit -n), or use a policy that connects to fewer endpoints (random_subsetting, ring_hash, pick_first)',
    );
  }

  /** Ends the shortage once all that is pending could be attempted, or as much at a time as ever. */
  private endShortage(): void {
    const { shortage } = this;
    if (shortage === undefined || shortage.window === 0) return;
    const { maxConnectionAttempts, logger } = this.options;
    const isDone = this.pending === 0 && this.inFlight.size === 0;
    if (!isDone && shortage.window < maxConnectionAttempts) return;
    this.shortage = undefined;
    logger.info(() => `xds: recovered: connections can be opened again (${shortage.code})`);
  }

  /** How many attempts wait for their turn. */
  private get pending(): number {
    return this.urgent.size + this.waiting.size;
  }

  private mayStart(now: number): boolean {
    if (now - this.workEndMs >= BREAK_MS) this.workedMs = 0;
    return this.workedMs < SLICE_MS && this.hasRoom(now);
  }

  private hasRoom(now: number): boolean {
    const { maxConnectionAttempts } = this.options;
    this.shortage?.probeIfDue(now);
    const max = Math.min(maxConnectionAttempts, this.shortage?.window ?? Infinity);
    return this.inFlight.size < max;
  }

  private start(attempt: ConnectionAttempt, now: number): void {
    this.inFlight.set(attempt, now);
    attempt.start();
    this.workEndMs = this.options.clock.monotonicMs();
    this.workedMs += this.workEndMs - now;
  }

  private runSlice(): void {
    const { clock } = this.options;
    this.timer = undefined;
    this.timerMs = Infinity;
    let now = clock.monotonicMs();
    this.workedMs = 0;
    this.forgetSlow(now);
    while (this.pending > 0 && this.workedMs < SLICE_MS && this.hasRoom(now)) {
      const attempt = this.urgent.take() ?? this.waiting.take();
      if (attempt === undefined) break;
      const startMs = now;
      attempt.batch.run(() => this.start(attempt, startMs));
      now = clock.monotonicMs();
    }
    this.schedule(now);
  }

  private forgetSlow(now: number): void {
    for (const [attempt, startMs] of this.inFlight) {
      if (now - startMs < SLOW_MS) break;
      this.inFlight.delete(attempt);
    }
  }

  /** Sets the timer for the next slice, if attempts wait. */
  private schedule(now: number): void {
    const { clock } = this.options;
    const dueMs = this.pending === 0 ? Infinity : this.nextSliceMs(now);
    // A slice that comes too early finds out what to wait for.
    if (dueMs < Infinity && this.timerMs <= dueMs) return;
    this.timer?.release();
    this.timer = undefined;
    this.timerMs = dueMs;
    if (dueMs < Infinity) this.timer = clock.setTimer(() => this.runSlice(), dueMs - now);
  }

  private nextSliceMs(now: number): number {
    if (this.hasRoom(now)) return now + BREAK_MS;
    const probeMs = this.shortage?.window === 0 ? this.shortage.probeMs : Infinity;
    const [oldestMs] = this.inFlight.values();
    const slowMs = oldestMs === undefined ? Infinity : oldestMs + SLOW_MS;
    return Math.max(now + BREAK_MS, probeMs < Infinity ? probeMs : slowMs);
  }
}
