import { OrcaLoadReport } from '../generated/xds/data/orca/v3/orca_load_report';

/**
 * The load of a backend as it tells its clients (gRFC A51). Whatever is left out is not reported, and so is a value
 * that is negative, not finite, or above the limit of its kind.
 */
export interface BackendLoad {
  /** 1 is the full use of the processors the backend has; may exceed 1. */
  readonly cpuUtilization?: number | undefined;
  /** From 0 to 1. */
  readonly memoryUtilization?: number | undefined;
  /**
   * How busy the application thinks it is; may exceed 1. `weighted_round_robin` goes by it rather than by
   * `cpuUtilization` if it is above 0 (gRFC A58).
   */
  readonly applicationUtilization?: number | undefined;
  /** Calls that come in. */
  readonly queriesPerSecond?: number | undefined;
  /** Of the queries, those that failed. */
  readonly errorsPerSecond?: number | undefined;
  /** Use of further resources, each from 0 to 1. */
  readonly utilization?: Readonly<Record<string, number>> | undefined;
  /** Values only the application can interpret. Clusters can ask for them in load reports (gRFC A85). */
  readonly namedMetrics?: Readonly<Record<string, number>> | undefined;
}

/** What one call adds to the load of its backend. */
export interface CallLoad extends BackendLoad {
  /** What this call cost, by kind. */
  readonly requestCost?: Readonly<Record<string, number>> | undefined;
}

/** Both loads as one; the second one wins. */
export function mergeLoads(first: CallLoad, second: CallLoad): CallLoad {
  return {
    ...first,
    ...withoutUndefined(second),
    utilization: { ...first.utilization, ...second.utilization },
    namedMetrics: { ...first.namedMetrics, ...second.namedMetrics },
    requestCost: { ...first.requestCost, ...second.requestCost },
  };
}

/** Writes a report as it goes over the wire. */
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

/** @returns 0, which on the wire is the same as nothing, for what cannot be. */
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
