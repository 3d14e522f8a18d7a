import { DEFAULT_LIMITS } from '../../../src/bootstrap/limits';
import { XxHash64 } from '../../../src/util/hashes';
import { createPolicyRegistry } from '../../../src/lb/registry/create-policy-registry';
import { policyNames } from '../../../src/lb/registry/policy-table';
import { readFeatureFlags } from '../../../src/util/feature-flags';
import { silentLogger } from '../../../src/util/logger';
import { FakeClock } from '../../support/fake-clock';

const everythingOn = readFeatureFlags({});

function registered(flags: typeof everythingOn): readonly string[] {
  const registry = createPolicyRegistry({
    clock: new FakeClock(),
    random: () => 0,
    logger: silentLogger,
    flags,
    hash: new XxHash64(),
    limits: DEFAULT_LIMITS,
  });
  return Array.from(registry.registered(), ({ name }) => name).sort();
}

describe('The names available before the policies are loaded', () => {
  it.each([
    ['with every flag at its default', {}],
    ['with the features of Envoy', { envoyFeatures: true }],
    ['without ring_hash', { ringHash: false }],
    ['without least_request', { leastRequest: false }],
    ['without weighted_round_robin', { weightedRoundRobin: false }],
    ['without outlier detection', { outlierDetection: false }],
    ['without session affinity', { overrideHost: false }],
  ])('are those of the policies there are, %s', (_case, changed) => {
    const flags = { ...everythingOn, ...changed };
    expect([...policyNames(flags)].sort()).toEqual(registered(flags));
  });
});
