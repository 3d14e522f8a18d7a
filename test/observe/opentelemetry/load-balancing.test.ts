import { Metadata, Status } from '../../../src/grpc-js';
import { OrcaLoadReport } from '../../../src/wire/generated/xds/data/orca/v3/orca_load_report';
import { createClusterImplPolicyType } from '../../../src/lb/cluster-impl/balancer';
import { CallCounterMap } from '../../../src/lb/cluster-impl/circuit-breaker';
import { ClusterImplConfig } from '../../../src/lb/cluster-impl/config';
import { outlierDetectionPolicies } from '../../../src/lb/outlier-detection/balancer';
import { NO_DETECTION, OutlierDetectionLbConfig } from '../../../src/lb/outlier-detection/config';
import { createWeightedRoundRobinPolicyTypes } from '../../../src/lb/weighted-round-robin/balancer';
import {
  DEFAULT_SETTINGS,
  WeightedRoundRobinConfig,
} from '../../../src/lb/weighted-round-robin/config';
import type { LbPolicyType } from '../../../src/lb/lb-policy';
import type { OutlierDetectionConfig } from '../../../src/resources/cluster/cluster';
import type { LbConfig } from '../../../src/resources/extension-points';
import { wrrLocalityPolicy } from '../../../src/lb/wrr-locality/balancer';
import { WrrLocalityConfig } from '../../../src/lb/wrr-locality/config';
import { weightedTargetPolicy } from '../../../src/lb/weighted-target/balancer';
import { processStats } from '../../../src/observe/stats/stats-registry';
import { ok } from '../../../src/util/result';
import { FakeLbHost } from '../../../src/testing/fake-lb-host';
import { detectionWith, failurePercentage } from '../../lb/outlier-detection/detection';
import { RecordingReportSource } from '../../lb/weighted-round-robin/recording-report-source';
import { LbHarness, pick, singleLocality } from '../../support/lb-harness';
import { MetricsReader, WAYS } from '../../support/metrics-reader';

const A = '10.0.0.1:80';
const B = '10.0.0.2:80';
const TARGET = 'xds:///shop';
const LOCALITY = '{region="r", zone="", sub_zone=""}';
const PLACE = { 'grpc.lb.locality': LOCALITY, 'grpc.lb.backend_service': 'pay' };
const BLACKOUT_MS = 10_000;
const UPDATE_MS = 1000;
const EXPIRATION_MS = 180_000;
const INTERVAL_MS = 10_000;

/** outlier_detection over cluster_impl and weighted_round_robin, on a fake host and clock, observed by a real reader. */
class ObservedTree {
  readonly harness: LbHarness;
  readonly host: FakeLbHost;

  constructor(detection: OutlierDetectionConfig) {
    const [wrr] = createWeightedRoundRobinPolicyTypes({
      oobReports: new RecordingReportSource(),
      customMetrics: true,
    });
    const [outlierDetection] = outlierDetectionPolicies;
    if (wrr === undefined || outlierDetection === undefined) throw new Error('No policy');
    const counters = new CallCounterMap(new LbHarness().clock);
    const clusterImpl = createClusterImplPolicyType({ counters });
    const types = [clusterImpl, wrrLocalityPolicy, weightedTargetPolicy, wrr];
    this.harness = new LbHarness(types);
    const stats = processStats.forChannel(TARGET);
    this.host = new FakeLbHost({ ...this.harness.environment, stats });
    this.start(outlierDetection, new OutlierDetectionLbConfig(detection, this.clusterConfig()));
  }

  /** Lets both endpoints report their load, after the first second. */
  report(load: Partial<OrcaLoadReport>): LbHarness {
    this.harness.clock.advance(UPDATE_MS);
    this.call(4, NO_STATUSES, load);
    return this.harness;
  }

  /** Picks, and ends each call with the status and the load of the endpoint. */
  call(times: number, statuses: ReadonlyMap<string, Status>, report?: Partial<OrcaLoadReport>) {
    for (let i = 0; i < times; i++) {
      const result = pick(this.picker);
      const status = statuses.get(result.subchannel?.getAddress() ?? '') ?? Status.OK;
      result.onCallEnded?.(status, '', trailersWith(report));
    }
  }

  private get picker() {
    const last = this.host.published.at(-1);
    if (last === undefined) throw new Error('Nothing was published');
    return last.picker;
  }

  private start(type: LbPolicyType, config: LbConfig): void {
    const { batch } = this.harness;
    const policy = type.create(this.host);
    const endpoints = ok(singleLocality(A, B));
    this.harness.update(policy, { config, endpoints });
    batch.run(() => {
      for (const subchannel of this.host.subchannels) subchannel.connect();
    });
  }

  private clusterConfig(): ClusterImplConfig {
    return new ClusterImplConfig({
      cluster: 'pay',
      edsServiceName: '',
      maxRequests: 1000,
      drops: [],
      childPolicy: new WrrLocalityConfig(new WeightedRoundRobinConfig(DEFAULT_SETTINGS)),
    });
  }
}

