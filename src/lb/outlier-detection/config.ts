import type { OutlierDetectionConfig } from '../../resources/cluster/cluster';
import type { LbConfig } from '../../resources/extension-points';
import { parseObject, readDurationMs, readInteger, type JsonFields } from '../../util/json-fields';
import { shareFields } from '../../util/share';
import type { Violations } from '../../util/violations';
import type { LbChildParser } from '../lb-policy';
import { readChildPolicy } from '../registry/policy-config';

export const OUTLIER_DETECTION = 'outlier_detection_experimental';

/** The config of `outlier_detection_experimental` (gRFC A50). */
export class OutlierDetectionLbConfig implements LbConfig {
  /** @param policyName The name of the policy in the config: one of two. */
  constructor(
    readonly detection: OutlierDetectionConfig,
    readonly childPolicy: LbConfig,
    readonly policyName: string = OUTLIER_DETECTION,
  ) {}
}

/** Whether an algorithm is configured; without one, detection is off. */
export function isDetecting(detection: OutlierDetectionConfig): boolean {
  return detection.successRate !== undefined || detection.failurePercentage !== undefined;
}

/** Detection without an algorithm, the no-op config of gRFC A50. */
export const NO_DETECTION: OutlierDetectionConfig = {
  intervalMs: 10_000,
  baseEjectionTimeMs: 30_000,
  maxEjectionTimeMs: 300_000,
  maxEjectionPercent: 10,
  successRate: undefined,
  failurePercentage: undefined,
};

/** Returns the previous settings if they are equal, otherwise the next ones. */
export function shareDetection(
  previous: OutlierDetectionConfig | undefined,
  next: OutlierDetectionConfig,
): OutlierDetectionConfig {
  return shareFields(previous, {
    ...next,
    successRate: shareFields(previous?.successRate, next.successRate),
    failurePercentage: shareFields(previous?.failurePercentage, next.failurePercentage),
  });
}

const UINT32 = { min: 0, max: 2 ** 32 - 1 };
const PERCENT = { min: 0, max: 100 };
const DEFAULT_MAX_EJECTION_TIME_MS = 300_000;

/**
 * Validates the JSON config. An algorithm, `successRateEjection` or `failurePercentageEjection`, is used if it is
 * present, even without any fields.
 */
export function parseOutlierDetectionConfig(
  json: unknown,
  violations: Violations,
  parser: LbChildParser,
  policyName: string = OUTLIER_DETECTION,
): OutlierDetectionLbConfig | undefined {
  return parseObject(json, violations, (fields) => {
    const baseEjectionTimeMs = readDurationMs(fields, 'baseEjectionTime', 30_000, violations);
    const maxEjectionTimeMs = Math.max(DEFAULT_MAX_EJECTION_TIME_MS, baseEjectionTimeMs);
    const detection: OutlierDetectionConfig = {
      intervalMs: readDurationMs(fields, 'interval', 10_000, violations),
      baseEjectionTimeMs,
      maxEjectionTimeMs: readDurationMs(fields, 'maxEjectionTime', maxEjectionTimeMs, violations),
      maxEjectionPercent: readWithin(PERCENT, fields, 'maxEjectionPercent', 10, violations),
      successRate: readAlgorithm(fields, 'successRateEjection', violations, parseSuccessRate),
      failurePercentage: readAlgorithm(
        fields,
        'failurePercentageEjection',
        violations,
        parseFailurePercentage,
      ),
    };
    const childPolicy = readChildPolicy(fields, violations, parser);
    return childPolicy && new OutlierDetectionLbConfig(detection, childPolicy, policyName);
  });
}

function readAlgorithm<T>(
  fields: JsonFields,
  name: string,
  violations: Violations,
  read: (fields: JsonFields, violations: Violations) => T,
): T | undefined {
  const at = violations.at(name);
  if (!fields.has(name)) return undefined;
  return parseObject(fields.get(name), at, (own) => read(own, at));
}

function parseSuccessRate(fields: JsonFields, violations: Violations) {
  return {
    stdevFactor: readWithin(UINT32, fields, 'stdevFactor', 1900, violations),
    ...parseGate(fields, 100, violations),
  };
}

function parseFailurePercentage(fields: JsonFields, violations: Violations) {
  return {
    threshold: readWithin(PERCENT, fields, 'threshold', 85, violations),
    ...parseGate(fields, 50, violations),
  };
}

function parseGate(fields: JsonFields, requestVolume: number, violations: Violations) {
  return {
    enforcementPercentage: readWithin(PERCENT, fields, 'enforcementPercentage', 100, violations),
    minimumHosts: readWithin(UINT32, fields, 'minimumHosts', 5, violations),
    requestVolume: readWithin(UINT32, fields, 'requestVolume', requestVolume, violations),
  };
}

function readWithin(
  bounds: typeof UINT32,
  fields: JsonFields,
  name: string,
  byDefault: number,
  violations: Violations,
): number {
  return readInteger(fields.get(name) ?? byDefault, bounds, violations.at(name)) ?? byDefault;
}
