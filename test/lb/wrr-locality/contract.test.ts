import { roundRobinPolicy } from '../../../src/lb/round-robin/balancer';
import { RoundRobinConfig } from '../../../src/lb/round-robin/config';
import { weightedTargetPolicy } from '../../../src/lb/weighted-target/balancer';
import { wrrLocalityPolicy } from '../../../src/lb/wrr-locality/balancer';
import { WrrLocalityConfig } from '../../../src/lb/wrr-locality/config';
import { ok } from '../../../src/util/result';
import { describeLbPolicyContract } from '../../contract/lb-policy-contract';
import { makeEndpointSet, makeLocality } from '../../support/lb-harness';

const config = new WrrLocalityConfig(new RoundRobinConfig());

describeLbPolicyContract({
  name: 'wrr_locality over weighted_target over round_robin',
  type: wrrLocalityPolicy,
  policies: [weightedTargetPolicy, roundRobinPolicy],
  connectsAtOnce: true,
  usesEveryEndpoint: true,
  makeUpdate: (endpoints) => ({
    config,
    endpoints: endpoints.ok
      ? ok(
          makeEndpointSet(
            makeLocality('near', endpoints.value.slice(0, 2), 9),
            makeLocality('far', endpoints.value.slice(2), 1),
          ),
        )
      : endpoints,
  }),
});
