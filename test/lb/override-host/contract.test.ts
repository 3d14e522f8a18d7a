import { overrideHostPolicy } from '../../../src/lb/override-host/balancer';
import { OverrideHostConfig } from '../../../src/lb/override-host/config';
import { roundRobinPolicy } from '../../../src/lb/round-robin/balancer';
import { RoundRobinConfig } from '../../../src/lb/round-robin/config';
import { ok } from '../../../src/util/result';
import { describeLbPolicyContract } from '../../contract/lb-policy-contract';
import { singleLocality } from '../../support/lb-harness';

const config = new OverrideHostConfig({
  statuses: new Set(['HEALTHY', 'DRAINING']),
  idleTimeoutMs: 3_600_000,
  childPolicy: new RoundRobinConfig(),
});

const base = {
  type: overrideHostPolicy,
  policies: [roundRobinPolicy],
  connectsAtOnce: true,
  usesEveryEndpoint: true,
  makeUpdate: (endpoints: Parameters<typeof makeUpdate>[0]) => makeUpdate(endpoints),
} as const;

function makeUpdate(
  endpoints: Parameters<Parameters<typeof describeLbPolicyContract>[0]['makeUpdate']>[0],
) {
  return {
    config,
    endpoints: endpoints.ok ? ok(singleLocality(...endpoints.value)) : endpoints,
  };
}

describeLbPolicyContract({ ...base, name: 'override_host over round_robin' });

describeLbPolicyContract({
  ...base,
  name: 'override_host over round_robin, for calls that begin sessions',
  attributes: { cluster: 'cluster:c', overrideHost: { addresses: [], onPicked: () => {} } },
});
