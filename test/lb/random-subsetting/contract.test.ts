import { XxHash64 } from '../../../src/util/hashes';
import { createRandomSubsettingPolicyType } from '../../../src/lb/random-subsetting/balancer';
import { RandomSubsettingConfig } from '../../../src/lb/random-subsetting/config';
import { roundRobinPolicy } from '../../../src/lb/round-robin/balancer';
import { RoundRobinConfig } from '../../../src/lb/round-robin/config';
import { ok } from '../../../src/util/result';
import { describeLbPolicyContract } from '../../contract/lb-policy-contract';
import { singleLocality } from '../../support/lb-harness';
import { whenReady } from '../../support/ready-hash';

const hash = XxHash64.start();
beforeAll(() => whenReady(hash));

const config = new RandomSubsettingConfig(1000, new RoundRobinConfig());

describeLbPolicyContract({
  name: 'random_subsetting',
  type: createRandomSubsettingPolicyType({ hash }),
  policies: [roundRobinPolicy],
  connectsAtOnce: true,
  usesEveryEndpoint: true,
  makeUpdate: (endpoints) => ({
    config,
    endpoints: endpoints.ok ? ok(singleLocality(...endpoints.value)) : endpoints,
  }),
});
