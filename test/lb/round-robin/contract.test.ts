import { RoundRobinConfig } from '../../../src/lb/round-robin/config';
import { roundRobinPolicy } from '../../../src/lb/round-robin/balancer';
import { ok } from '../../../src/util/result';
import { describeLbPolicyContract } from '../../contract/lb-policy-contract';
import { singleLocality } from '../../support/lb-harness';

describeLbPolicyContract({
  name: 'round_robin',
  type: roundRobinPolicy,
  connectsAtOnce: true,
  usesEveryEndpoint: true,
  makeUpdate: (endpoints) => ({
    config: new RoundRobinConfig(),
    endpoints: endpoints.ok ? ok(singleLocality(...endpoints.value)) : endpoints,
  }),
});
