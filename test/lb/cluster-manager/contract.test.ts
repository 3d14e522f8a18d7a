import { clusterManagerPolicy } from '../../../src/lb/cluster-manager/balancer';
import { ClusterManagerConfig } from '../../../src/lb/cluster-manager/config';
import { roundRobinPolicy } from '../../../src/lb/round-robin/balancer';
import { RoundRobinConfig } from '../../../src/lb/round-robin/config';
import { ok } from '../../../src/util/result';
import { describeLbPolicyContract } from '../../contract/lb-policy-contract';
import { singleLocality } from '../../support/lb-harness';

const config = new ClusterManagerConfig(new Map([['cluster:c', new RoundRobinConfig()]]));

describeLbPolicyContract({
  name: 'cluster_manager over round_robin',
  type: clusterManagerPolicy,
  policies: [roundRobinPolicy],
  attributes: { cluster: 'cluster:c' },
  connectsAtOnce: true,
  usesEveryEndpoint: true,
  makeUpdate: (endpoints) => ({
    config,
    endpoints: endpoints.ok ? ok(singleLocality(...endpoints.value)) : endpoints,
  }),
});
