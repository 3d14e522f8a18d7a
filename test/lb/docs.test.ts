import { DEFAULT_LIMITS } from '../../src/bootstrap/limits';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { XxHash64 } from '../../src/util/hashes';
import { createPolicyRegistry } from '../../src/lb/registry/create-policy-registry';
import { clusterSpecifiers } from '../../src/lb/cluster-specifiers/registry';
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
const types = createResourceTypes({ ...extensions, lbConfigs: registry, clusterSpecifiers });

/** The YAML examples, in order. */
const examples = [...text.matchAll(/```yaml\n(.*?)```/gs)].map(([, yaml = '']): Json =>
  parse(yaml),
);
const ofClusters = examples.filter((example) => 'load_balancing_policy' in example);

function parsed(example: Json | undefined): LbConfig {
  return valueOf(types.cluster, edsClusterJson('c', example)).lbConfig;
}

describe('docs/lb-policies.md', () => {
  it('has examples that do what the text says', () => {
    expect(ofClusters.map(parsed)).toMatchObject([
      {
        policyName: 'random_subsetting_experimental',
        subsetSize: 20,
        childPolicy: { policyName: 'least_request_experimental', choiceCount: 2 },
      },
      { policyName: 'ring_hash_experimental', minRingSize: 1024, maxRingSize: 4096 },
      { policyName: 'acme.v1.Random' },
    ]);
  });

  it('has an example of routes that choose clusters by a lookup service', () => {
    const routes = examples.filter((example) => 'cluster_specifier_plugins' in example);
    const [host] = routes.map((example) => valueOf(types.routeConfig, example).virtualHosts[0]);
    expect(host?.plugins?.get('cluster_specifier_plugin:tenants')).toMatchObject({
      lookup: {
        lookupService: 'lookup.example.com:443',
        maxAgeMs: 60_000,
        defaultTarget: 'shared',
      },
    });
  });

  it('lists every policy that an operator can choose', () => {
    const listed = [...text.matchAll(/^\| `(\w+)`/gm)].map(([, name]) => name);
    const parts =
      /^(cds|priority|weighted_target|outlier_detection|rls|xds_cluster|xds_override_host|acme|weighted_round_robin_experimental)/;
    const choices = [...registry.registered()]
      .map(({ name }) => name)
      .filter((n) => !parts.test(n));
    expect(listed.filter((name) => name !== undefined).sort()).toEqual(choices.sort());
  });
});
