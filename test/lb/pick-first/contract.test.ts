import { createPickFirstPolicyType } from '../../../src/lb/pick-first/balancer';
import { PickFirstConfig } from '../../../src/lb/pick-first/config';
import { ok } from '../../../src/util/result';
import { describeLbPolicyContract } from '../../contract/lb-policy-contract';
import { singleLocality } from '../../support/lb-harness';

describe.each([false, true])('with shuffleAddressList %s', (shuffleAddressList) => {
  const config = new PickFirstConfig(shuffleAddressList);
  describeLbPolicyContract({
    name: 'pick_first',
    type: createPickFirstPolicyType({ flags: { weightedShuffling: true } }),
    connectsAtOnce: true,
    usesEveryEndpoint: false,
    makeUpdate: (endpoints) => ({
      config,
      endpoints: endpoints.ok ? ok(singleLocality(...endpoints.value)) : endpoints,
    }),
  });
});
