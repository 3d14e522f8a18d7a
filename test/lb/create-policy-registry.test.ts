import { DEFAULT_LIMITS } from '../../src/bootstrap/limits';
import { PickFirst } from '../../src/generated/envoy/extensions/load_balancing_policies/pick_first/v3/pick_first';
import { XxHash64 } from '../../src/hash/xx-hash';
import { createPolicyRegistry } from '../../src/lb/registry/create-policy-registry';
import { readFeatureFlags } from '../../src/util/feature-flags';
import { silentLogger } from '../../src/util/logger';
import { Violations } from '../../src/util/violations';
import { FakeClock } from '../support/fake-clock';

function convertPickFirst(environment: Readonly<Record<string, string>>) {
  const registry = createPolicyRegistry({
    clock: new FakeClock(),
    random: () => 0,
    logger: silentLogger,
    flags: readFeatureFlags(environment),
    hash: new XxHash64(),
    limits: DEFAULT_LIMITS,
  });
  const typeUrl =
    'type.googleapis.com/envoy.extensions.load_balancing_policies.pick_first.v3.PickFirst';
  const value = PickFirst.encode(PickFirst.create({ shuffleAddressList: true })).finish();
  return registry.fromProto({ typeUrl, value }, 0, Violations.root());
}

describe('the policies of a process', () => {
  it('can be pick_first through xDS', () => {
    expect(convertPickFirst({})).toEqual({ policyName: 'pick_first', shuffleAddressList: true });
  });

  it('cannot be pick_first through xDS where that is switched off (gRFC A62)', () => {
    const environment = { GRPC_EXPERIMENTAL_PICKFIRST_LB_CONFIG: 'false' };
    expect(convertPickFirst(environment)).toBe('unsupported');
  });
});
