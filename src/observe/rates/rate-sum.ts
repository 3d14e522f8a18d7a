import { MAX_STATUS_CODE, StatusCode, statusName } from '../../util/status-code';
import { toIso } from '../../util/since';
import { BUCKETS, percentile } from './latency-buckets';

/** The complete seconds over which rates and latencies are shown. */
export const WINDOW_SECONDS = 10;
/** The slots of a trend: five minutes. */
export const TREND_SLOTS = 30;
/** The seconds of each. */
export const TREND_SECONDS = 10;
const SLOT_MS = 1000 * TREND_SECONDS;

/** The defined status codes, and one for all others. */
export const CODES = MAX_STATUS_CODE + 2;

// The counts of one second: calls started, then those ended by status, then those ended by latency.
export const FIRST_CODE = 1;
export const FIRST_BUCKET = FIRST_CODE + CODES;
/** The number of counts of one second. */
export const COUNTS = FIRST_BUCKET + BUCKETS;

/** Whether a status is a failure. CANCELLED is not: applications cancel calls whose result they no longer need. */
export function isFailure(code: number): boolean {
  return code !== StatusCode.OK && code !== StatusCode.CANCELLED;
}

/** Statuses that are shown of one row. */
const MAX_STATUSES = 4;

/**
 * The rates of a row, in columns. Those of targets, routes and the clusters of a route count calls, each once; those of
 * clusters, localities and endpoints count attempts on connections, of which a call that is retried has several.
 */
export interface RateColumns {
  readonly counts: 'calls' | 'attempts';
  /** Started in a second, on average of the last ten complete seconds, or of those since counting began. */
  readonly rate: number;
  /** Failed in a second, on the same average. */
  readonly errorRate: number;
  /** The number of seconds, if it is not ten. */
  readonly seconds?: number;
  /** How many ended with CANCELLED in these seconds; absent if none. */
  readonly cancelled?: number;
  /** How many failed in these seconds with which status, such as `UNAVAILABLE 3`, the most frequent first; at most four. */
  readonly errors: readonly string[];
  /** The time of the first failure after ten seconds without one, in ISO format; absent while nothing fails. */
  readonly failingSince?: string;
  /** The milliseconds from the start to the status, of those that ended in these seconds, at most 13 % off; absent without any. */
  readonly p50?: number;
  readonly p99?: number;
  /** Those that were started since counting began, and have not ended. */
  readonly inFlight: number;
  /** Started in a second, for each ten seconds of the last five minutes, the oldest first; absent before the first ten. */
  readonly trend?: readonly number[];
  /** Failed in a second, for the same times; absent if none did. */
  readonly errorTrend?: readonly number[];
}

/** The sum of what several meters have counted. */
export class RateSum {
  inFlight = 0;
  private failingSinceMs = Infinity;
  private readonly counts = new Float64Array(COUNTS);
  private readonly trend = new Float64Array(TREND_SLOTS);
  private readonly errorTrend = new Float64Array(TREND_SLOTS);

  /** Adds the counts of the seconds that are shown. */
  addCounts(counts: Uint32Array): void {
    for (let index = 0; index < COUNTS; index++) {
      this.counts[index] = (this.counts[index] ?? 0) + (counts[index] ?? 0);
    }
  }

  /** Adds the counts of one slot of the trend, 0 for the oldest. */
  addSlot(slot: number, started: number, failed: number): void {
    this.trend[slot] = (this.trend[slot] ?? 0) + started;
    this.errorTrend[slot] = (this.errorTrend[slot] ?? 0) + failed;
  }

  /** Adds the time at which a meter began to see failures. */
  addFailing(sinceMs: number): void {
    this.failingSinceMs = Math.min(this.failingSinceMs, sinceMs);
  }

  /**
   * @param sinceMs When counting began.
   * @param epochMs The time of day at which the monotonic clock was 0.
   */
  toColumns(
    counts: RateColumns['counts'],
    { sinceMs, nowMs, epochMs }: { sinceMs: number; nowMs: number; epochMs: number },
  ): RateColumns {
    const counted = Math.floor(nowMs / 1000) - sinceMs / 1000;
    const seconds = Math.min(Math.max(counted, 1), WINDOW_SECONDS);
    const codes = this.counts.subarray(FIRST_CODE, FIRST_BUCKET);
    const failed = codes.reduce((sum, count, code) => (isFailure(code) ? sum + count : sum), 0);
    const cancelled = codes[StatusCode.CANCELLED] ?? 0;
    const latencies = this.counts.subarray(FIRST_BUCKET);
    const [p50, p99] = [percentile(latencies, 0.5), percentile(latencies, 0.99)];
    const [first, now] = [Math.ceil(sinceMs / SLOT_MS), Math.floor(nowMs / SLOT_MS)];
    const slots = Math.min(Math.max(now - first, 0), TREND_SLOTS);
    const hasErrors = this.errorTrend.some((count) => count > 0);
    return {
      counts,
      rate: round((this.counts[0] ?? 0) / seconds),
      errorRate: round(failed / seconds),
      errors: describeErrors(codes),
      ...(seconds < WINDOW_SECONDS && { seconds: Math.round(seconds) }),
      ...(cancelled > 0 && { cancelled }),
      ...(failed > 0 &&
        this.failingSinceMs < Infinity && { failingSince: toIso(epochMs + this.failingSinceMs) }),
      ...(p50 !== undefined && p99 !== undefined && { p50: round(p50), p99: round(p99) }),
      inFlight: this.inFlight,
      ...(slots > 0 && { trend: toTrend(this.trend, slots) }),
      ...(slots > 0 && hasErrors && { errorTrend: toTrend(this.errorTrend, slots) }),
    };
  }
}

function toTrend(counts: Float64Array, slots: number): readonly number[] {
  return [...counts.subarray(-slots)].map((count) => round(count / TREND_SECONDS));
}

function describeErrors(codes: Float64Array): readonly string[] {
  return [...codes.entries()]
    .filter(([code, count]) => isFailure(code) && count > 0)
    .sort(([, a], [, b]) => b - a)
    .slice(0, MAX_STATUSES)
    .map(([code, count]) => `${code > MAX_STATUS_CODE ? 'other' : statusName(code)} ${count}`);
}

/** Rounds to three digits, and three decimals: more would change with each reading, and say nothing. */
function round(value: number): number {
  const scale = value >= 100 ? 1 : value >= 10 ? 10 : value >= 1 ? 100 : 1000;
  return Math.round(value * scale) / scale;
}
