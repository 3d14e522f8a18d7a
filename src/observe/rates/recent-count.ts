/** A count is forgotten after one to two times this long. */
const PERIOD_MS = 150_000;

/** Counts what happened in the last two and a half to five minutes, or since it was cleared. */
export class RecentCount {
  private period = 0;
  private current = 0;
  private previous = 0;

  /** @param by -1 to take one back. */
  add(nowMs: number, by = 1): void {
    this.advance(nowMs);
    this.current = Math.max(0, this.current + by);
  }

  read(nowMs: number): number {
    this.advance(nowMs);
    return this.previous + this.current;
  }

  clear(): void {
    this.current = this.previous = 0;
  }

  private advance(nowMs: number): void {
    const period = Math.floor(nowMs / PERIOD_MS);
    if (period === this.period) return;
    this.previous = period === this.period + 1 ? this.current : 0;
    this.current = 0;
    this.period = period;
  }
}
