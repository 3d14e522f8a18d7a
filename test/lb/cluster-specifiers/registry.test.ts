import {
  clusterSpecifiers,
  registerClusterSpecifierPlugin,
} from '../../../src/lb/cluster-specifiers/registry';
import { createPolicyRegistry } from '../../../src/lb/registry/create-policy-registry';
import { CdsConfig } from '../../../src/lb/cds/config';
import { RlsConfig } from '../../../src/lb/rls/config';
import type { VirtualHost } from '../../../src/resources/route-config/route-config';
import { createResourceTypes } from '../../../src/resources/resource-types';
import { createEnvironment } from '../../../src/runtime/built-in-parts';
import { readFeatureFlags } from '../../../src/util/feature-flags';
import { Violations } from '../../../src/util/violations';
import { routeConfigJson, routeToCluster, type Json } from '../../support/xds-json';
import { extensions, valueOf, versionOf, violationsOf } from '../../resources/decode-json';

const policies = createPolicyRegistry(createEnvironment({ flags: readFeatureFlags({}) }));
const { routeConfig: type } = createResourceTypes({
  ...extensions,
  lbConfigs: policies,
  clusterSpecifiers,
});

const struct = (type_url: string, value: Json): Json => ({
  '@type': 'type.googleapis.com/xds.type.v3.TypedStruct',
  type_url: `type.googleapis.com/${type_url}`,
  value,
});
const shard = (value: Json) => struct('acme.v1.Shard', value);
const lookups: Json = {
  '@type': 'type.googleapis.com/grpc.lookup.v1.RouteLookupClusterSpecifier',
  route_lookup_config: {
    grpc_keybuilders: [{ names: [{ service: 's' }] }],
    lookup_service: 'lookup.test',
    cache_size_bytes: 1,
  },
};
const plugin = (typed_config: Json, name = 'p', extra: Json = {}): Json => ({
  extension: { name, typed_config },
  ...extra,
});
/** A route of each plugin, and one of a cluster. */
const config = (plugins: readonly Json[], ...names: readonly string[]): Json => ({
  ...routeConfigJson('r', [
    ...names.map((name) => ({ match: { prefix: '' }, route: { cluster_specifier_plugin: name } })),
    routeToCluster('c'),
  ]),
  cluster_specifier_plugins: plugins,
});
const hostOf = (json: Json): VirtualHost | undefined => valueOf(type, json).virtualHosts[0];

beforeAll(() =>
  registerClusterSpecifierPlugin({
    configTypes: ['type.googleapis.com/acme.v1.Shard', 'google.protobuf.BoolValue'],
    toLbConfig(input) {
      if (input.kind === 'message') return [{ round_robin: {} }];
      const { cluster, list } = input.json;
      if (list !== undefined) return list as object[];
      if (cluster === undefined)
        throw new AggregateError([new Error('no cluster'), new Error('bad')]);
      return [{ unknown: {} }, { cds_experimental: { cluster, isDynamic: true } }];
    },
  }),
);

