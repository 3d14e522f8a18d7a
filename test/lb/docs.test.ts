import { DEFAULT_LIMITS } from '../../src/bootstrap/limits';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { XxHash64 } from '../../src/util/hashes';
import { createPolicyRegistry } from '../../src/lb/registry/create-policy-registry';
import { CustomLbPolicies } from '../../src/lb/custom/custom-policies';
import type { LbConfig } from '../../src/resources/extension-points';
import { createResourceTypes } from '../../src/resources/resource-types';
import { readFeatureFlags } from '../../src/util/feature-flags';
import { silentLogger } from '../../src/util/logger';
import { extensions, valueOf } from '../resources/decode-json';
import { FakeClock } from '../support/fake-clock';
import { edsClusterJson, type Json } from '../support/xds-json';

const text = readFileSync(join(__dirname, '../../docs/lb-policies.md'), 'utf8');

const registry = createPolicyRegistry({
  clock: new FakeClock(),
  random: () => 0,
  logger: silentLogger,
  flags: readFeatureFlags({ GRPC_XDS_NODE_ENVOY_FEATURES: 'true' }),
  hash: new XxHash64(),
  limits: DEFAULT_LIMITS,
});
const policies = new CustomLbPolicies();
policies.addTo(registry);
policies.register({
  name: 'acme.v1.Random',
  parseConfig: () => ({}),
  create: () => ({ update: () => {}, onConnectionChanged: () => {} }),
});
const types = createResourceTypes({ ...extensions, lbConfigs: registry });

/** The YAML examples, in order. */
const examples = [...text.matchAll(/```yaml\n(.*?)```/gs)].map(([, yaml = '']): Json =>
  parse(yaml),
);

function parsed(example: Json | undefined): LbConfig {
  return valueOf(types.cluster, edsClusterJson('c', example)).lbConfig;
}

describe('docs/lb-policies.md', () => {
  it('has examples that do what the text says', () => {
    expect(examples.map(parsed)).toMatchObject([
      {
        policyName: 'random_subsetting_experimental',
        subsetSize: 20,
        childPolicy: { policyName: 'least_request_experimental', choiceCount: 2 },
      },
      { policyName: 'ring_hash_experimental', minRingSize: 1024, maxRingSize: 4096 },
      { policyName: 'acme.v1.Random' },
    ]);
  });

  it('lists every policy that an operator can choose', () => {
    const listed = [...text.matchAll(/^\| `(\w+)`/gm)].map(([, name]) => name);
    const parts =
      /^(cds|priority|weighted_target|outlier_detection|xds_cluster|xds_override_host|acme|weighted_round_robin_experimental)/;
    const choices = [...registry.registered()]
      .map(({ name }) => name)
      .filter((n) => !parts.test(n));
    expect(listed.filter((name) => name !== undefined).sort()).toEqual(choices.sort());
  });
});
