import { formatDurationString } from '../../util/duration';
import { readDurationMs, readInteger, readObject, type JsonFields } from '../../util/json-fields';
import type { LbConfig } from '../../resources/extension-points';
import type { OutlierDetectionConfig } from '../../resources/cluster/cluster';
import type { Violations } from '../../util/violations';
import type { LbChildParser } from '../lb-policy';
import { childPolicyToJson } from '../policy-json';

/** The gRPC name of the policy. */
export const OUTLIER_DETECTION = 'outlier_detection_experimental';

/** The config of `outlier_detection_experimental` (gRFC A50). */
export class OutlierDetectionLbConfig implements LbConfig {
  /** @param policyName Under which of its names the policy is configured. */
  constructor(
    readonly detection: OutlierDetectionConfig,
    readonly childPolicy: LbConfig,
    readonly policyName: string = OUTLIER_DETECTION,
  ) {}

  toJson(): object {
    const { detection } = this;
    const { successRate, failurePercentage } = detection;
    return {
      interval: formatDurationString(detection.intervalMs),
      baseEjectionTime: formatDurationString(detection.baseEjectionTimeMs),
      maxEjectionTime: formatDurationString(detection.maxEjectionTimeMs),
      maxEjectionPercent: detection.maxEjectionPercent,
      ...(successRate && { successRateEjection: successRate }),
      ...(failurePercentage && { failurePercentageEjection: failurePercentage }),
      childPolicy: childPolicyToJson(this.childPolicy),
    };
  }
}

/** Whether any algorithm is configured. Without one, detection is off. */
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

/** Whether two configs are equal. */
export function sameDetection(a: OutlierDetectionConfig, b: OutlierDetectionConfig): boolean {
  return (
    a === b ||
    (a.intervalMs === b.intervalMs &&
      a.baseEjectionTimeMs === b.baseEjectionTimeMs &&
      a.maxEjectionTimeMs === b.maxEjectionTimeMs &&
      a.maxEjectionPercent === b.maxEjectionPercent &&
      a.successRate?.stdevFactor === b.successRate?.stdevFactor &&
      a.failurePercentage?.threshold === b.failurePercentage?.threshold &&
      sameGate(a.successRate, b.successRate) &&
      sameGate(a.failurePercentage, b.failurePercentage))
  );
}

/** The settings that both algorithms have. */
interface Gate {
  readonly enforcementPercentage: number;
  readonly minimumHosts: number;
  readonly requestVolume: number;
}

function sameGate(a: Gate | undefined, b: Gate | undefined): boolean {
  return (
    a?.enforcementPercentage === b?.enforcementPercentage &&
    a?.minimumHosts === b?.minimumHosts &&
    a?.requestVolume === b?.requestVolume
  );
}

const UINT32 = { min: 0, max: 2 ** 32 - 1 };
const PERCENT = { min: 0, max: 100 };
const DEFAULT_BASE_EJECTION_TIME_MS = 30_000;
const DEFAULT_MAX_EJECTION_TIME_MS = 300_000;

/**
 * Validates the JSON config. Of the two algorithms, `successRateEjection` and `failurePercentageEjection`, those
 * are used that are there, be it without any fields.
 */
export function parseOutlierDetectionConfig(
  json: unknown,
  violations: Violations,
  parser: LbChildParser,
  policyName: string = OUTLIER_DETECTION,
): OutlierDetectionLbConfig | undefined {
  const before = violations.count;
  const fields = readObject(json, violations);
  if (fields === undefined) return undefined;
  const baseEjectionTimeMs = readDurationMs(
    fields,
    'baseEjectionTime',
    DEFAULT_BASE_EJECTION_TIME_MS,
    violations,
  );
  const detection: OutlierDetectionConfig = {
    intervalMs: readDurationMs(fields, 'interval', 10_000, violations),
    baseEjectionTimeMs,
    maxEjectionTimeMs: readDurationMs(
      fields,
      'maxEjectionTime',
      Math.max(DEFAULT_MAX_EJECTION_TIME_MS, baseEjectionTimeMs),
      violations,
    ),
    maxEjectionPercent: readWithin(PERCENT, fields, 'maxEjectionPercent', 10, violations),
    successRate: parseSuccessRate(
      fields.get('successRateEjection'),
      violations.at('successRateEjection'),
    ),
    failurePercentage: parseFailurePercentage(
      fields.get('failurePercentageEjection'),
      violations.at('failurePercentageEjection'),
    ),
  };
  const childPolicy = parser.parseList(fields.get('childPolicy'), violations.at('childPolicy'));
  if (childPolicy === undefined || violations.count > before) return undefined;
  return new OutlierDetectionLbConfig(detection, childPolicy, policyName);
}

function parseSuccessRate(
  json: unknown,
  violations: Violations,
): OutlierDetectionConfig['successRate'] {
  const fields = readOptionalObject(json, violations);
  return (
    fields && {
      stdevFactor: readWithin(UINT32, fields, 'stdevFactor', 1900, violations),
      ...parseGate(fields, 100, violations),
    }
  );
}

function parseFailurePercentage(
  json: unknown,
  violations: Violations,
): OutlierDetectionConfig['failurePercentage'] {
  const fields = readOptionalObject(json, violations);
  return (
    fields && {
      threshold: readWithin(PERCENT, fields, 'threshold', 85, violations),
      ...parseGate(fields, 50, violations),
    }
  );
}

function parseGate(fields: JsonFields, requestVolume: number, violations: Violations): Gate {
  return {
    enforcementPercentage: readWithin(PERCENT, fields, 'enforcementPercentage', 100, violations),
    minimumHosts: readWithin(UINT32, fields, 'minimumHosts', 5, violations),
    requestVolume: readWithin(UINT32, fields, 'requestVolume', requestVolume, violations),
  };
}

function readOptionalObject(json: unknown, violations: Violations): JsonFields | undefined {
  return json === undefined ? undefined : readObject(json, violations);
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
