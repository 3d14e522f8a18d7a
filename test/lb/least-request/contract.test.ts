import { leastRequestPolicy } from '../../../src/lb/least-request/balancer';
import { LeastRequestConfig } from '../../../src/lb/least-request/config';
import { ok } from '../../../src/util/result';
import { describeLbPolicyContract } from '../../contract/lb-policy-contract';
import { singleLocality } from '../../support/lb-harness';

const config = new LeastRequestConfig(2);

describeLbPolicyContract({
  name: 'least_request',
  type: leastRequestPolicy,
  connectsAtOnce: true,
  usesEveryEndpoint: true,
  makeUpdate: (endpoints) => ({
    config,
    endpoints: endpoints.ok ? ok(singleLocality(...endpoints.value)) : endpoints,
  }),
});
