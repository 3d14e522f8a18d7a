import type { OutlierDetection } from '../../generated/envoy/config/cluster/v3/outlier_detection';
import { durationToMs, type ProtoDuration } from '../../util/duration';
import type { Violations } from '../../util/violations';
import type { OutlierDetectionConfig } from './cluster';

const DEFAULT_INTERVAL_MS = 10_000;
const DEFAULT_BASE_EJECTION_TIME_MS = 30_000;
const DEFAULT_MAX_EJECTION_TIME_MS = 300_000;

/** Parses outlier detection, with the defaults of gRFC A50. The value counts only if no violation was added. */
export function parseOutlierDetection(
  message: OutlierDetection,
  violations: Violations,
): OutlierDetectionConfig {
  const duration = (value: ProtoDuration | undefined, field: string, defaultMs: number) =>
    (value && durationToMs(value, violations.at(field))) ?? defaultMs;
  const percent = (value: number | undefined, field: string, byDefault: number) => {
    if (value !== undefined && value > 100)
      violations.at(field).add(`must not exceed 100, but is ${value}`);
    return value ?? byDefault;
  };
  const baseEjectionTimeMs = duration(
    message.baseEjectionTime,
    'base_ejection_time',
    DEFAULT_BASE_EJECTION_TIME_MS,
  );
  // Left unset, the first is on and the second is off.
  const enforcingSuccessRate = percent(message.enforcingSuccessRate, 'enforcing_success_rate', 100);
  const enforcingFailurePercentage = percent(
    message.enforcingFailurePercentage,
    'enforcing_failure_percentage',
    0,
  );
  const threshold = percent(message.failurePercentageThreshold, 'failure_percentage_threshold', 85);
  return {
    intervalMs: duration(message.interval, 'interval', DEFAULT_INTERVAL_MS),
    baseEjectionTimeMs,
    maxEjectionTimeMs: duration(
      message.maxEjectionTime,
      'max_ejection_time',
      Math.max(DEFAULT_MAX_EJECTION_TIME_MS, baseEjectionTimeMs),
    ),
    maxEjectionPercent: percent(message.maxEjectionPercent, 'max_ejection_percent', 10),
    successRate:
      enforcingSuccessRate === 0
        ? undefined
        : {
            stdevFactor: message.successRateStdevFactor ?? 1900,
            enforcementPercentage: enforcingSuccessRate,
            minimumHosts: message.successRateMinimumHosts ?? 5,
            requestVolume: message.successRateRequestVolume ?? 100,
          },
    failurePercentage:
      enforcingFailurePercentage === 0
        ? undefined
        : {
            threshold,
            enforcementPercentage: enforcingFailurePercentage,
            minimumHosts: message.failurePercentageMinimumHosts ?? 5,
            requestVolume: message.failurePercentageRequestVolume ?? 50,
          },
  };
}
