import { OrcaLoadReport } from '../../src/wire/generated/xds/data/orca/v3/orca_load_report';
import { encodeLoad, mergeLoads, type CallLoad } from '../../src/orca/backend-load';

const decode = (load: CallLoad) => OrcaLoadReport.decode(encodeLoad(load));

describe('an encoded load report', () => {
  it('contains every given value', () => {
    expect(
      decode({
        cpuUtilization: 1.5,
        memoryUtilization: 0.5,
        applicationUtilization: 2,
        queriesPerSecond: 100.5,
        errorsPerSecond: 2,
        utilization: { disk: 0.25 },
        namedMetrics: { queue: 7, balance: -3 },
        requestCost: { rows: 12 },
      }),
    ).toEqual({
      cpuUtilization: 1.5,
      memUtilization: 0.5,
      applicationUtilization: 2,
      rps: 0n,
      rpsFractional: 100.5,
      eps: 2,
      utilization: new Map([['disk', 0.25]]),
      namedMetrics: new Map([
        ['queue', 7],
        ['balance', -3],
      ]),
      requestCost: new Map([['rows', 12]]),
    });
  });

  it.each<[string, CallLoad]>([
    ['an empty load', {}],
    ['a negative utilization', { cpuUtilization: -1, utilization: { disk: -0.1 } }],
    ['a utilization above 1', { memoryUtilization: 1.01, utilization: { disk: 1.01 } }],
    [
      'a value that is not a number',
      { queriesPerSecond: NaN, namedMetrics: { a: NaN }, requestCost: { b: Infinity } },
    ],
    ['an infinite value', { applicationUtilization: Infinity, errorsPerSecond: Infinity }],
  ])('is empty for %s', (_what, load) => {
    expect(encodeLoad(load)).toHaveLength(0);
  });

  it('merges the load of a call into the load of the server', () => {
    const server = { cpuUtilization: 0.5, queriesPerSecond: 10, namedMetrics: { a: 1, b: 1 } };
    const call = { cpuUtilization: undefined, queriesPerSecond: 20, namedMetrics: { b: 2 } };
    expect(mergeLoads(server, call)).toMatchObject({
      cpuUtilization: 0.5,
      queriesPerSecond: 20,
      namedMetrics: { a: 1, b: 2 },
    });
  });
});
