import { ClientSideWeightedRoundRobin } from '../../wire/generated/envoy/extensions/load_balancing_policies/client_side_weighted_round_robin/v3/client_side_weighted_round_robin';
import type { LbConfig } from '../../resources/extension-points';
import { decodeMessage } from '../../resources/shared/any';
import { durationToMs, type ProtoDuration } from '../../util/duration';
import {
  parseObject,
  readBoolean,
  readDurationMs,
  readList,
  readNumber,
} from '../../util/json-fields';
import type { Violations } from '../../util/violations';
import type { LbConfigConverter } from '../lb-policy';
import { convertSlowStart, readSlowStart, type SlowStartConfig } from '../slow-start/config';
import { createUtilizationReader, type LoadReport } from './utilization';

export const WEIGHTED_ROUND_ROBIN = 'weighted_round_robin';

/** The settings of `weighted_round_robin` (gRFCs A58, A114). Times in milliseconds. */
export interface WeightedRoundRobinSettings {
  /** Whether out-of-band reports are used instead of those that come with calls. */
  readonly enableOobLoadReport: boolean;
  /** Requested time between out-of-band reports; the backend may choose a longer one. */
  readonly oobReportingPeriodMs: number;
  /** The time for which an endpoint must have reported before its weight is used. */
  readonly blackoutPeriodMs: number;
  /** The time after the last report until which a weight is used. */
  readonly weightExpirationPeriodMs: number;
  /** The time between updates of the weights, at least 100 ms. */
  readonly weightUpdatePeriodMs: number;
  /** The factor of the error rate in the utilization, at least 0. */
  readonly errorUtilizationPenalty: number;
  /** The metrics that give the utilization; see `createUtilizationReader`. */
  readonly metricNamesForComputingUtilization: readonly string[];
  /** How endpoints begin (draft gRFC A100). Default: with their full shares. */
  readonly slowStart?: SlowStartConfig | undefined;
}

/** The settings of an empty config. */
export const DEFAULT_SETTINGS: WeightedRoundRobinSettings = {
  enableOobLoadReport: false,
  oobReportingPeriodMs: 10_000,
  blackoutPeriodMs: 10_000,
  weightExpirationPeriodMs: 180_000,
  weightUpdatePeriodMs: 1000,
  errorUtilizationPenalty: 1,
  metricNamesForComputingUtilization: [],
};

const MIN_WEIGHT_UPDATE_PERIOD_MS = 100;

export class WeightedRoundRobinConfig implements LbConfig {
  readonly settings: WeightedRoundRobinSettings;
  /** Returns the utilization of a backend by its report. */
  readonly readUtilization: (report: LoadReport) => number;

  /** @param policyName The name of the policy in the config: one of two. */
  constructor(
    settings: WeightedRoundRobinSettings,
    readonly policyName: string = WEIGHTED_ROUND_ROBIN,
  ) {
    this.settings = {
      ...settings,
      weightUpdatePeriodMs: Math.max(settings.weightUpdatePeriodMs, MIN_WEIGHT_UPDATE_PERIOD_MS),
    };
    this.readUtilization = createUtilizationReader(settings.metricNamesForComputingUtilization);
  }
}

export interface WeightedRoundRobinParsing {
  /** Whether metric names are used (gRFC A114). If not, they are validated and left out. */
  readonly customMetrics: boolean;
  /** Whether slow start is read. Default: it is ignored. */
  readonly slowStart?: boolean;
}

