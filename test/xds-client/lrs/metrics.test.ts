import { LoadStatsRequest } from '../../../src/wire/generated/envoy/service/load_stats/v3/lrs';
import {
  addMetrics,
  MetricSums,
  parseMetricRules,
  type BackendMetrics,
} from '../../../src/xds-client/lrs/metrics';
import { LrsHarness, zone } from './harness';
import { MAX_METRICS_OF_CLUSTER } from '../../../src/util/limits';

const nothing: BackendMetrics = {
  cpuUtilization: 0,
  memUtilization: 0,
  applicationUtilization: 0,
  namedMetrics: new Map(),
};
const report: BackendMetrics = {
  cpuUtilization: 0.5,
  memUtilization: 0.25,
  applicationUtilization: 0.75,
  namedMetrics: new Map([
    ['queue', 3],
    ['db.pool', 4],
  ]),
};

/** What one call with the report adds, as `field name=sum`. */
function reported(names: readonly string[], hasChoice = true): string[] {
  const rules = parseMetricRules(names, hasChoice);
  if (rules === undefined) return [];
  const sums = new MetricSums();
  addMetrics(sums, rules, report);
  return sums.totals.map(({ field, name, sum }) => `${field} ${name}=${sum}`);
}

describe('lrs_report_endpoint_metrics', () => {
  it.each<[string, readonly string[], readonly string[]]>([
    ['nothing unless it says so', [], []],
    ['the use of processors', ['cpu_utilization'], ['cpu_utilization =0.5']],
    ['the use of memory', ['mem_utilization'], ['mem_utilization =0.25']],
    [
      "the application's own measure",
      ['application_utilization'],
      ['application_utilization =0.75'],
    ],
    ['one named metric', ['named_metrics.queue'], ['load_metric_stats named_metrics.queue=3']],
    [
      'a name with a dot in it',
      ['named_metrics.db.pool'],
      ['load_metric_stats named_metrics.db.pool=4'],
    ],
    [
      'all named metrics',
      ['named_metrics.*'],
      ['load_metric_stats named_metrics.queue=3', 'load_metric_stats named_metrics.db.pool=4'],
    ],
    [
      'several of them, in whatever order',
      ['named_metrics.queue', 'mem_utilization', 'cpu_utilization'],
      ['cpu_utilization =0.5', 'mem_utilization =0.25', 'load_metric_stats named_metrics.queue=3'],
    ],
    [
      'nothing for what it does not know',
      ['eps', 'named_metrics', 'utilization.x', 'CPU_UTILIZATION', 'queue', '*', 'named_metrics.'],
      [],
    ],
  ])('reports %s', (_what, names, expected) => {
    expect(reported(names)).toEqual(expected);
  });
});

describe('sums of metrics', () => {
  const rules = parseMetricRules(['cpu_utilization', 'named_metrics.*'], true);
  if (rules === undefined) throw new Error('There are rules');

  it('count only the calls that had the metric', () => {
    const sums = new MetricSums();
    addMetrics(sums, rules, report);
    addMetrics(sums, rules, nothing);
    addMetrics(sums, rules, { ...nothing, namedMetrics: new Map([['queue', 0]]) });
    expect(sums.totals).toEqual([
      { field: 'cpu_utilization', name: '', calls: 1, sum: 0.5 },
      { field: 'load_metric_stats', name: 'named_metrics.queue', calls: 2, sum: 3 },
      { field: 'load_metric_stats', name: 'named_metrics.db.pool', calls: 1, sum: 4 },
    ]);
  });

  it('leave out what is no number', () => {
    const sums = new MetricSums();
    const namedMetrics = new Map([
      ['a', NaN],
      ['b', Infinity],
    ]);
    addMetrics(sums, rules, { ...nothing, cpuUtilization: Infinity, namedMetrics });
    expect(sums.totals).toEqual([]);
  });

  it('stay finite whatever finite values are added', () => {
    const sums = new MetricSums();
    for (const value of [1e308, 1e308, -1e308]) sums.add('load_metric_stats', 'm', value);
    expect(sums.totals).toEqual([{ field: 'load_metric_stats', name: 'm', calls: 2, sum: 0 }]);
  });

  it('leave out names that are too long', () => {
    const sums = new MetricSums();
    expect(sums.add('load_metric_stats', 'm'.repeat(257), 1)).toBe(false);
    expect(sums.add('load_metric_stats', 'm'.repeat(256), 1)).toBe(true);
    expect(sums.totals).toHaveLength(1);
  });

  it('of all localities of a cluster have a bounded number of names until the next report', () => {
    const lrs = new LrsHarness();
    const { load } = lrs.acquire({ metrics: ['named_metrics.*'] });
    const countNames = () => {
      for (let zones = 0; zones < 10; zones++) {
        const locality = load.createLocality(zone(String(zones)));
        locality.start();
        for (let i = 0; i < 2000; i++) locality.metrics.add('load_metric_stats', `m${i}`, 1);
        locality.end(true);
      }
      const { localities = [] } = load.take(0)?.counts ?? {};
      return localities.reduce((sum, { metrics }) => sum + metrics.length, 0);
    };
    expect(countNames()).toBe(MAX_METRICS_OF_CLUSTER);
    expect(countNames()).toBe(MAX_METRICS_OF_CLUSTER);
  });

  it('do not grow with what backends make up', () => {
    const sums = new MetricSums();
    for (let i = 0; i < 5000; i++) sums.add('load_metric_stats', `m${i}`, 1);
    sums.add('load_metric_stats', 'm0', 1);
    expect(sums.totals).toHaveLength(1000);
    expect(sums.totals[0]).toMatchObject({ name: 'm0', calls: 2 });
  });
});

describe('metrics in reports', () => {
  it('stand in their own fields, are added up over all users, and begin anew after each report', () => {
    const lrs = new LrsHarness();
    const names = ['cpu_utilization', 'named_metrics.queue'];
    const holds = [lrs.acquire({ metrics: names }), lrs.acquire({ metrics: names })];
    lrs.order({ intervalMs: 1000 });
    for (const { load, metrics } of holds) {
      if (metrics === undefined) throw new Error('There are rules');
      const locality = load.createLocality(zone('a'));
      locality.start();
      addMetrics(locality.metrics, metrics, report);
      locality.end(true);
    }
    lrs.clock.advance(1000);
    lrs.clock.advance(1000);
    const [, first, second] = lrs.stream.messages.map((bytes) => LoadStatsRequest.decode(bytes));
    expect(first?.clusterStats[0]?.upstreamLocalityStats).toMatchObject([
      {
        totalIssuedRequests: 2n,
        cpuUtilization: { numRequestsFinishedWithMetric: 2n, totalMetricValue: 1 },
        memUtilization: undefined,
        applicationUtilization: undefined,
        loadMetricStats: [
          {
            metricName: 'named_metrics.queue',
            numRequestsFinishedWithMetric: 2n,
            totalMetricValue: 6,
          },
        ],
      },
    ]);
    expect(second?.clusterStats).toEqual([]);
  });
});
