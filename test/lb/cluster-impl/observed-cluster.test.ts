import { ObservedCluster } from '../../../src/lb/cluster-impl/observed-cluster';
import { AddressIndex } from '../../../src/lb/endpoints/endpoint-index';
import { describeWait, queuePicker, WaitPicker } from '../../../src/lb/connectivity';
import { processStats } from '../../../src/observe/stats/stats-registry';
import { FakeClock } from '../../support/fake-clock';
import { MetricsReader } from '../../support/metrics-reader';

describe('the picker of an observed cluster', () => {
  const reader = new MetricsReader('MetricProducer');
  afterAll(() => reader.stop());

  it('says why calls are queued, as that of the policy below does', () => {
    const stats = processStats.forChannel('xds:///shop');
    if (stats === undefined) throw new Error('the channel is not observed');
    const cluster = new ObservedCluster(stats, 'pay', new AddressIndex(), new FakeClock());
    const waiting = new WaitPicker(() => '10.0.0.1:80: connecting for 5.0 s');
    expect(describeWait(cluster.observe(waiting))).toBe('10.0.0.1:80: connecting for 5.0 s');
    expect(describeWait(cluster.observe(queuePicker))).toBeUndefined();
  });
});
