import type { OutlierDetection } from '../../wire/generated/envoy/config/cluster/v3/outlier_detection';
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
  const fields = new Fields(violations);
  const baseEjectionTimeMs = fields.duration(
    message.baseEjectionTime,
    'base_ejection_time',
    DEFAULT_BASE_EJECTION_TIME_MS,
  );
  return {
    intervalMs: fields.duration(message.interval, 'interval', DEFAULT_INTERVAL_MS),
    baseEjectionTimeMs,
    maxEjectionTimeMs: fields.duration(
      message.maxEjectionTime,
      'max_ejection_time',
      Math.max(DEFAULT_MAX_EJECTION_TIME_MS, baseEjectionTimeMs),
    ),
    maxEjectionPercent: fields.percent(message.maxEjectionPercent, 'max_ejection_percent', 10),
    successRate: parseSuccessRate(message, fields),
    failurePercentage: parseFailurePercentage(message, fields),
  };
}

/** Reads fields of the message, with defaults for those that are unset. */
class Fields {
  constructor(private readonly violations: Violations) {}

  duration(value: ProtoDuration | undefined, field: string, defaultMs: number): number {
    return (value && durationToMs(value, this.violations.at(field))) ?? defaultMs;
  }

  percent(value: number | undefined, field: string, byDefault: number): number {
    if (value !== undefined && value > 100) {
      this.violations.at(field).add(`must not exceed 100, but is ${value}`);
    }
    return value ?? byDefault;
  }
}

/** On by default. */
function parseSuccessRate(
  message: OutlierDetection,
  fields: Fields,
): OutlierDetectionConfig['successRate'] {
  const enforcementPercentage = fields.percent(
    message.enforcingSuccessRate,
    'enforcing_success_rate',
    100,
  );
  if (enforcementPercentage === 0) return undefined;
  return {
    stdevFactor: message.successRateStdevFactor ?? 1900,
    enforcementPercentage,
    minimumHosts: message.successRateMinimumHosts ?? 5,
    requestVolume: message.successRateRequestVolume ?? 100,
  };
}

/** Off by default. */
function parseFailurePercentage(
  message: OutlierDetection,
  fields: Fields,
): OutlierDetectionConfig['failurePercentage'] {
  const enforcementPercentage = fields.percent(
    message.enforcingFailurePercentage,
    'enforcing_failure_percentage',
    0,
  );
  const threshold = fields.percent(
    message.failurePercentageThreshold,
    'failure_percentage_threshold',
    85,
  );
  if (enforcementPercentage === 0) return undefined;
  return {
    threshold,
    enforcementPercentage,
    minimumHosts: message.failurePercentageMinimumHosts ?? 5,
    requestVolume: message.failurePercentageRequestVolume ?? 50,
  };
}
