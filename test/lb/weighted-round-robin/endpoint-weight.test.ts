import { OrcaLoadReport } from '../../../src/wire/generated/xds/data/orca/v3/orca_load_report';
import {
  DEFAULT_SETTINGS,
  WeightedRoundRobinConfig,
  type WeightedRoundRobinSettings,
} from '../../../src/lb/weighted-round-robin/config';
import {
  computeWeight,
  EndpointWeight,
} from '../../../src/lb/weighted-round-robin/weighted-endpoints';

function configWith(settings: Partial<WeightedRoundRobinSettings>): WeightedRoundRobinConfig {
  return new WeightedRoundRobinConfig({ ...DEFAULT_SETTINGS, ...settings });
}

const report = (fields: Partial<OrcaLoadReport>) => OrcaLoadReport.create(fields);
const usable = report({ rpsFractional: 100, applicationUtilization: 0.5 });

describe('computeWeight', () => {
  it.each<[string, Partial<OrcaLoadReport>, number, number]>([
    ['queries by utilization', { rpsFractional: 100, applicationUtilization: 0.5 }, 1, 200],
    [
      'the CPU if the application says nothing',
      { rpsFractional: 100, cpuUtilization: 0.8 },
      1,
      125,
    ],
    [
      'the application rather than the CPU',
      { rpsFractional: 100, cpuUtilization: 0.8, applicationUtilization: 0.5 },
      1,
      200,
    ],
    [
      'errors as utilization',
      { rpsFractional: 100, eps: 20, applicationUtilization: 0.3 },
      1,
      100 / (0.3 + 0.2),
    ],
    [
      'errors by their penalty',
      { rpsFractional: 100, eps: 20, applicationUtilization: 0.5 },
      2.5,
      100,
    ],
    [
      'no errors without penalty',
      { rpsFractional: 100, eps: 50, applicationUtilization: 0.5 },
      0,
      200,
    ],
    ['utilization above 1', { rpsFractional: 100, applicationUtilization: 2 }, 1, 50],
    ['nothing without queries', { applicationUtilization: 0.5 }, 1, 0],
    ['nothing without utilization', { rpsFractional: 100 }, 1, 0],
    ['nothing of negative queries', { rpsFractional: -1, cpuUtilization: 0.5 }, 1, 0],
    ['nothing of negative utilization', { rpsFractional: 1, cpuUtilization: -0.5 }, 1, 0],
    ['nothing of queries that are no number', { rpsFractional: NaN, cpuUtilization: 0.5 }, 1, 0],
    ['nothing of utilization that is no number', { rpsFractional: 1, cpuUtilization: NaN }, 1, 0],
    ['nothing of endless queries', { rpsFractional: Infinity, cpuUtilization: 0.5 }, 1, 0],
    ['nothing of endless utilization', { rpsFractional: 1, cpuUtilization: Infinity }, 1, 0],
    ['no negative errors', { rpsFractional: 100, eps: -90, cpuUtilization: 0.5 }, 1, 200],
    ['no errors that are no number', { rpsFractional: 100, eps: NaN, cpuUtilization: 0.5 }, 1, 200],
  ])('counts %s', (_, fields, errorUtilizationPenalty, expected) => {
    expect(computeWeight(report(fields), configWith({ errorUtilizationPenalty }))).toBe(expected);
  });
});

describe('EndpointWeight', () => {
  const config = configWith({ blackoutPeriodMs: 10_000, weightExpirationPeriodMs: 60_000 });

  it('does not count before the first report', () => {
    expect(new EndpointWeight().current(1e12, config)).toBe(0);
    expect(new EndpointWeight().current(0, configWith({ blackoutPeriodMs: 0 }))).toBe(0);
  });

  it('counts after the blackout period', () => {
    const weight = new EndpointWeight();
    weight.onReport(usable, config, 1000);
    expect(weight.current(10_999, config)).toBe(0);
    expect(weight.current(11_000, config)).toBe(200);
  });

  it('measures the blackout from the first report, not the last', () => {
    const weight = new EndpointWeight();
    for (const at of [0, 5000, 9000]) weight.onReport(usable, config, at);
    expect(weight.current(10_000, config)).toBe(200);
  });

  it('counts at once without blackout period', () => {
    const weight = new EndpointWeight();
    weight.onReport(usable, config, 1000);
    expect(weight.current(1000, configWith({ blackoutPeriodMs: 0 }))).toBe(200);
  });

  it('is the newest', () => {
    const weight = new EndpointWeight();
    weight.onReport(usable, config, 0);
    weight.onReport(report({ rpsFractional: 30, cpuUtilization: 0.1 }), config, 5000);
    expect(weight.current(10_000, config)).toBe(300);
  });

  it('is not changed, nor kept alive, by a report of no use', () => {
    const weight = new EndpointWeight();
    weight.onReport(usable, config, 0);
    weight.onReport(report({}), config, 50_000);
    expect(weight.current(59_999, config)).toBe(200);
    expect(weight.current(60_000, config)).toBe(0);
  });

  it('expires, and has to sit out another blackout then', () => {
    const weight = new EndpointWeight();
    weight.onReport(usable, config, 0);
    expect(weight.current(60_000, config)).toBe(0);
    weight.onReport(usable, config, 61_000);
    expect(weight.current(70_999, config)).toBe(0);
    expect(weight.current(71_000, config)).toBe(200);
  });

  it('has to sit out another blackout after a reconnect', () => {
    const weight = new EndpointWeight();
    weight.onReport(usable, config, 0);
    expect(weight.current(20_000, config)).toBe(200);
    weight.onReady();
    expect(weight.current(20_000, config)).toBe(0);
    expect(weight.current(40_000, config)).toBe(0);
    weight.onReport(usable, config, 45_000);
    expect(weight.current(54_999, config)).toBe(0);
    expect(weight.current(55_000, config)).toBe(200);
  });
});
