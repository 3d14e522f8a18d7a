import { emptyEndpointSet } from '../../../src/lb/endpoints/endpoint-set';
import { PriorityConfig } from '../../../src/lb/priority/config';
import { roundRobinPolicy } from '../../../src/lb/round-robin/balancer';
import { RoundRobinConfig } from '../../../src/lb/round-robin/config';
import { ok } from '../../../src/util/result';
import { describeLbPolicyContract } from '../../contract/lb-policy-contract';
import { singleLocality } from '../../support/lb-harness';
import { priorityPolicy } from '../../support/lb-policies';

const child = { config: new RoundRobinConfig(), ignoreReresolutionRequests: false };

describeLbPolicyContract({
  name: 'priority over round_robin',
  type: priorityPolicy,
  policies: [roundRobinPolicy],
  connectsAtOnce: true,
  usesEveryEndpoint: true,
  makeUpdate: (endpoints) => ({
    config: new PriorityConfig(new Map([['p0', child]])),
    endpoints: endpoints.ok
      ? ok({ localities: [], children: new Map([['p0', singleLocality(...endpoints.value)]]) })
      : endpoints,
  }),
});

describeLbPolicyContract({
  name: 'priority over an empty priority and round_robin',
  type: priorityPolicy,
  policies: [roundRobinPolicy],
  connectsAtOnce: true,
  usesEveryEndpoint: true,
  makeUpdate: (endpoints) => ({
    config: new PriorityConfig(
      new Map([
        ['p0', child],
        ['p1', child],
      ]),
    ),
    endpoints: endpoints.ok
      ? ok({
          localities: [],
          children: new Map([
            ['p0', emptyEndpointSet],
            ['p1', singleLocality(...endpoints.value)],
          ]),
        })
      : endpoints,
  }),
});
