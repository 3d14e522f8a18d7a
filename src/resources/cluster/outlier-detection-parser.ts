import type { OutlierDetection } from '../../wire/generated/envoy/config/cluster/v3/outlier_detection';
import { durationToMs, type ProtoDuration } from '../../util/duration';
import type { Violations } from '../../util/violations';
import type { OutlierDetectionConfig } from './cluster';

const DEFAULT_INTERVAL_MS = 10_000;
const DEFAULT_BASE_MS = 30_000;
const DEFAULT_MAX_MS = 300_000;

/** Parses outlier detection, with the defaults of gRFC A50. The value counts only if no violation was added. */
export function parseOutlierDetection(
  message: OutlierDetection,
  violations: Violations,
): OutlierDetectionConfig {
  const duration = (value: ProtoDuration | undefined, field: string, defaultMs: number): number =>
    (value && durationToMs(value, violations.at(field))) ?? defaultMs;
  const percent = (field: string, value: number): number => {
    if (value > 100) violations.at(field).add(`must not exceed 100, but is ${value}`);
    return value;
  };
  const { maxEjectionPercent = 10, enforcingSuccessRate = 100 } = message;
  const { enforcingFailurePercentage = 0, failurePercentageThreshold = 85 } = message;
  const baseEjectionTimeMs = duration(
    message.baseEjectionTime,
    'base_ejection_time',
    DEFAULT_BASE_MS,
  );
  const maxMs = Math.max(DEFAULT_MAX_MS, baseEjectionTimeMs);
  return {
    intervalMs: duration(message.interval, 'interval', DEFAULT_INTERVAL_MS),
    baseEjectionTimeMs,
    maxEjectionTimeMs: duration(message.maxEjectionTime, 'max_ejection_time', maxMs),
    maxEjectionPercent: percent('max_ejection_percent', maxEjectionPercent),
    successRate: unlessOff({
      stdevFactor: message.successRateStdevFactor ?? 1900,
      enforcementPercentage: percent('enforcing_success_rate', enforcingSuccessRate),
      minimumHosts: message.successRateMinimumHosts ?? 5,
      requestVolume: message.successRateRequestVolume ?? 100,
    }),
    failurePercentage: unlessOff({
      threshold: percent('failure_percentage_threshold', failurePercentageThreshold),
      enforcementPercentage: percent('enforcing_failure_percentage', enforcingFailurePercentage),
      minimumHosts: message.failurePercentageMinimumHosts ?? 5,
      requestVolume: message.failurePercentageRequestVolume ?? 50,
    }),
  };
}

function unlessOff<T extends { readonly enforcementPercentage: number }>(way: T): T | undefined {
  return way.enforcementPercentage === 0 ? undefined : way;
}
