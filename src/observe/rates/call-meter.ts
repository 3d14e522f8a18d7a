import { bucketOf, percentile } from './latency-buckets';
import {
  CODES,
  COUNTS,
  FIRST_BUCKET,
  FIRST_CODE,
  TREND_SECONDS,
  TREND_SLOTS,
  WINDOW_SECONDS,
  isFailure,
  type RateSum,
} from './rate-sum';

// One more than is shown, for the time that has not passed yet.
const SECONDS = WINDOW_SECONDS + 1;
const SLOTS = TREND_SLOTS + 1;
/** The counts of one slot of the trend: started, failed, and the 99th percentile in microseconds, 0 without any. */
const SLOT_COUNTS = 3;
const P99 = 2;
const MAX_COUNT = 2 ** 16 - 1;
/** Older failures are no longer shown. */
const FORGOTTEN_MS = 1000 * SECONDS;

/**
 * Counts calls, or attempts of calls: those started, and those ended by status and latency, for each of the last ten seconds;
 * those started and failed, and the latency, for each ten seconds of the last five minutes. Its memory is the same however many there
 * are: 2.4 kB. More than 65,535 in one second count as that many.
 */
export class CallMeter {
  private readonly seconds = new Uint16Array(SECONDS * COUNTS);
  /** The sum of the seconds that are shown, so that a reader need not add them up. */
  private readonly window = new Uint32Array(COUNTS);
  private readonly trend = new Uint32Array(SLOTS * SLOT_COUNTS);
  /** The second that the slots have advanced to; -1 before the first count. */
  private second = -1;
  /** The second of the latest count. */
  private latest = -1;
  private running = 0;
  private failedAtMs = -Infinity;
  /** When a call failed for the first time after a window without failures. */
  private failingSinceMs = -Infinity;

  /** Counts the start of a call. */
  start(nowMs: number): void {
    this.advance(nowMs);
    this.latest = this.second;
    this.running++;
    this.count(0);
    this.countTrend(0);
  }

  /** Takes back a start: the call is sent elsewhere. */
  withdraw(nowMs: number): void {
    this.advance(nowMs);
    this.running--;
    const at = (this.second % SECONDS) * COUNTS;
    const started = this.seconds[at] ?? 0;
    // Otherwise the second in which it started has passed.
    if (started === 0) return;
    this.seconds[at] = started - 1;
    const slot = this.slotAt(0);
    this.trend[slot] = (this.trend[slot] ?? 1) - 1;
  }

  /** Counts the end of a call that was started. */
  end(nowMs: number, code: number, latencyMs: number): void {
    this.advance(nowMs);
    this.latest = this.second;
    this.running--;
    this.count(FIRST_CODE + (code < CODES - 1 ? code : CODES - 1));
    this.count(FIRST_BUCKET + bucketOf(latencyMs));
    if (!isFailure(code)) return;
    this.countTrend(1);
    if (nowMs - this.failedAtMs > FORGOTTEN_MS) this.failingSinceMs = nowMs;
    this.failedAtMs = nowMs;
  }

  /** Adds what was counted in the seconds and the slots that have passed. */
  addTo(sum: RateSum, nowMs: number): void {
    sum.inFlight += this.running;
    if (this.isForgotten(nowMs)) return;
    this.advance(nowMs);
    sum.addCounts(this.window);
    if (this.isFailing(nowMs)) sum.addFailing(this.failingSinceMs);
    const { trend } = this;
    for (let age = 1; age <= TREND_SLOTS; age++) {
      const at = this.slotAt(age);
      sum.addSlot(TREND_SLOTS - age, trend[at] ?? 0, trend[at + 1] ?? 0);
    }
  }

  /** Returns the 99th percentile in milliseconds for each slot of the trend that has passed, the oldest first; 0 without any. */
  latencyTrend(nowMs: number): readonly number[] {
    if (this.isForgotten(nowMs)) return [];
    this.advance(nowMs);
    return Array.from({ length: TREND_SLOTS }, (_, index) => {
      return (this.trend[this.slotAt(TREND_SLOTS - index) + P99] ?? 0) / 1000;
    });
  }

  /** Whether a call failed in the window, or in the current second. */
  isFailing(nowMs: number): boolean {
    return nowMs - this.failedAtMs <= FORGOTTEN_MS;
  }

  /** Returns how many were started in the seconds of the window that have passed. */
  startedBefore(nowMs: number): number {
    if (this.isForgotten(nowMs)) return 0;
    this.advance(nowMs);
    return this.window[0] ?? 0;
  }

  /** Whether nothing was counted for so long that all counts are of an earlier time. */
  private isForgotten(nowMs: number): boolean {
    return this.latest === -1 || nowMs / 1000 - this.latest > SLOTS * TREND_SECONDS;
  }

  /** Passes on to the present second: those in between have no counts. */
  private advance(nowMs: number): void {
    const now = Math.floor(nowMs / 1000);
    const before = this.second;
    if (now <= before) return;
    this.second = now;
    // After that many, all of them are without counts.
    const last = Math.min(now, before + SECONDS);
    for (let next = before + 1; next <= last; next++) this.beginSecond(next);
    const slot = Math.floor(now / TREND_SECONDS);
    const first = Math.max(Math.floor(before / TREND_SECONDS), slot - SLOTS) + 1;
    for (let next = first; next <= slot; next++) {
      const at = (next % SLOTS) * SLOT_COUNTS;
      this.trend.fill(0, at, at + SLOT_COUNTS);
    }
  }

  /** The second before is complete, and the place of this one has that of eleven seconds ago, which leaves the window. */
  private beginSecond(second: number): void {
    const { seconds, window } = this;
    const ended = ((second + SECONDS - 1) % SECONDS) * COUNTS;
    const place = (second % SECONDS) * COUNTS;
    for (let index = 0; index < COUNTS; index++) {
      const change = (seconds[ended + index] ?? 0) - (seconds[place + index] ?? 0);
      if (change !== 0) window[index] = (window[index] ?? 0) + change;
    }
    seconds.fill(0, place, place + COUNTS);
    if (second % TREND_SECONDS === 0) this.endSlot(second / TREND_SECONDS - 1);
  }

  /** The window has the same seconds as the slot that has passed. */
  private endSlot(slot: number): void {
    const p99 = percentile(this.window.subarray(FIRST_BUCKET), 0.99) ?? 0;
    this.trend[((slot + SLOTS) % SLOTS) * SLOT_COUNTS + P99] = Math.round(1000 * p99);
  }

  private count(what: number): void {
    const at = (this.second % SECONDS) * COUNTS + what;
    const count = this.seconds[at] ?? 0;
    if (count < MAX_COUNT) this.seconds[at] = count + 1;
  }

  private countTrend(what: number): void {
    const at = this.slotAt(0) + what;
    this.trend[at] = (this.trend[at] ?? 0) + 1;
  }

  /** @param age In slots. */
  private slotAt(age: number): number {
    const slot = Math.floor(this.second / TREND_SECONDS);
    return ((slot + SLOTS - age) % SLOTS) * SLOT_COUNTS;
  }
}
