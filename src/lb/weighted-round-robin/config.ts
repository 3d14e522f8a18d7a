import { ClientSideWeightedRoundRobin } from '../../generated/envoy/extensions/load_balancing_policies/client_side_weighted_round_robin/v3/client_side_weighted_round_robin';
import type { LbConfig } from '../../resources/extension-points';
import { decodeMessage } from '../../resources/shared/any';
import { durationToMs, type ProtoDuration } from '../../util/duration';
import { formatDurationString } from '../../util/duration-string';
import {
  readBoolean,
  readDurationMs,
  readList,
  readNumber,
  readObject,
} from '../../util/json-fields';
import type { Violations } from '../../util/violations';
import type { LbConfigConverter } from '../converters/lb-config-converter';
import { createUtilizationReader, type LoadReport } from './utilization';

/** The gRPC name of the policy. */
export const WEIGHTED_ROUND_ROBIN = 'weighted_round_robin';

/** How weights come about and how long they hold (gRFCs A58, A114). Times in milliseconds. */
export interface WeightedRoundRobinSettings {
  /** Whether reports come on a stream of their own. Those that come with calls are not read then. */
  readonly enableOobLoadReport: boolean;
  /** Wanted time between reports on the stream; the backend may choose a longer one. */
  readonly oobReportingPeriodMs: number;
  /** For how long an endpoint must have reported before its weight counts. */
  readonly blackoutPeriodMs: number;
  /** How long after the last report a weight is too old to count. */
  readonly weightExpirationPeriodMs: number;
  /** Time between recalculations; less than 100 ms is taken for that. */
  readonly weightUpdatePeriodMs: number;
  /** What the share of failed queries is multiplied with to be added to the utilization; not negative. */
  readonly errorUtilizationPenalty: number;
  /** Metrics to take the utilization from; see `createUtilizationReader`. */
  readonly metricNamesForComputingUtilization: readonly string[];
}

/** The settings of a config that is empty. */
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

/** The config of `weighted_round_robin`. */
export class WeightedRoundRobinConfig implements LbConfig {
  readonly settings: WeightedRoundRobinSettings;
  /** How much of a backend is in use, by its report. */
  readonly readUtilization: (report: LoadReport) => number;

  /** @param policyName Under which of its names the policy is configured. */
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

  toJson(): object {
    const { settings } = this;
    return {
      enableOobLoadReport: settings.enableOobLoadReport,
      oobReportingPeriod: formatDurationString(settings.oobReportingPeriodMs),
      blackoutPeriod: formatDurationString(settings.blackoutPeriodMs),
      weightExpirationPeriod: formatDurationString(settings.weightExpirationPeriodMs),
      weightUpdatePeriod: formatDurationString(settings.weightUpdatePeriodMs),
      errorUtilizationPenalty: settings.errorUtilizationPenalty,
      metricNamesForComputingUtilization: settings.metricNamesForComputingUtilization,
    };
  }
}

/** What decides how configs are read. */
export interface WeightedRoundRobinParsing {
  /** gRFC A114: whether metric names count. If not, they are read as if there were none. */
  readonly customMetrics: boolean;
}

/** Validates the JSON config, of which every field has a default. */
export function parseWeightedRoundRobinConfig(
  json: unknown,
  violations: Violations,
  { customMetrics }: WeightedRoundRobinParsing,
  policyName: string = WEIGHTED_ROUND_ROBIN,
): WeightedRoundRobinConfig | undefined {
  const before = violations.count;
  const fields = readObject(json, violations);
  if (fields === undefined) return undefined;
  const duration = (name: string, defaultMs: number) =>
    readDurationMs(fields, name, defaultMs, violations);
  const byDefault = DEFAULT_SETTINGS;
  const names = readList(fields, 'metricNamesForComputingUtilization', violations);
  const settings: WeightedRoundRobinSettings = {
    enableOobLoadReport: readBoolean(
      fields,
      'enableOobLoadReport',
      byDefault.enableOobLoadReport,
      violations,
    ),
    oobReportingPeriodMs: duration('oobReportingPeriod', byDefault.oobReportingPeriodMs),
    blackoutPeriodMs: duration('blackoutPeriod', byDefault.blackoutPeriodMs),
    weightExpirationPeriodMs: duration(
      'weightExpirationPeriod',
      byDefault.weightExpirationPeriodMs,
    ),
    weightUpdatePeriodMs: duration('weightUpdatePeriod', byDefault.weightUpdatePeriodMs),
    errorUtilizationPenalty: readNumber(
      fields,
      'errorUtilizationPenalty',
      byDefault.errorUtilizationPenalty,
      violations,
    ),
    metricNamesForComputingUtilization: parseMetricNames(names, violations),
  };
  checkPenalty(settings.errorUtilizationPenalty, violations.at('errorUtilizationPenalty'));
  if (violations.count > before) return undefined;
  return new WeightedRoundRobinConfig(
    customMetrics ? settings : { ...settings, metricNamesForComputingUtilization: [] },
    policyName,
  );
}

/** Adds a violation unless the penalty can be used. */
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

/** Makes the converter of `weighted_round_robin` (gRFCs A58, A114). Slow start is not supported. */
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
  { customMetrics }: WeightedRoundRobinParsing,
  violations: Violations,
): WeightedRoundRobinSettings {
  const byDefault = DEFAULT_SETTINGS;
  const duration = (value: ProtoDuration | undefined, field: string, defaultMs: number) =>
    (value && durationToMs(value, violations.at(field))) ?? defaultMs;
  const penalty = message.errorUtilizationPenalty ?? byDefault.errorUtilizationPenalty;
  checkPenalty(penalty, violations.at('error_utilization_penalty'));
  return {
    enableOobLoadReport: message.enableOobLoadReport ?? byDefault.enableOobLoadReport,
    oobReportingPeriodMs: duration(
      message.oobReportingPeriod,
      'oob_reporting_period',
      byDefault.oobReportingPeriodMs,
    ),
    blackoutPeriodMs: duration(
      message.blackoutPeriod,
      'blackout_period',
      byDefault.blackoutPeriodMs,
    ),
    weightExpirationPeriodMs: duration(
      message.weightExpirationPeriod,
      'weight_expiration_period',
      byDefault.weightExpirationPeriodMs,
    ),
    weightUpdatePeriodMs: duration(
      message.weightUpdatePeriod,
      'weight_update_period',
      byDefault.weightUpdatePeriodMs,
    ),
    errorUtilizationPenalty: penalty,
    metricNamesForComputingUtilization: customMetrics
      ? message.metricNamesForComputingUtilization
      : [],
  };
}
