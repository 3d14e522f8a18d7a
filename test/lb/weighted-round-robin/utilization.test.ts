import { OrcaLoadReport } from '../../../src/wire/generated/xds/data/orca/v3/orca_load_report';
import { createUtilizationReader } from '../../../src/lb/weighted-round-robin/utilization';

const report = OrcaLoadReport.create({
  applicationUtilization: 0.2,
  cpuUtilization: 0.3,
  memUtilization: 0.4,
  namedMetrics: new Map([
    ['queue', 0.5],
    ['a.b', 0.6],
    ['none', 0],
    ['negative', -1],
    ['unknown', NaN],
  ]),
  utilization: new Map([
    ['disk', 0.7],
    ['constructor', 0.1],
  ]),
  requestCost: new Map([['calls', 9]]),
});

describe('createUtilizationReader', () => {
  it.each<[string, string[], number]>([
    ['the application without any names', [], 0.2],
    ['a field', ['mem_utilization'], 0.4],
    ['a field that is the default', ['cpu_utilization'], 0.3],
    ['the application by its name', ['application_utilization'], 0.2],
    ['a named metric', ['named_metrics.queue'], 0.5],
    ['a utilization', ['utilization.disk'], 0.7],
    ['a key with a dot', ['named_metrics.a.b'], 0.6],
    ['a key called like a property of objects', ['utilization.constructor'], 0.1],
    ['the greatest', ['named_metrics.queue', 'utilization.disk', 'mem_utilization'], 0.7],
    ['the greatest, wherever it stands', ['utilization.disk', 'mem_utilization'], 0.7],
    ['what is there', ['named_metrics.missing', 'mem_utilization'], 0.4],
    ['the application if no metric is there', ['named_metrics.missing'], 0.2],
    [
      'the application if no metric is above 0',
      ['named_metrics.none', 'named_metrics.negative'],
      0.2,
    ],
    ['the application if no metric is a number', ['named_metrics.unknown'], 0.2],
    ['a number rather than none', ['named_metrics.unknown', 'named_metrics.queue'], 0.5],
    ['the application if there is no such field', ['rps_fractional'], 0.2],
    ['the application if there is no such map', ['request_cost.calls'], 0.2],
    ['the application instead of a property of objects', ['constructor', 'toString.x'], 0.2],
    ['the application if a key is missing', ['named_metrics.', 'named_metrics'], 0.2],
  ])('takes %s', (_, names, expected) => {
    expect(createUtilizationReader(names)(report)).toBe(expected);
  });

  it('is that of the CPU if neither a metric nor the application reports one', () => {
    const bare = OrcaLoadReport.create({ cpuUtilization: 0.3 });
    expect(createUtilizationReader(['named_metrics.queue'])(bare)).toBe(0.3);
    expect(createUtilizationReader([])(bare)).toBe(0.3);
  });
});
