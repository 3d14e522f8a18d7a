import { DEFAULT_LIMITS } from '../../../src/bootstrap/limits';
import { PickFirst } from '../../../src/wire/generated/envoy/extensions/load_balancing_policies/pick_first/v3/pick_first';
import { XxHash64 } from '../../../src/util/hashes';
import { createPolicyRegistry } from '../../../src/lb/registry/create-policy-registry';
import { readFeatureFlags } from '../../../src/util/feature-flags';
import { silentLogger } from '../../../src/util/logger';
import { Violations } from '../../../src/util/violations';
import { FakeClock } from '../../support/fake-clock';

function registryOf(environment: Readonly<Record<string, string>> = {}) {
  return createPolicyRegistry({
    clock: new FakeClock(),
    random: () => 0,
    logger: silentLogger,
    flags: readFeatureFlags(environment),
    hash: new XxHash64(),
    limits: DEFAULT_LIMITS,
  });
}

function convertPickFirst(environment: Readonly<Record<string, string>>) {
  const registry = registryOf(environment);
  const typeUrl =
    'type.googleapis.com/envoy.extensions.load_balancing_policies.pick_first.v3.PickFirst';
  const value = PickFirst.encode(PickFirst.create({ shuffleAddressList: true })).finish();
  return registry.fromProto({ typeUrl, value }, 0, Violations.root());
}

describe('the policies of a process', () => {
  it('can be pick_first through xDS', () => {
    expect(convertPickFirst({})).toEqual({ policyName: 'pick_first', shuffleAddressList: true });
  });

  it('say once what is wrong with a config', () => {
    const typeUrl =
      'type.googleapis.com/envoy.extensions.load_balancing_policies.pick_first.v3.PickFirst';
    const violations = Violations.root();
    const value = Uint8Array.of(0x08);
    expect(registryOf().fromProto({ typeUrl, value }, 0, violations)).toBeUndefined();
    expect(violations.count).toBe(1);
  });

  // @grpc/grpc-js-xds has the names without the suffix, C-core, Java and Go most of them with it.
  it.each([
    'cds',
    'least_request',
    'outlier_detection',
    'priority',
    'random_subsetting',
    'ring_hash',
    'weighted_round_robin',
    'weighted_target',
    'xds_cluster_impl',
    'xds_cluster_manager',
    'xds_override_host',
    'xds_wrr_locality',
  ])('have %s with and without _experimental', (name) => {
    const registry = registryOf();
    expect(registry.get(name)).toBeDefined();
    expect(registry.get(`${name}_experimental`)).toBeDefined();
  });

  it.each<[spelling: string, json: object]>([
    ['of the schema', { min_ring_size: 7, request_hash_header: 'x-user' }],
    ['of JSON', { minRingSize: 7, requestHashHeader: 'x-user' }],
    [
      'of JSON, which counts if both are there',
      { minRingSize: 7, min_ring_size: 9, requestHashHeader: 'x-user' },
    ],
  ])('read configs whose fields have the names %s', (_spelling, json) => {
    const violations = Violations.root();
    expect(registryOf().parseList([{ ring_hash: json }], violations)).toMatchObject({
      policyName: 'ring_hash_experimental',
      minRingSize: 7,
      requestHashHeader: 'x-user',
    });
    expect(violations.all).toEqual([]);
  });

  it('do not take the name of a child policy for that of a field', () => {
    const childPolicy = [{ round_robin: {} }];
    const violations = Violations.root();
    const parsed = registryOf().parseList(
      [{ xds_wrr_locality: { child_policy: childPolicy } }],
      violations,
    );
    expect(parsed).toMatchObject({ childPolicy: { policyName: 'round_robin' } });
  });
});
