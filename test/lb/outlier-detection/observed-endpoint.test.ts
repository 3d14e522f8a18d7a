import { OrcaLoadReport } from '../../../src/wire/generated/xds/data/orca/v3/orca_load_report';
import { Metadata, Status } from '../../../src/grpc-js';
import { outlierDetectionPolicies } from '../../../src/lb/outlier-detection/balancer';
import { OutlierDetectionLbConfig } from '../../../src/lb/outlier-detection/config';
import { createWeightedRoundRobinPolicyTypes } from '../../../src/lb/weighted-round-robin/balancer';
import {
  DEFAULT_SETTINGS,
  WeightedRoundRobinConfig,
} from '../../../src/lb/weighted-round-robin/config';
import { LbHarness, pick, pickAddress, singleLocality } from '../../support/lb-harness';
import { RecordingReportSource } from '../weighted-round-robin/recording-report-source';
import { detectionWith, failurePercentage } from './detection';

const A = '10.0.0.1:80';
const B = '10.0.0.2:80';

it('outlier_detection counts calls that weighted_round_robin reads reports from', () => {
  const policies = createWeightedRoundRobinPolicyTypes({
    oobReports: new RecordingReportSource(),
    customMetrics: false,
  });
  const harness = new LbHarness(policies);
  const [type] = outlierDetectionPolicies;
  if (type === undefined) throw new Error('No policy');
  const policy = harness.create(type);
  const config = new OutlierDetectionLbConfig(
    detectionWith({ failurePercentage: { ...failurePercentage, minimumHosts: 1 } }),
    new WeightedRoundRobinConfig({ ...DEFAULT_SETTINGS, blackoutPeriodMs: 0 }),
  );
  harness.updateEndpoints(policy, config, singleLocality(A, B));
  for (const address of [A, B]) harness.subchannel(address).connect();
  const call = (status: (address: string) => Status) => {
    const { subchannel, onCallEnded } = pick(harness.last.picker);
    const address = subchannel?.getAddress() ?? '';
    const load = { rpsFractional: address === A ? 100 : 300, cpuUtilization: 1 };
    const reporting = new Metadata();
    const bytes = OrcaLoadReport.encode(OrcaLoadReport.create(load)).finish();
    reporting.set('endpoint-load-metrics-bin', Buffer.from(bytes));
    onCallEnded?.(status(address), '', reporting);
    return address;
  };
  for (let i = 0; i < 4; i++) call(() => Status.OK);
  harness.clock.advance(1000);
  const chosen = Array.from({ length: 40 }, () =>
    call((address) => (address === A ? Status.INTERNAL : Status.OK)),
  );
  expect(chosen.filter((address) => address === A).length).toBe(10);
  harness.clock.advance(9000);
  expect(pickAddress(harness.last.picker)).toBe(B);
  expect(pickAddress(harness.last.picker)).toBe(B);
});
