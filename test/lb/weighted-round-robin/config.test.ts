import {
  DEFAULT_SETTINGS,
  parseWeightedRoundRobinConfig,
} from '../../../src/lb/weighted-round-robin/config';
import { Violations } from '../../../src/util/violations';

function parse(json: unknown, customMetrics = true) {
  const violations = Violations.root();
  const config = parseWeightedRoundRobinConfig(json, violations, { customMetrics });
  return { settings: config?.settings, violations: violations.all };
}

describe('parseWeightedRoundRobinConfig', () => {
  it('has a default for everything', () => {
    expect(parse({})).toEqual({
      settings: {
        enableOobLoadReport: false,
        oobReportingPeriodMs: 10_000,
        blackoutPeriodMs: 10_000,
        weightExpirationPeriodMs: 180_000,
        weightUpdatePeriodMs: 1000,
        errorUtilizationPenalty: 1,
        metricNamesForComputingUtilization: [],
      },
      violations: [],
    });
  });

  it('takes null for the default', () => {
    const json = Object.fromEntries(
      [
        'enableOobLoadReport',
        'oobReportingPeriod',
        'errorUtilizationPenalty',
        'metricNamesForComputingUtilization',
      ].map((name) => [name, null]),
    );
    expect(parse(json).settings).toEqual(DEFAULT_SETTINGS);
  });

  it('reads every field', () => {
    const json = {
      enableOobLoadReport: true,
      oobReportingPeriod: '30s',
      blackoutPeriod: '0s',
      weightExpirationPeriod: '60.5s',
      weightUpdatePeriod: '0.25s',
      errorUtilizationPenalty: 2.5,
      metricNamesForComputingUtilization: ['named_metrics.queue'],
    };
    expect(parse(json).settings).toEqual({
      enableOobLoadReport: true,
      oobReportingPeriodMs: 30_000,
      blackoutPeriodMs: 0,
      weightExpirationPeriodMs: 60_500,
      weightUpdatePeriodMs: 250,
      errorUtilizationPenalty: 2.5,
      metricNamesForComputingUtilization: ['named_metrics.queue'],
    });
  });

  it.each(['0s', '0.099s'])('takes an update period of %s for 100 ms', (weightUpdatePeriod) => {
    expect(parse({ weightUpdatePeriod }).settings?.weightUpdatePeriodMs).toBe(100);
  });

  it('takes a penalty written as a string', () => {
    expect(parse({ errorUtilizationPenalty: '0.5' }).settings?.errorUtilizationPenalty).toBe(0.5);
  });

  it.each<[string, unknown, string[]]>([
    ['something else than an object', [], ['must be an object']],
    ['a flag', { enableOobLoadReport: 'yes' }, ['enableOobLoadReport: must be a boolean']],
    [
      'durations',
      { blackoutPeriod: '-1s', weightUpdatePeriod: 5, oobReportingPeriod: '5 s' },
      ['oobReportingPeriod', 'blackoutPeriod', 'weightUpdatePeriod'].map(
        (name) => `${name}: must be a duration that is not negative, such as "1.5s"`,
      ),
    ],
    [
      'a negative penalty',
      { errorUtilizationPenalty: -0.5 },
      ['errorUtilizationPenalty: must be a number of 0 or more, not -0.5'],
    ],
    [
      'a penalty that is no number',
      { errorUtilizationPenalty: 'NaN' },
      ['errorUtilizationPenalty: must be a number of 0 or more, not NaN'],
    ],
    [
      'a penalty that is a word',
      { errorUtilizationPenalty: 'much' },
      ['errorUtilizationPenalty: must be a number'],
    ],
    [
      'metric names',
      { metricNamesForComputingUtilization: ['a', 5, null] },
      [1, 2].map((i) => `metricNamesForComputingUtilization[${i}]: must be a string`),
    ],
    [
      'a metric name without list',
      { metricNamesForComputingUtilization: 'a' },
      ['metricNamesForComputingUtilization: must be a list'],
    ],
  ])('refuses %s', (_, json, violations) => {
    expect(parse(json)).toEqual({ settings: undefined, violations });
  });
});
