import type { Clock } from '../util/clock';
import type { BackendLoad } from './backend-load';

/** What has happened until some moment. */
interface Totals {
  readonly atMs: number;
  readonly queries: number;
  readonly errors: number;
  /** Milliseconds of processor time, of all threads. */
  readonly cpuMs: number;
}

/** Rates are those of about this many milliseconds. */
const WINDOW_MS = 10_000;
const SAMPLE_EVERY_MS = 1000;

/**
 * Measures queries and errors per second and the processor time used, as means of the last ten seconds. It has no
 * timer: it looks when it is asked.
 */
export class LoadMeter {
  private queries = 0;
  private errors = 0;
  /** The oldest first; never empty. */
  private readonly samples: Totals[];

  /** @param cpuMs Milliseconds of processor time this process has used so far. */
  constructor(
    private readonly clock: Clock,
    private readonly cpuMs: () => number,
  ) {
    this.samples = [this.total()];
  }

  /** A call has begun. */
  countQuery(): void {
    this.queries++;
  }

  /** A call has failed. */
  countError(): void {
    this.errors++;
  }

  /** The load now; empty before any time has passed. */
  read(): BackendLoad {
    const now = this.total();
    const oldest = this.samples.find(({ atMs }) => now.atMs - atMs <= WINDOW_MS) ?? this.newest;
    this.keep(now);
    const ms = now.atMs - oldest.atMs;
    if (ms <= 0) return {};
    return {
      cpuUtilization: (now.cpuMs - oldest.cpuMs) / ms,
      queriesPerSecond: ((now.queries - oldest.queries) * 1000) / ms,
      errorsPerSecond: ((now.errors - oldest.errors) * 1000) / ms,
    };
  }

  private get newest(): Totals {
    return this.samples.at(-1) ?? this.total();
  }

  private keep(now: Totals): void {
    if (now.atMs - this.newest.atMs < SAMPLE_EVERY_MS) return;
    this.samples.push(now);
    while (now.atMs - (this.samples[0]?.atMs ?? now.atMs) > WINDOW_MS) this.samples.shift();
  }

  private total(): Totals {
    const { queries, errors, clock } = this;
    return { atMs: clock.monotonicMs(), queries, errors, cpuMs: this.cpuMs() };
  }
}

/** The processor time of this process. */
export function processCpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
