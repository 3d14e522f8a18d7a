import type { EndpointSet } from '../../../src/lb/endpoints/endpoint-set';
import { roundRobinPolicy } from '../../../src/lb/round-robin/balancer';
import { RoundRobinConfig } from '../../../src/lb/round-robin/config';
import { weightedTargetPolicy } from '../../../src/lb/weighted-target/balancer';
import { WeightedTargetConfig } from '../../../src/lb/weighted-target/config';
import type { XdsEndpoint } from '../../../src/resources/endpoints/endpoints';
import { ok } from '../../../src/util/result';
import { describeLbPolicyContract } from '../../contract/lb-policy-contract';
import { singleLocality } from '../../support/lb-harness';

const childPolicy = new RoundRobinConfig();
// One target has a name that plain objects would trip over.
const config = new WeightedTargetConfig(
  new Map([
    ['first', { weight: 3, childPolicy }],
    ['__proto__', { weight: 1, childPolicy }],
  ]),
);

/** Every other endpoint goes to the second target. */
function split(endpoints: readonly XdsEndpoint[]): EndpointSet {
  const part = (odd: boolean) => endpoints.filter((_, i) => (i % 2 === 1) === odd);
  return {
    localities: [],
    children: new Map([
      ['first', singleLocality(...part(false))],
      ['__proto__', singleLocality(...part(true))],
    ]),
  };
}

describeLbPolicyContract({
  name: 'weighted_target over round_robin',
  type: weightedTargetPolicy,
  policies: [roundRobinPolicy],
  connectsAtOnce: true,
  usesEveryEndpoint: true,
  makeUpdate: (endpoints) => ({
    config,
    endpoints: endpoints.ok ? ok(split(endpoints.value)) : endpoints,
  }),
});
