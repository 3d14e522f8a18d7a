import {
  BESIDE_FACTOR,
  BYTES_PER_MS,
  cacheLimit,
  DEFAULT_TIME_PERCENT,
  MAX_TIME_DEBT_MS,
  MESSAGE_COST_MS,
  READ_TURN_MS,
  TIME_BURST_MS,
} from './limits';
import type { ElementLimit } from './resource-type';

/**
 * The time that configuration may take: a token bucket. Everything done in the client's serializer takes from it, from
 * decoding a response to applying it and sending the answer, and so does what policies apply of it in later turns, and
 * each response for what it costs the transport; it fills with a share of the time that passes.
 */
export class TimeBudget {
  private leftMs = TIME_BURST_MS;
  /** When reading began after the last break. */
  private turnStartedAtMs = -Infinity;
  /** When the work on the last response ended. */
  private turnEndedAtMs = -Infinity;

  /**
   * @param share Of the time, at most 1.
   * @param filledAtMs On the monotonic clock, as are all times here.
   */
  constructor(
    private readonly share: number,
    private filledAtMs: number,
  ) {}

  /** Takes what a response costs the transport. @param bytes Its length. */
  receive(bytes: number, nowMs: number): void {
    if (nowMs - this.turnEndedAtMs >= READ_TURN_MS) this.beginTurn(nowMs);
    this.fill(nowMs, MESSAGE_COST_MS + bytes / BYTES_PER_MS);
  }

  /** Whether responses have been read for so long without a break that other work is due before the next one. */
  isTurnOver(nowMs: number): boolean {
    this.turnEndedAtMs = nowMs;
    return nowMs - this.turnStartedAtMs >= READ_TURN_MS;
  }

  /** Whether configuration has lately taken so much more than its share that less than half of the burst is left. */
  isFlooded(nowMs: number): boolean {
    this.fill(nowMs);
    return this.leftMs < TIME_BURST_MS / 2;
  }

  /** Notes a break. */
  beginTurn(nowMs: number): void {
    this.turnStartedAtMs = nowMs;
  }

  /** Takes the time that a task took, with what is done for it beside, up to the greatest debt. */
  spend(costMs: number, nowMs: number): void {
    this.fill(nowMs, costMs * BESIDE_FACTOR);
  }

  /** Milliseconds until the next response may be read; zero while there is time left. */
  waitMs(nowMs: number): number {
    this.fill(nowMs);
    return this.leftMs >= 0 ? 0 : -this.leftMs / this.share;
  }

  /** Adds the share of the time that has passed, and takes a cost. */
  private fill(nowMs: number, costMs = 0): void {
    const filled = this.leftMs + (nowMs - this.filledAtMs) * this.share;
    this.leftMs = Math.max(Math.min(TIME_BURST_MS, filled) - costMs, -MAX_TIME_DEBT_MS);
    this.filledAtMs = nowMs;
  }
}

/** Counts what the resources of all management servers have, by the limit it counts against. */
export class ElementCounts {
  private readonly counts = new Map<ElementLimit, number>();

  /** Returns how many elements count against the limit. */
  of(limit: ElementLimit): number {
    return this.counts.get(limit) ?? 0;
  }

  /** Adds a number of elements, or removes them if it is negative. */
  add(limit: ElementLimit, count: number): void {
    this.counts.set(limit, this.of(limit) + count);
  }
}

/** What the management servers of a process share: the time and the memory that their resources may take. */
export interface Budgets {
  readonly time: TimeBudget;
  readonly elements: ElementCounts;
  /** The limit on what all cached resources take. */
  readonly cacheLimit: ElementLimit;
}

/** Creates the budgets of a process. @param limits See `Limits`. @param nowMs On the monotonic clock. */
export function createBudgets(
  limits: { readonly maxUpdateTimePercent?: number; readonly maxCachedBytes?: number },
  nowMs: number,
): Budgets {
  const { maxUpdateTimePercent = DEFAULT_TIME_PERCENT, maxCachedBytes } = limits;
  const time = new TimeBudget(Math.min(maxUpdateTimePercent, 100) / 100, nowMs);
  return { time, elements: new ElementCounts(), cacheLimit: cacheLimit(maxCachedBytes) };
}
