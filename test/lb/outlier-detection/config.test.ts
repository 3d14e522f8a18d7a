import {
  isDetecting,
  parseOutlierDetectionConfig,
  shareDetection,
} from '../../../src/lb/outlier-detection/config';
import type { OutlierDetectionConfig } from '../../../src/resources/cluster/cluster';
import { parseWith, stubConfig } from '../../support/lb-config-parser';

const childPolicy = [{ stub: {} }];
const parse = (json: unknown) => parseWith((...args) => parseOutlierDetectionConfig(...args), json);

const byDefault: OutlierDetectionConfig = {
  intervalMs: 10_000,
  baseEjectionTimeMs: 30_000,
  maxEjectionTimeMs: 300_000,
  maxEjectionPercent: 10,
  successRate: undefined,
  failurePercentage: undefined,
};
const successRate = {
  stdevFactor: 1900,
  enforcementPercentage: 100,
  minimumHosts: 5,
  requestVolume: 100,
};
const failurePercentage = {
  threshold: 85,
  enforcementPercentage: 100,
  minimumHosts: 5,
  requestVolume: 50,
};

describe('parseOutlierDetectionConfig', () => {
  it('has a default for everything but the child', () => {
    const { config, violations } = parse({ childPolicy });
    expect(violations).toEqual([]);
    expect(config?.policyName).toBe('outlier_detection_experimental');
    expect(config?.detection).toEqual(byDefault);
    expect(config?.childPolicy).toEqual(stubConfig);
  });

  it('has defaults for the algorithms', () => {
    const json = { childPolicy, successRateEjection: {}, failurePercentageEjection: {} };
    expect(parse(json).config?.detection).toEqual({ ...byDefault, successRate, failurePercentage });
  });

  it('reads every field', () => {
    const { config, violations } = parse({
      interval: '5s',
      baseEjectionTime: '15.5s',
      maxEjectionTime: '60s',
      maxEjectionPercent: 50,
      successRateEjection: {
        stdevFactor: 1000,
        enforcementPercentage: 20,
        minimumHosts: 3,
        requestVolume: '10',
      },
      failurePercentageEjection: {
        threshold: 40,
        enforcementPercentage: 0,
        minimumHosts: 0,
        requestVolume: 1,
      },
      childPolicy,
    });
    expect(violations).toEqual([]);
    expect(config?.detection).toEqual({
      intervalMs: 5000,
      baseEjectionTimeMs: 15_500,
      maxEjectionTimeMs: 60_000,
      maxEjectionPercent: 50,
      successRate: {
        stdevFactor: 1000,
        enforcementPercentage: 20,
        minimumHosts: 3,
        requestVolume: 10,
      },
      failurePercentage: {
        threshold: 40,
        enforcementPercentage: 0,
        minimumHosts: 0,
        requestVolume: 1,
      },
    });
  });

  it('extends the longest ejection to the first by default', () => {
    const json = { childPolicy, baseEjectionTime: '600s' };
    expect(parse(json).config?.detection.maxEjectionTimeMs).toBe(600_000);
  });

  it.each<[string, unknown, string[]]>([
    ['something else than an object', 5, ['must be an object']],
    ['no child', {}, ['childPolicy: must be a list of load-balancing policies']],
    [
      'negative durations',
      { childPolicy, interval: '-1s', baseEjectionTime: 30, maxEjectionTime: 'long' },
      ['baseEjectionTime', 'interval', 'maxEjectionTime'].map(
        (name) => `${name}: must be a duration that is not negative, such as "1.5s"`,
      ),
    ],
    [
      'percentages above 100',
      {
        childPolicy,
        maxEjectionPercent: 101,
        successRateEjection: { enforcementPercentage: 101 },
        failurePercentageEjection: { enforcementPercentage: 101, threshold: 101 },
      },
      [
        'maxEjectionPercent',
        'successRateEjection.enforcementPercentage',
        'failurePercentageEjection.threshold',
        'failurePercentageEjection.enforcementPercentage',
      ].map((name) => `${name}: must be a whole number from 0 to 100`),
    ],
    [
      'numbers that are none',
      {
        childPolicy,
        successRateEjection: { stdevFactor: -1, minimumHosts: 1.5, requestVolume: 2 ** 32 },
      },
      ['stdevFactor', 'minimumHosts', 'requestVolume'].map(
        (name) => `successRateEjection.${name}: must be a whole number from 0 to 4294967295`,
      ),
    ],
    [
      'an algorithm that is no object',
      { childPolicy, failurePercentageEjection: true },
      ['failurePercentageEjection: must be an object'],
    ],
  ])('refuses %s', (_, json, violations) => {
    expect(parse(json)).toEqual({ config: undefined, violations });
  });
});

describe('isDetecting', () => {
  it.each([
    ['neither algorithm', byDefault, false],
    ['one algorithm', { ...byDefault, successRate }, true],
    ['the other algorithm', { ...byDefault, failurePercentage }, true],
  ])('with %s', (_, detection, expected) => {
    expect(isDetecting(detection)).toBe(expected);
  });
});

describe('shareDetection', () => {
  const full: OutlierDetectionConfig = { ...byDefault, successRate, failurePercentage };

  it('returns the previous object for equal content', () => {
    expect(shareDetection(full, structuredClone(full))).toBe(full);
    expect(shareDetection(byDefault, { ...byDefault })).toBe(byDefault);
  });

  it.each<[string, OutlierDetectionConfig]>([
    ...(
      ['intervalMs', 'baseEjectionTimeMs', 'maxEjectionTimeMs', 'maxEjectionPercent'] as const
    ).map((name): [string, OutlierDetectionConfig] => [name, { ...full, [name]: 1 }]),
    ...(['stdevFactor', 'enforcementPercentage', 'minimumHosts', 'requestVolume'] as const).map(
      (name): [string, OutlierDetectionConfig] => [
        `successRate.${name}`,
        { ...full, successRate: { ...successRate, [name]: 1 } },
      ],
    ),
    ...(['threshold', 'enforcementPercentage', 'minimumHosts', 'requestVolume'] as const).map(
      (name): [string, OutlierDetectionConfig] => [
        `failurePercentage.${name}`,
        { ...full, failurePercentage: { ...failurePercentage, [name]: 1 } },
      ],
    ),
    ['successRate', { ...full, successRate: undefined }],
    ['failurePercentage', { ...full, failurePercentage: undefined }],
  ])('returns the next settings when %s differs', (_, other) => {
    expect(shareDetection(full, other)).toEqual(other);
    expect(shareDetection(other, full)).toEqual(full);
  });
});
