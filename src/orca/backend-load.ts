import { OrcaLoadReport } from '../wire/generated/xds/data/orca/v3/orca_load_report';
import { mapOf, NUMBER, optional, type MembersOf } from '../util/check-arguments';
import type { Clock } from '../util/clock';

/**
 * The load a backend reports to its clients (gRFC A51). Omitted values are not reported, nor are values that are negative,
 * not finite, or above their limit.
 */
export interface BackendLoad {
  /** Utilization of the processors of the backend; 1 is full use. May exceed 1. */
  readonly cpuUtilization?: number | undefined;
  /** Utilization of the memory of the backend, from 0 to 1. */
  readonly memoryUtilization?: number | undefined;
  /**
   * Utilization as defined by the application; may exceed 1. If above 0, `weighted_round_robin` uses it instead of
   * `cpuUtilization` (gRFC A58).
   */
  readonly applicationUtilization?: number | undefined;
  /** Received calls per second. */
  readonly queriesPerSecond?: number | undefined;
  /** Failed calls per second, included in `queriesPerSecond`. */
  readonly errorsPerSecond?: number | undefined;
  /** Utilization of other resources, by name, from 0 to 1. */
  readonly utilization?: Readonly<Record<string, number>> | undefined;
  /** Metrics of the application, by name. A cluster can forward them in load reports (gRFC A85). */
  readonly namedMetrics?: Readonly<Record<string, number>> | undefined;
}

/** The load of one call, which is merged into the load of its backend. */
export interface CallLoad extends BackendLoad {
  /** Cost of the call, by name. */
  readonly requestCost?: Readonly<Record<string, number>> | undefined;
}

const NUMBERS = optional(mapOf('an object of numbers', NUMBER));

/** What the load of a call must be. Numbers that cannot be reported are left out instead. */
export const CALL_LOAD: MembersOf<CallLoad> = {
  cpuUtilization: optional(NUMBER),
  memoryUtilization: optional(NUMBER),
  applicationUtilization: optional(NUMBER),
  queriesPerSecond: optional(NUMBER),
  errorsPerSecond: optional(NUMBER),
  utilization: NUMBERS,
  namedMetrics: NUMBERS,
  requestCost: NUMBERS,
};

/** Merges two loads. Values of the second take precedence. */
export function mergeLoads(first: CallLoad, second: CallLoad): CallLoad {
  return {
    ...first,
    ...withoutUndefined(second),
    utilization: { ...first.utilization, ...second.utilization },
    namedMetrics: { ...first.namedMetrics, ...second.namedMetrics },
    requestCost: { ...first.requestCost, ...second.requestCost },
  };
}

/** Encodes a report. */
export function encodeLoad(load: CallLoad): Buffer {
  const report = OrcaLoadReport.create({
    cpuUtilization: within(load.cpuUtilization),
    memUtilization: within(load.memoryUtilization, 1),
    applicationUtilization: within(load.applicationUtilization),
    rpsFractional: within(load.queriesPerSecond),
    eps: within(load.errorsPerSecond),
    utilization: toMap(load.utilization, (value) => value >= 0 && value <= 1),
    requestCost: toMap(load.requestCost, Number.isFinite),
    namedMetrics: toMap(load.namedMetrics, Number.isFinite),
  });
  return Buffer.from(OrcaLoadReport.encode(report).finish());
}

/** Returns 0, the proto3 default, for an absent or invalid value. */
function within(value: number | undefined, limit = Number.MAX_VALUE): number {
  return value !== undefined && value >= 0 && value <= limit ? value : 0;
}

function toMap(
  numbers: Readonly<Record<string, number>> | undefined,
  isValid: (value: number) => boolean,
) {
  return new Map(Object.entries(numbers ?? {}).filter(([, value]) => isValid(value)));
}

function withoutUndefined(load: CallLoad): CallLoad {
  return Object.fromEntries(Object.entries(load).filter(([, value]) => value !== undefined));
}

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
