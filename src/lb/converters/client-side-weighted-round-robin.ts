import { ClientSideWeightedRoundRobin } from '../../generated/envoy/extensions/load_balancing_policies/client_side_weighted_round_robin/v3/client_side_weighted_round_robin';
import { decodeMessage } from '../../resources/shared/any';
import { durationToMs, type ProtoDuration } from '../../util/duration';
import type { Violations } from '../../util/violations';
import {
  checkPenalty,
  DEFAULT_SETTINGS,
  WeightedRoundRobinConfig,
  type WeightedRoundRobinParsing,
  type WeightedRoundRobinSettings,
} from '../weighted-round-robin/config';
import type { LbConfigConverter } from './lb-config-converter';

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
