import { DEFAULT_LIMITS } from '../../../src/bootstrap/limits';
import { createRingHashPolicyType } from '../../../src/lb/ring-hash/balancer';
import { RingHashConfig } from '../../../src/lb/ring-hash/config';
import type { LbPolicyType } from '../../../src/lb/lb-policy';
import { XxHash64 } from '../../../src/util/hashes';
import { readFeatureFlags } from '../../../src/util/feature-flags';
import { ok } from '../../../src/util/result';
import { describeLbPolicyContract } from '../../contract/lb-policy-contract';
import { singleLocality } from '../../support/lb-harness';
import { whenReady } from '../../support/ready-hash';

const hash = XxHash64.start();
beforeAll(() => whenReady(hash));

const type: LbPolicyType = createRingHashPolicyType({
  hash,
  flags: readFeatureFlags({}),
  limits: DEFAULT_LIMITS,
});
const config = new RingHashConfig({ minRingSize: 1024, maxRingSize: 4096, requestHashHeader: '' });

let picks = 0;

describeLbPolicyContract({
  name: 'ring_hash',
  type,
  connectsAtOnce: false,
  usesEveryEndpoint: true,
  // Enough to find each of 300 endpoints.
  picksToConnect: 4096,
  attributes: {
    cluster: 'cluster:c',
    // Goes round the ring by the golden ratio, so that any number of picks is spread evenly.
    requestHash: () => BigInt.asUintN(64, BigInt(picks++) * 0x9e37_79b9_7f4a_7c15n),
  },
  makeUpdate: (endpoints) => ({
    config,
    endpoints: endpoints.ok ? ok(singleLocality(...endpoints.value)) : endpoints,
  }),
});
