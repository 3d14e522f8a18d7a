import {
  checkConsistency,
  Snapshot,
  type ResourceJson,
  type SnapshotInput,
} from '../../src/control-plane';
import { cluster, echo, endpoints, listener, route } from './resources';

const aggregate = (name: string, ...clusters: readonly string[]): ResourceJson => ({
  name,
  cluster_type: {
    name: 'envoy.clusters.aggregate',
    typed_config: {
      '@type': 'type.googleapis.com/envoy.extensions.clusters.aggregate.v3.ClusterConfig',
      clusters,
    },
  },
});

const inlineListener = (name: string, clusterName: string): ResourceJson => ({
  name,
  api_listener: {
    api_listener: {
      '@type':
        'type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager',
      route_config: route('inline', clusterName),
    },
  },
});

describe('checkConsistency', () => {
  it.each<[string, SnapshotInput, readonly string[]]>([
    ['an empty snapshot', {}, []],
    ['a complete service', echo, []],
    ['resources without references to them', { endpoints: [endpoints('x', 1)], routes: [] }, []],
    [
      'a listener with an unknown route configuration',
      { listeners: [listener('l', 'r')] },
      [
        'listener "l": api_listener.api_listener.rds.route_config_name: route configuration "r" is not in the snapshot',
      ],
    ],
    [
      'an inline route configuration with an unknown cluster',
      { listeners: [inlineListener('l', 'c')] },
      [
        'listener "l": api_listener.api_listener.route_config.virtual_hosts[0].routes[0].route.cluster: cluster "c" is not in the snapshot',
      ],
    ],
    [
      'a listener with an address',
      {
        listeners: [{ name: 'l', address: { socket_address: { address: '::1', port_value: 1 } } }],
      },
      [],
    ],
    [
      'a route with unknown clusters',
      {
        clusters: [{ name: 'b', type: 'LOGICAL_DNS' }],
        routes: [
          {
            name: 'r',
            virtual_hosts: [
              { name: 'none', domains: ['x'] },
              {
                name: 'v',
                domains: ['*'],
                routes: [
                  { match: { prefix: '/a' }, non_forwarding_action: {} },
                  { match: { prefix: '/b' }, route: { cluster_header: 'x' } },
                  {
                    match: { prefix: '' },
                    route: {
                      weighted_clusters: {
                        clusters: ['a', 'b', 'c'].map((name) => ({ name, weight: 1 })),
                      },
                    },
                  },
                ],
              },
            ],
          },
        ],
      },
      [
        'route configuration "r": virtual_hosts[1].routes[2].route.weighted_clusters.clusters[0].name: cluster "a" is not in the snapshot',
        'route configuration "r": virtual_hosts[1].routes[2].route.weighted_clusters.clusters[2].name: cluster "c" is not in the snapshot',
      ],
    ],
    [
      'a cluster with unknown endpoints of its name',
      { clusters: [cluster('c')] },
      ['cluster "c": name: endpoint assignment "c" is not in the snapshot'],
    ],
    [
      'a cluster with an unknown service name',
      {
        clusters: [{ ...cluster('c'), eds_cluster_config: { service_name: 's' } }],
        endpoints: [endpoints('c', 1)],
      },
      [
        'cluster "c": eds_cluster_config.service_name: endpoint assignment "s" is not in the snapshot',
      ],
    ],
    [
      'an aggregate cluster with an unknown child',
      { clusters: [aggregate('a', 'b', 'c'), { name: 'b', type: 'LOGICAL_DNS' }] },
      ['cluster "a": cluster_type.typed_config.clusters[1]: cluster "c" is not in the snapshot'],
    ],
    [
      'a cluster of another extension',
      { clusters: [{ name: 'c', cluster_type: { name: 'x' } }] },
      [],
    ],
    [
      'names of another authority',
      {
        listeners: [listener('l', 'xdstp://elsewhere/envoy.config.route.v3.RouteConfiguration/r')],
      },
      [],
    ],
    [
      'names of its own authority',
      {
        clusters: [
          {
            ...cluster('xdstp://here/envoy.config.cluster.v3.Cluster/c'),
            eds_cluster_config: { service_name: 'xdstp://here/x/e' },
          },
        ],
      },
      [
        'cluster "xdstp://here/envoy.config.cluster.v3.Cluster/c": eds_cluster_config.service_name: ' +
          'endpoint assignment "xdstp://here/x/e" is not in the snapshot',
      ],
    ],
    [
      'names like properties of Object.prototype',
      { listeners: [listener('l', 'constructor')], clusters: [cluster('__proto__')] },
      [
        'cluster "__proto__": name: endpoint assignment "__proto__" is not in the snapshot',
        'listener "l": api_listener.api_listener.rds.route_config_name: route configuration "constructor" is not in the snapshot',
      ],
    ],
  ])('reports the problems of %s', (_what, input, problems) => {
    expect(checkConsistency(Snapshot.from(input))).toEqual(problems);
  });

  it.each(['listeners', 'routes', 'clusters', 'endpoints'] as const)(
    'reports which of the %s cannot be decoded',
    (list) => {
      const kinds = {
        listeners: ['listener', 'envoy.config.listener.v3.Listener'],
        routes: ['route configuration', 'envoy.config.route.v3.RouteConfiguration'],
        clusters: ['cluster', 'envoy.config.cluster.v3.Cluster'],
        endpoints: ['endpoint assignment', 'envoy.config.endpoint.v3.ClusterLoadAssignment'],
      } as const;
      const [label, type] = kinds[list];
      const value = new Uint8Array([0x0a, 0x7f]);
      const broken = { typeUrl: `type.googleapis.com/${type}`, name: 'x', value };
      const problems = checkConsistency(Snapshot.from({ [list]: [broken] }));
      expect(problems).toEqual([
        expect.stringMatching(new RegExp(`^${label} "x": cannot be decoded: .+`)),
      ]);
    },
  );
});