function trailersWith(report: Partial<OrcaLoadReport> | undefined): Metadata {
  const trailers = new Metadata();
  if (report === undefined) return trailers;
  const bytes = OrcaLoadReport.encode(OrcaLoadReport.create(report)).finish();
  trailers.set('endpoint-load-metrics-bin', Buffer.from(bytes));
  return trailers;
}

const labels = { 'grpc.target': TARGET, ...PLACE };
const reported = { rpsFractional: 10, applicationUtilization: 0.5 };
const NO_STATUSES = new Map<string, Status>();

describe.each(WAYS)('metrics of load balancing with a %s', (way) => {
  let reader: MetricsReader;
  afterEach(() => reader.stop());

  const value = async (name: string) => (await reader.series(name)).map((series) => series.value);

  it('records every weight at each update of the scheduler, and why it is not usable', async () => {
    reader = new MetricsReader(way, {
      enableMetrics: [
        'grpc.lb.wrr.rr_fallback',
        'grpc.lb.wrr.endpoint_weight_not_yet_usable',
        'grpc.lb.wrr.endpoint_weight_stale',
        'grpc.lb.wrr.endpoint_weights',
      ],
      optionalLabels: ['grpc.lb.locality', 'grpc.lb.backend_service'],
    });
    const { clock } = new ObservedTree(NO_DETECTION).report(reported);
    // 1. The report came in the first second: nine updates are in the blackout period, after one without a report.
    clock.advance(BLACKOUT_MS - UPDATE_MS);
    expect(await value('grpc.lb.wrr.endpoint_weight_not_yet_usable')).toEqual([20]);
    expect(await value('grpc.lb.wrr.rr_fallback')).toEqual([10]);
    expect(await reader.series('grpc.lb.wrr.endpoint_weights')).toEqual([
      { labels, value: 20, sum: 0 },
    ]);
    // 2. Both weigh 10 / 0.5 at the next update.
    clock.advance(UPDATE_MS);
    expect(await reader.series('grpc.lb.wrr.endpoint_weights')).toEqual([
      { labels, value: 22, sum: 40 },
    ]);
    // 3. Without another report, both weights expire.
    clock.advance(EXPIRATION_MS - BLACKOUT_MS);
    expect(await reader.series('grpc.lb.wrr.endpoint_weight_stale')).toEqual([
      { labels, value: 2, sum: undefined },
    ]);
    expect(await value('grpc.lb.wrr.endpoint_weight_not_yet_usable')).toEqual([20]);
    expect(await value('grpc.lb.wrr.rr_fallback')).toEqual([11]);
    expect(await reader.series('grpc.lb.wrr.endpoint_weights')).toEqual([
      { labels, value: 362, sum: 340 * 20 },
    ]);
  });

  it('counts ejections, and those that are not enforced by their reason', async () => {
    reader = new MetricsReader(way, {
      enableMetrics: [
        'grpc.lb.outlier_detection.ejections_enforced',
        'grpc.lb.outlier_detection.ejections_unenforced',
      ],
      optionalLabels: ['grpc.lb.backend_service'],
    });
    const method = {
      'grpc.target': TARGET,
      'grpc.lb.outlier_detection.detection_method': 'failure_percentage',
      'grpc.lb.backend_service': 'pay',
    };
    const failing = new Map([
      [A, Status.UNAVAILABLE],
      [B, Status.UNAVAILABLE],
    ]);
    // 1. Of two outliers, the maximum of half the endpoints is ejected.
    const strict = { ...failurePercentage, minimumHosts: 1 };
    const tree = new ObservedTree(detectionWith({ failurePercentage: strict }));
    tree.call(60, failing);
    tree.harness.clock.advance(INTERVAL_MS);
    expect(await reader.series('grpc.lb.outlier_detection.ejections_enforced')).toEqual([
      { labels: method, value: 1, sum: undefined },
    ]);
    const overflow = 'max_ejection_overflow';
    const reason = 'grpc.lb.outlier_detection.unenforced_reason';
    expect(await reader.series('grpc.lb.outlier_detection.ejections_unenforced')).toEqual([
      { labels: { ...method, [reason]: overflow }, value: 1, sum: undefined },
    ]);
    // 2. Without enforcement, both stay.
    const lenient = { ...strict, enforcementPercentage: 0 };
    const other = new ObservedTree(detectionWith({ failurePercentage: lenient }));
    other.call(60, failing);
    other.harness.clock.advance(INTERVAL_MS);
    expect(await reader.series('grpc.lb.outlier_detection.ejections_unenforced')).toEqual([
      { labels: { ...method, [reason]: 'enforcement_percentage' }, value: 2, sum: undefined },
      { labels: { ...method, [reason]: overflow }, value: 1, sum: undefined },
    ]);
  });
});
