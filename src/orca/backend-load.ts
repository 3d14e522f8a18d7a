import { OrcaLoadReport } from '../wire/generated/xds/data/orca/v3/orca_load_report';

/**
 * The load a backend reports to its clients (gRFC A51). Omitted values are not reported, nor are values that are negative,
 * not finite, or above their limit.
 */
export interface BackendLoad {
  /** Utilization of the processors of the backend; 1 is full use. May exceed 1. */
  readonly cpuUtilization?: number | undefined;
  /** From 0 to 1. */
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
