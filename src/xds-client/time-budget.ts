import { MAX_TIME_DEBT_MS, TIME_BURST_MS } from './limits';

/**
 * The time that configuration may take: a bucket that is emptied by everything done in the client's queue,
 * from decoding a response to applying it, and fills up with a share of the time that passes.
 */
export class TimeBudget {
  private leftMs = TIME_BURST_MS;

  /**
   * @param share Of the time, at most 1.
   * @param filledAtMs On the monotonic clock, as are all times here.
   */
  constructor(
    private readonly share: number,
    private filledAtMs: number,
  ) {}

  /** Takes the time that something took; one update takes no more than is owed for some seconds. */
  spend(costMs: number, nowMs: number): void {
    this.fill(nowMs);
    this.leftMs = Math.max(this.leftMs - costMs, -MAX_TIME_DEBT_MS);
  }

  /** Milliseconds until the next response may be read; zero while there is time left. */
  waitMs(nowMs: number): number {
    this.fill(nowMs);
    return this.leftMs >= 0 ? 0 : -this.leftMs / this.share;
  }

  private fill(nowMs: number): void {
    const filled = this.leftMs + (nowMs - this.filledAtMs) * this.share;
    this.leftMs = Math.min(TIME_BURST_MS, filled);
    this.filledAtMs = nowMs;
  }
}
