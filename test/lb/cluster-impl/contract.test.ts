import { createClusterImplPolicyType } from '../../../src/lb/cluster-impl/balancer';
import { CallCounterMap } from '../../../src/lb/cluster-impl/circuit-breaker';
import { ClusterImplConfig } from '../../../src/lb/cluster-impl/config';
import { roundRobinPolicy } from '../../../src/lb/round-robin/balancer';
import { RoundRobinConfig } from '../../../src/lb/round-robin/config';
import { ok } from '../../../src/util/result';
import { describeLbPolicyContract } from '../../contract/lb-policy-contract';
import { FakeClock } from '../../support/fake-clock';
import { singleLocality } from '../../support/lb-harness';

const config = new ClusterImplConfig({
  cluster: 'c',
  edsServiceName: '',
  maxRequests: 1024,
  drops: [],
  childPolicy: new RoundRobinConfig(),
});

describeLbPolicyContract({
  name: 'cluster_impl over round_robin',
  type: createClusterImplPolicyType({ counters: new CallCounterMap(new FakeClock()) }),
  policies: [roundRobinPolicy],
  connectsAtOnce: true,
  usesEveryEndpoint: true,
  makeUpdate: (endpoints) => ({
    config,
    endpoints: endpoints.ok ? ok(singleLocality(...endpoints.value)) : endpoints,
  }),
});
