import { UPDATE_BURST, UPDATES_PER_SECOND } from './limits';

/** How often one resource may be passed on to its watchers: a bucket of updates that fills up with time. */
export class UpdateBudget {
  private left = UPDATE_BURST;

  /** @param filledAtMs On the monotonic clock, as are all times here. */
  constructor(private filledAtMs: number) {}

  /** Spends one update. @returns milliseconds until there is one to spend; zero when it has been spent. */
  take(nowMs: number): number {
    const filled = this.left + ((nowMs - this.filledAtMs) * UPDATES_PER_SECOND) / 1000;
    this.left = Math.min(UPDATE_BURST, filled);
    this.filledAtMs = nowMs;
    if (this.left < 1) return ((1 - this.left) * 1000) / UPDATES_PER_SECOND;
    this.left--;
    return 0;
  }
}
