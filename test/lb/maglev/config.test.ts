import { createPolicyRegistry } from '../../../src/lb/registry/create-policy-registry';
import { RingHashConfig } from '../../../src/lb/ring-hash/config';
import { MAX_MAGLEV_TABLE_SIZE } from '../../../src/util/limits';
import { Violations } from '../../../src/util/violations';
import { edsClusterJson, lbPolicyJson, type Json } from '../../support/xds-json';
import { createResourceTypes } from '../../../src/resources/resource-types';
import { createEnvironment } from '../../../src/runtime/built-in-parts';
import { readFeatureFlags } from '../../../src/util/feature-flags';
import { decodeBytes, encode, extensions } from '../../resources/decode-json';

const MESSAGE = 'envoy.extensions.load_balancing_policies.maglev.v3.Maglev';

/** The policy of a cluster, or its violations. */
function policyOf(cluster: Json, envoyFeatures = true): unknown {
  const flags = readFeatureFlags({ GRPC_XDS_NODE_ENVOY_FEATURES: String(envoyFeatures) });
  const lbConfigs = createPolicyRegistry(createEnvironment({ flags }));
  const types = createResourceTypes({ ...extensions, lbConfigs, envoyFeatures });
  const bytes = encode(types.cluster, edsClusterJson('c', cluster));
  const { result: parsed } = decodeBytes(types.cluster, bytes);
  return parsed.ok ? parsed.value.lbConfig : parsed.error;
}

const listOf = (config: Json): Json => ({
  load_balancing_policy: lbPolicyJson('maglev.v3.Maglev', config),
});

function maglev(size: number, requestHashHeader = ''): RingHashConfig {
  const sizes = { minRingSize: size, maxRingSize: size };
  return new RingHashConfig({ ...sizes, requestHashHeader }, 'maglev_experimental');
}

describe('a cluster with Maglev', () => {
  it.each<[string, Json, RingHashConfig]>([
    ['lb_policy', { lb_policy: 'MAGLEV' }, maglev(65_537)],
    [
      'lb_policy with a size',
      { lb_policy: 'MAGLEV', maglev_lb_config: { table_size: 7 } },
      maglev(7),
    ],
    ['load_balancing_policy', listOf({}), maglev(65_537)],
    ['load_balancing_policy with a size', listOf({ table_size: 101 }), maglev(101)],
    [
      'load_balancing_policy with the largest size',
      listOf({ table_size: MAX_MAGLEV_TABLE_SIZE }),
      maglev(MAX_MAGLEV_TABLE_SIZE),
    ],
  ])('takes %s', (_name, cluster, expected) => {
    expect(policyOf(cluster)).toEqual(expected);
  });

  it.each([
    [0, 'must be a prime number up to 5000011, not 0'],
    [1, 'must be a prime number up to 5000011, not 1'],
    [65_536, 'must be a prime number up to 5000011, not 65536'],
    [5_000_077, 'must be a prime number up to 5000011, not 5000077'],
  ])('is rejected with a table of %d entries', (size, reason) => {
    const at = 'load_balancing_policy.policies[0].typed_extension_config.typed_config.table_size';
    expect(policyOf(listOf({ table_size: size }))).toEqual([`${at}: ${reason}`]);
    expect(policyOf({ lb_policy: 'MAGLEV', maglev_lb_config: { table_size: size } })).toEqual([
      `lb_policy[0].maglev_experimental.tableSize: ${reason}`,
    ]);
  });

  it('is rejected without the features of Envoy, with the variable that enables them', () => {
    expect(policyOf({ lb_policy: 'MAGLEV', maglev_lb_config: { table_size: 1 } }, false)).toEqual([
      'lb_policy: must be ROUND_ROBIN, LEAST_REQUEST or RING_HASH, not MAGLEV, which GRPC_XDS_NODE_ENVOY_FEATURES=true enables',
    ]);
    expect(policyOf(listOf({}), false)).toEqual([
      `load_balancing_policy.policies: names no supported load-balancing policy, only ${MESSAGE}: GRPC_XDS_NODE_ENVOY_FEATURES=true enables Maglev`,
    ]);
  });
});

describe('the JSON config of Maglev', () => {
  function parse(json: Json): unknown {
    const flags = readFeatureFlags({ GRPC_XDS_NODE_ENVOY_FEATURES: 'true' });
    const violations = Violations.root();
    const registry = createPolicyRegistry(createEnvironment({ flags }));
    return registry.fromJson([{ maglev_experimental: json }], violations) ?? violations.all;
  }

  it.each<[Json, unknown]>([
    [{}, maglev(65_537)],
    [{ tableSize: 13, requestHashHeader: 'User' }, maglev(13, 'user')],
    [
      { tableSize: 12.5 },
      ['[0].maglev_experimental.tableSize: must be a prime number up to 5000011, not 12.5'],
    ],
    [{ tableSize: 'x' }, ['[0].maglev_experimental.tableSize: must be a number']],
    [
      { requestHashHeader: 'a-bin' },
      ['[0].maglev_experimental.requestHashHeader: must not be the name of a binary header'],
    ],
  ])('%j', (json, expected) => {
    expect(parse(json)).toEqual(expected);
  });
});
