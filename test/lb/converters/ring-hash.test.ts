import { DEFAULT_LIMITS } from '../../../src/bootstrap/limits';
import {
  Cluster,
  Cluster_LbPolicy,
  Cluster_RingHashLbConfig_HashFunction,
} from '../../../src/wire/generated/envoy/config/cluster/v3/cluster';
import {
  RingHash,
  RingHash_HashFunction,
} from '../../../src/wire/generated/envoy/extensions/load_balancing_policies/ring_hash/v3/ring_hash';
import { XxHash64 } from '../../../src/util/hashes';
import { RingHashConfig } from '../../../src/lb/ring-hash/config';
import { LbPolicyRegistry } from '../../../src/lb/registry/lb-policy-registry';
import { createRingHashPolicyType } from '../../../src/lb/ring-hash/balancer';
import { parseClusterLbPolicy } from '../../../src/resources/cluster/cluster-lb-policy-parser';
import { readFeatureFlags } from '../../../src/util/feature-flags';
import { Violations } from '../../../src/util/violations';

const registry = new LbPolicyRegistry({
  policies: [
    createRingHashPolicyType({
      hash: new XxHash64(),
      flags: readFeatureFlags({}),
      limits: DEFAULT_LIMITS,
    }),
  ],
});

const TYPE = 'envoy.extensions.load_balancing_policies.ring_hash.v3.RingHash';

function convertBytes(value: Uint8Array) {
  const violations = Violations.root();
  const typeUrl = `type.googleapis.com/${TYPE}`;
  const config = registry.fromProto({ typeUrl, value }, 0, violations);
  return { config, violations: violations.all };
}

function convert(fields: Partial<RingHash>) {
  return convertBytes(RingHash.encode({ ...RingHash.create(), ...fields }).finish());
}

function sizes(minRingSize: number, maxRingSize: number): RingHashConfig {
  return new RingHashConfig({ minRingSize, maxRingSize, requestHashHeader: '' });
}

describe('the converter of ring_hash', () => {
  it.each([
    [{}, sizes(1024, 8_388_608)],
    [{ minimumRingSize: 5n, maximumRingSize: 7n }, sizes(5, 7)],
    [{ minimumRingSize: 8_388_608n }, sizes(8_388_608, 8_388_608)],
    [{ hashFunction: RingHash_HashFunction.XX_HASH }, sizes(1024, 8_388_608)],
  ])('takes case %#', (fields, config) => {
    expect(convert(fields)).toEqual({ config, violations: [] });
  });

  it.each([
    [
      { hashFunction: RingHash_HashFunction.MURMUR_HASH_2 },
      'hash_function: must be XX_HASH, not MURMUR_HASH_2',
    ],
    [{ minimumRingSize: 0n }, 'minimum_ring_size: must be from 1 to 8388608, not 0'],
    [{ maximumRingSize: 8_388_609n }, 'maximum_ring_size: must be from 1 to 8388608, not 8388609'],
    [
      { minimumRingSize: 9n, maximumRingSize: 8n },
      'minimum_ring_size: must not exceed maximum_ring_size, which is 8, but is 9',
    ],
  ])('refuses case %#', (fields, violation) => {
    expect(convert(fields)).toEqual({ config: undefined, violations: [violation] });
  });
});

describe('ring_hash by lb_policy', () => {
  it.each([
    [undefined, sizes(1024, 8_388_608)],
    [{ minimumRingSize: 5n, maximumRingSize: 7n }, sizes(5, 7)],
  ])('takes the settings of case %#', (settings, expected) => {
    const hashFunction = Cluster_RingHashLbConfig_HashFunction.XX_HASH;
    const cluster = Cluster.create({
      lbPolicy: Cluster_LbPolicy.RING_HASH,
      ...(settings && {
        lbConfig: { $case: 'ringHashLbConfig', value: { ...settings, hashFunction } },
      }),
    });
    const violations = Violations.root();
    expect(parseClusterLbPolicy(cluster, { lbConfigs: registry }, violations)).toEqual(expected);
    expect(violations.all).toEqual([]);
  });
});
