// Time to count a call for load reports, alone, from the sources: its start and its end, as the subchannels do it.
require('../../test/support/run-typescript.cjs');
const { Metadata } = require('@grpc/grpc-js');
const { ClusterLoads } = require('../../src/lb/cluster-impl/cluster-loads.ts');
const { ServerLoads } = require('../../src/xds-client/lrs/cluster-load.ts');
const { parseMetricRules } = require('../../src/xds-client/lrs/metrics.ts');
const { OrcaLoadReport } = require('../../src/wire/generated/xds/data/orca/v3/orca_load_report.ts');

const TURNS = 200;
const TURN = 1024;
const AT_ONCE = 16;

const subchannel = { getAddress: () => '10.0.0.1:80' };
const bytes = Buffer.from(
  OrcaLoadReport.encode(
    OrcaLoadReport.create({ cpuUtilization: 0.5, namedMetrics: new Map([['queue', 3]]) }),
  ).finish(),
);

function createStatus(hasReport) {
  const metadata = new Metadata();
  if (hasReport) metadata.set('endpoint-load-metrics-bin', bytes);
  return { code: 0, details: '', metadata };
}

function measure(metrics, hasReport) {
  const server = new ServerLoads(
    () => performance.now(),
    () => {},
  );
  const hold = server.acquire({ cluster: 'c', edsServiceName: '' });
  const loads = new ClusterLoads(
    { ...hold, metrics: parseMetricRules(metrics, true) },
    { get: () => undefined },
  );
  const load = loads.of(subchannel);
  const plain = createStatus(false);
  let microseconds = 0;
  for (let turn = 0; turn < TURNS; turn++) {
    // In a call, the host library makes them. With a report, each call has its own, for it is decoded once.
    const statuses = hasReport ? Array.from({ length: TURN }, () => createStatus(true)) : [];
    const startedAt = performance.now();
    for (let i = 0; i < TURN; i += AT_ONCE) {
      for (let j = 0; j < AT_ONCE; j++) load.start();
      for (let j = 0; j < AT_ONCE; j++) load.end(statuses[i + j] ?? plain);
    }
    microseconds += (performance.now() - startedAt) * 1000;
    // A report is taken now and then.
    if (turn % 50 === 0) server.take('all');
  }
  return microseconds / (TURNS * TURN);
}

const fastest = (...args) => Math.min(...Array.from({ length: 21 }, () => measure(...args)));

process.send({
  counting: fastest([], false),
  noReport: fastest(['cpu_utilization', 'named_metrics.*'], false),
  report: fastest(['cpu_utilization', 'named_metrics.*'], true),
});
