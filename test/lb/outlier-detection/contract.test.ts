import { createClusterImplPolicyType } from '../../../src/lb/cluster-impl/balancer';
import { CallCounterMap } from '../../../src/lb/cluster-impl/circuit-breaker';
import { ClusterImplConfig } from '../../../src/lb/cluster-impl/config';
import { outlierDetectionPolicies } from '../../../src/lb/outlier-detection/balancer';
import { OutlierDetectionLbConfig } from '../../../src/lb/outlier-detection/config';
import { roundRobinPolicy } from '../../../src/lb/round-robin/balancer';
import { RoundRobinConfig } from '../../../src/lb/round-robin/config';
import { ok } from '../../../src/util/result';
import { describeLbPolicyContract } from '../../contract/lb-policy-contract';
import { FakeClock } from '../../support/fake-clock';
import { singleLocality } from '../../support/lb-harness';
import { detectionWith, failurePercentage } from './detection';

const clusterImpl = new ClusterImplConfig({
  cluster: 'c',
  edsServiceName: '',
  maxRequests: 1024,
  drops: [],
  childPolicy: new RoundRobinConfig(),
});
const detecting = detectionWith({ failurePercentage });
const idle = detectionWith({});
const [type, alias] = outlierDetectionPolicies;

for (const [name, policy, config] of [
  ['over round_robin', type, new OutlierDetectionLbConfig(detecting, new RoundRobinConfig())],
  ['over cluster_impl', type, new OutlierDetectionLbConfig(detecting, clusterImpl)],
  ['that detects nothing', type, new OutlierDetectionLbConfig(idle, new RoundRobinConfig())],
  [
    'by its other name',
    alias,
    new OutlierDetectionLbConfig(detecting, new RoundRobinConfig(), alias?.name),
  ],
] as const) {
  if (policy === undefined) throw new Error('No policy');
  describeLbPolicyContract({
    name: `outlier_detection ${name}`,
    type: policy,
    policies: [
      createClusterImplPolicyType({ counters: new CallCounterMap(new FakeClock()) }),
      roundRobinPolicy,
    ],
    connectsAtOnce: true,
    usesEveryEndpoint: true,
    makeUpdate: (endpoints) => ({
      config,
      endpoints: endpoints.ok ? ok(singleLocality(...endpoints.value)) : endpoints,
    }),
  });
}
