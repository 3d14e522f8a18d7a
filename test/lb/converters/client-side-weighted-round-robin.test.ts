import { createWeightedRoundRobinPolicyTypes } from '../../../src/lb/weighted-round-robin/balancer';
import { createHandle } from '../../../src/util/handle';
import { ClientSideWeightedRoundRobin } from '../../../src/wire/generated/envoy/extensions/load_balancing_policies/client_side_weighted_round_robin/v3/client_side_weighted_round_robin';
import {
  DEFAULT_SETTINGS,
  WeightedRoundRobinConfig,
} from '../../../src/lb/weighted-round-robin/config';
import { LbPolicyRegistry } from '../../../src/lb/registry/lb-policy-registry';
import { Violations } from '../../../src/util/violations';

const TYPE =
  'envoy.extensions.load_balancing_policies.client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin';

function convertBytes(value: Uint8Array, customMetrics = true) {
  const registry = new LbPolicyRegistry({
    policies: createWeightedRoundRobinPolicyTypes({
      customMetrics,
      oobReports: { subscribe: () => createHandle(() => {}) },
    }),
  });
  const violations = Violations.root();
  const typeUrl = `type.googleapis.com/${TYPE}`;
  const config = registry.fromProto({ typeUrl, value }, 0, violations);
  const settings = config instanceof WeightedRoundRobinConfig ? config.settings : config;
  return { settings, violations: violations.all };
}

function convert(fields: Partial<ClientSideWeightedRoundRobin>, customMetrics = true) {
  const message = { ...ClientSideWeightedRoundRobin.create(), ...fields };
  return convertBytes(ClientSideWeightedRoundRobin.encode(message).finish(), customMetrics);
}

describe('the converter of client_side_weighted_round_robin', () => {
  it('has a default for everything', () => {
    expect(convert({})).toEqual({ settings: DEFAULT_SETTINGS, violations: [] });
  });

  it('takes over every field', () => {
    const { settings } = convert({
      enableOobLoadReport: true,
      oobReportingPeriod: { seconds: 30n, nanos: 0 },
      blackoutPeriod: { seconds: 0n, nanos: 0 },
      weightExpirationPeriod: { seconds: 60n, nanos: 500_000_000 },
      weightUpdatePeriod: { seconds: 2n, nanos: 0 },
      errorUtilizationPenalty: 0,
      metricNamesForComputingUtilization: ['utilization.disk'],
    });
    expect(settings).toEqual({
      enableOobLoadReport: true,
      oobReportingPeriodMs: 30_000,
      blackoutPeriodMs: 0,
      weightExpirationPeriodMs: 60_500,
      weightUpdatePeriodMs: 2000,
      errorUtilizationPenalty: 0,
      metricNamesForComputingUtilization: ['utilization.disk'],
    });
  });

  it('takes a short update period for 100 ms', () => {
    const weightUpdatePeriod = { seconds: 0n, nanos: 1 };
    expect(convert({ weightUpdatePeriod }).settings).toMatchObject({ weightUpdatePeriodMs: 100 });
  });

  it.each<[string, Partial<ClientSideWeightedRoundRobin>, string]>([
    [
      'a negative penalty',
      { errorUtilizationPenalty: -1 },
      'error_utilization_penalty: must be a number of 0 or more, not -1',
    ],
    [
      'a penalty that is no number',
      { errorUtilizationPenalty: NaN },
      'error_utilization_penalty: must be a number of 0 or more, not NaN',
    ],
    [
      'a negative duration',
      { blackoutPeriod: { seconds: -1n, nanos: 0 } },
      'blackout_period.seconds: must be from 0 to 315576000000, not -1',
    ],
    [
      'a duration with too many nanoseconds',
      { oobReportingPeriod: { seconds: 1n, nanos: 1e9 } },
      'oob_reporting_period.nanos: must be from 0 to 999999999, not 1000000000',
    ],
  ])('refuses %s', (_, fields, violation) => {
    expect(convert(fields)).toEqual({ settings: undefined, violations: [violation] });
  });
});