describe('cluster specifier plugins', () => {
  it('have a policy for the routes that name them, the last of one name', () => {
    const host = hostOf(
      config(
        [
          plugin(shard({ cluster: 'x' }), 'a'),
          plugin(lookups, 'b'),
          plugin(shard({ cluster: 'a' }), 'a'),
          plugin(lookups, 'unused'),
        ],
        'a',
        'b',
      ),
    );
    expect(host?.routes.map(({ action }) => action)).toMatchObject([
      { clusters: { kind: 'plugin', name: 'cluster_specifier_plugin:a' } },
      { clusters: { kind: 'plugin', name: 'cluster_specifier_plugin:b' } },
      { clusters: { kind: 'cluster', name: 'c' } },
    ]);
    expect([...(host?.clusters ?? [])]).toEqual(['c']);
    const plugins = host?.plugins ?? new Map<string, never>();
    expect([...plugins.keys()]).toEqual([
      'cluster_specifier_plugin:a',
      'cluster_specifier_plugin:b',
    ]);
    expect(plugins.get('cluster_specifier_plugin:a')).toEqual(new CdsConfig('a', true));
    expect(plugins.get('cluster_specifier_plugin:b')).toBeInstanceOf(RlsConfig);
  });

  it('may be messages, and their policies any that can be named', () => {
    const message = { '@type': 'type.googleapis.com/google.protobuf.BoolValue', value: true };
    expect(
      hostOf(config([plugin(message)], 'p'))
        ?.plugins?.values()
        .next().value,
    ).toMatchObject({
      policyName: 'round_robin',
    });
    const rls = {
      routeLookupConfig: {
        grpcKeybuilders: [{ names: [{ service: 's' }] }],
        lookupService: 'lookup.test',
        cacheSizeBytes: 1,
      },
      childPolicy: [{ cds_experimental: { isDynamic: true } }],
      childPolicyConfigTargetFieldName: 'cluster',
    };
    const nested = hostOf(config([plugin(shard({ list: [{ rls_experimental: rls }] }))], 'p'));
    const found: unknown = nested?.plugins?.values().next().value;
    expect(found instanceof RlsConfig && found.targets.of('x')).toEqual({
      ok: true,
      value: new CdsConfig('x', true),
    });
  });

  it('keep their configs while they do not change, and so do virtual hosts', () => {
    const plugins = [plugin(shard({ cluster: 'x' }))];
    const previous = versionOf(type, config(plugins, 'p'));
    const before = previous.value.virtualHosts[0];
    expect(valueOf(type, config(plugins, 'p'), { previous }).virtualHosts[0]).toBe(before);
    const [host] = valueOf(type, config(plugins, 'p', 'p'), { previous }).virtualHosts;
    expect(host?.plugins?.values().next().value).toBe(before?.plugins?.values().next().value);
    const other = valueOf(type, config([plugin(shard({ cluster: 'y' }))], 'p'), { previous });
    expect(other.virtualHosts[0]?.plugins?.values().next().value).toEqual(new CdsConfig('y', true));
  });

  it.each<[string, Json, readonly string[]]>([
    ['throws', shard({}), ['no cluster', 'bad']],
    ['returns no list', shard({ list: 5 }), ['must be a list of load-balancing policies']],
    [
      'returns a cluster without a name',
      shard({ list: [{ cds_experimental: { isDynamic: 5 } }] }),
      [
        '[0].cds_experimental.cluster: field not present',
        '[0].cds_experimental.isDynamic: must be a boolean',
      ],
    ],
    [
      'names an internal policy',
      shard({ list: [{ priority_experimental: {} }] }),
      ['names no supported load-balancing policy, only priority_experimental'],
    ],
  ])(
    'reject their route configuration when one %s, also an optional one',
    (_what, typed, texts) => {
      const expected = texts.map((text) => {
        const at = 'cluster_specifier_plugins[0].extension.typed_config';
        return text.startsWith('[') ? `${at}${text}` : `${at}: ${text}`;
      });
      for (const extra of [{}, { is_optional: true }])
        expect(violationsOf(type, config([plugin(typed, 'p', extra)], 'p'))).toEqual(expected);
    },
  );

  it('take the routes with them that name one that is not supported, if it is optional', () => {
    const unknown = plugin(struct('acme.v1.Unknown', {}), 'p', { is_optional: true });
    const host = hostOf(config([unknown], 'p'));
    expect(host?.routes).toHaveLength(1);
    expect(host?.plugins).toBeUndefined();
  });

  it('need names of types', () => {
    const toLbConfig = () => [];
    for (const configTypes of [[], ['a', '']])
      expect(() => registerClusterSpecifierPlugin({ configTypes, toLbConfig })).toThrow(
        'registerClusterSpecifierPlugin() needs configTypes that are names of types',
      );
  });

  it('alone may name cds', () => {
    const violations = Violations.root();
    expect(policies.fromJson([{ cds_experimental: { cluster: 'x' } }], violations)).toBeUndefined();
    expect(violations.all).toEqual([
      'names no supported load-balancing policy, only cds_experimental',
    ]);
  });
});