/** Validates the JSON config. Every field has a default. */
export function parseWeightedRoundRobinConfig(
  json: unknown,
  violations: Violations,
  { customMetrics, slowStart = false }: WeightedRoundRobinParsing,
  policyName: string = WEIGHTED_ROUND_ROBIN,
): WeightedRoundRobinConfig | undefined {
  return parseObject(json, violations, (fields) => {
    const defaults = DEFAULT_SETTINGS;
    const duration = (name: string, defaultMs: number) =>
      readDurationMs(fields, name, defaultMs, violations);
    const names = readList(fields, 'metricNamesForComputingUtilization', violations);
    const { enableOobLoadReport: oob, errorUtilizationPenalty: penalty } = defaults;
    const settings: WeightedRoundRobinSettings = {
      enableOobLoadReport: readBoolean(fields, 'enableOobLoadReport', oob, violations),
      oobReportingPeriodMs: duration('oobReportingPeriod', defaults.oobReportingPeriodMs),
      blackoutPeriodMs: duration('blackoutPeriod', defaults.blackoutPeriodMs),
      weightExpirationPeriodMs: duration(
        'weightExpirationPeriod',
        defaults.weightExpirationPeriodMs,
      ),
      weightUpdatePeriodMs: duration('weightUpdatePeriod', defaults.weightUpdatePeriodMs),
      errorUtilizationPenalty: readNumber(fields, 'errorUtilizationPenalty', penalty, violations),
      metricNamesForComputingUtilization: parseMetricNames(names, violations),
      slowStart: slowStart ? readSlowStart(fields, violations) : undefined,
    };
    checkPenalty(settings.errorUtilizationPenalty, violations.at('errorUtilizationPenalty'));
    return new WeightedRoundRobinConfig(
      customMetrics ? settings : { ...settings, metricNamesForComputingUtilization: [] },
      policyName,
    );
  });
}

/** Adds a violation unless the penalty is a number of 0 or more. */
function checkPenalty(penalty: number, violations: Violations): void {
  if (!(penalty >= 0 && penalty < Infinity)) {
    violations.add(`must be a number of 0 or more, not ${penalty}`);
  }
}

function parseMetricNames(names: readonly unknown[], violations: Violations): readonly string[] {
  const at = violations.at('metricNamesForComputingUtilization');
  return names.filter((name, i): name is string => {
    if (typeof name === 'string') return true;
    at.index(i).add('must be a string');
    return false;
  });
}

/** Creates the converter of `weighted_round_robin` (gRFCs A58, A114). */
export function createClientSideWeightedRoundRobinConverter(
  parsing: WeightedRoundRobinParsing,
): LbConfigConverter {
  return {
    messageType:
      'envoy.extensions.load_balancing_policies.client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin',
    convert(value, { violations }) {
      const message = decodeMessage(ClientSideWeightedRoundRobin, value, violations);
      if (message === undefined) return undefined;
      const before = violations.count;
      const settings = convertSettings(message, parsing, violations);
      return violations.count > before ? undefined : new WeightedRoundRobinConfig(settings);
    },
  };
}

function convertSettings(
  message: ClientSideWeightedRoundRobin,
  { customMetrics, slowStart = false }: WeightedRoundRobinParsing,
  violations: Violations,
): WeightedRoundRobinSettings {
  const defaults = DEFAULT_SETTINGS;
  const duration = (field: string, value: ProtoDuration | undefined, defaultMs: number) =>
    (value && durationToMs(value, violations.at(field))) ?? defaultMs;
  const penalty = message.errorUtilizationPenalty ?? defaults.errorUtilizationPenalty;
  checkPenalty(penalty, violations.at('error_utilization_penalty'));
  return {
    enableOobLoadReport: message.enableOobLoadReport ?? defaults.enableOobLoadReport,
    oobReportingPeriodMs: duration(
      'oob_reporting_period',
      message.oobReportingPeriod,
      defaults.oobReportingPeriodMs,
    ),
    blackoutPeriodMs: duration(
      'blackout_period',
      message.blackoutPeriod,
      defaults.blackoutPeriodMs,
    ),
    weightExpirationPeriodMs: duration(
      'weight_expiration_period',
      message.weightExpirationPeriod,
      defaults.weightExpirationPeriodMs,
    ),
    weightUpdatePeriodMs: duration(
      'weight_update_period',
      message.weightUpdatePeriod,
      defaults.weightUpdatePeriodMs,
    ),
    errorUtilizationPenalty: penalty,
    metricNamesForComputingUtilization: customMetrics
      ? message.metricNamesForComputingUtilization
      : [],
    slowStart: slowStart
      ? convertSlowStart(message.slowStartConfig, violations.at('slow_start_config'))
      : undefined,
  };
}
