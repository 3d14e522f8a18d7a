import type { Clock } from '../util/clock';
import type { BackendLoad } from './backend-load';

/** The counters at one moment. */
interface Sample {
  readonly atMs: number;
  readonly queries: number;
  readonly errors: number;
  /** Processor time of all threads, in milliseconds. */
  readonly cpuMs: number;
}

/** The window of the rates, in milliseconds. */
const WINDOW_MS = 10_000;
const SAMPLE_EVERY_MS = 1000;

/**
 * Measures queries per second, errors per second and processor utilization, as means of the last ten seconds. Samples are
 * taken by `read`; there is no timer.
 */
export class LoadMeter {
  private queries = 0;
  private errors = 0;
  /** Oldest first; never empty. */
  private readonly samples: Sample[];

  /** @param cpuMs Returns the processor time used so far, in milliseconds. */
  constructor(
    private readonly clock: Clock,
    private readonly cpuMs: () => number,
  ) {
    this.samples = [this.takeSample()];
  }

  /** Counts a received call. */
  countQuery(): void {
    this.queries++;
  }

  /** Counts a failed call. */
  countError(): void {
    this.errors++;
  }

  /** Returns the load; empty if no time has passed since the creation. */
  read(): BackendLoad {
    const now = this.takeSample();
    const oldest = this.samples.find(({ atMs }) => now.atMs - atMs <= WINDOW_MS) ?? this.newest;
    this.addSample(now);
    const ms = now.atMs - oldest.atMs;
    if (ms <= 0) return {};
    return {
      cpuUtilization: (now.cpuMs - oldest.cpuMs) / ms,
      queriesPerSecond: ((now.queries - oldest.queries) * 1000) / ms,
      errorsPerSecond: ((now.errors - oldest.errors) * 1000) / ms,
    };
  }

  private get newest(): Sample {
    return this.samples.at(-1) ?? this.takeSample();
  }

  private addSample(now: Sample): void {
    if (now.atMs - this.newest.atMs < SAMPLE_EVERY_MS) return;
    this.samples.push(now);
    while (now.atMs - (this.samples[0]?.atMs ?? now.atMs) > WINDOW_MS) this.samples.shift();
  }

  private takeSample(): Sample {
    const { queries, errors, clock } = this;
    return { atMs: clock.monotonicMs(), queries, errors, cpuMs: this.cpuMs() };
  }
}

/** Returns the processor time this process has used, in milliseconds. */
export function processCpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
