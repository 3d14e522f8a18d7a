import {
  filterChainJson,
  listenerJson,
  routeConfigJson,
  routerFilter,
  routeToCluster,
  socketListenerJson,
  type Json,
} from '../../support/xds-json';
import { assignments } from './assignments';
import { clusters } from './clusters';
import { filters } from './http-filters';
import { routeLookup, routes } from './routes';
import { TYPE } from './type-urls';

const ranges: readonly Json[] = [
  { address_prefix: '10.0.0.0', prefix_len: 8 },
  { address_prefix: '2001:db8::', prefix_len: 32 },
  { address_prefix: '::ffff:10.1.2.3', prefix_len: 120 },
];
const rules: Json = {
  action: 'DENY',
  policies: {
    p: {
      permissions: [
        { not_rule: { destination_port: 7 } },
        { url_path: { path: { prefix: '/a' } } },
      ],
      principals: [{ authenticated: { principal_name: { exact: 'spiffe://a/b' } } }, { any: true }],
    },
  },
};
const rbac: Json = {
  name: 'rbac',
  typed_config: { '@type': `${TYPE}/envoy.extensions.filters.http.rbac.v3.RBAC`, rules },
};
const override: Json = {
  '@type': `${TYPE}/envoy.extensions.filters.http.rbac.v3.RBACPerRoute`,
  rbac: { rules },
};
const instance: Json = { instance_name: 'mesh', certificate_name: 'a' };
const tls: Json = {
  name: 'envoy.transport_sockets.tls',
  typed_config: {
    '@type': `${TYPE}/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext`,
    require_client_certificate: true,
    common_tls_context: {
      tls_certificate_provider_instance: instance,
      validation_context: { ca_certificate_provider_instance: instance },
    },
  },
};
const chainMatch: Json = {
  prefix_ranges: ranges,
  source_prefix_ranges: ranges,
  source_ports: [1, 2],
  source_type: 'EXTERNAL',
  transport_protocol: 'raw_buffer',
};
const forwarded: Json = {
  match: { prefix: '' },
  non_forwarding_action: {},
  typed_per_filter_config: { rbac: override },
};
const inline: Json = {
  rds: undefined,
  route_config: routeConfigJson('in', [forwarded]),
  http_filters: [rbac, routerFilter],
};

const listeners: readonly Json[] = [
  listenerJson('svc', 'routes', { http_filters: filters }),
  listenerJson('svc', '', {
    rds: undefined,
    route_config: routeConfigJson('in', routes),
    http_filters: filters,
    common_http_protocol_options: { max_stream_duration: '9s' },
  }),
  socketListenerJson('server', [
    filterChainJson('routes', { filter_chain_match: chainMatch, transport_socket: tls }),
    filterChainJson('routes', { filter_chain_match: { server_names: ['a.example'] } }),
    filterChainJson('', {}, inline),
  ]),
];

/** Valid resources in JSON, by the full name of their message. */
export const resourceSamples: ReadonlyMap<string, readonly Json[]> = new Map([
  ['envoy.config.listener.v3.Listener', listeners],
  [
    'envoy.config.route.v3.RouteConfiguration',
    [
      routeConfigJson('routes', routes),
      {
        name: 'lookups',
        cluster_specifier_plugins: [routeLookup],
        virtual_hosts: [
          {
            name: 'all',
            domains: ['*'],
            routes: [{ match: { prefix: '' }, route: { cluster_specifier_plugin: 'lookup' } }],
          },
        ],
      },
      {
        name: 'hosts',
        virtual_hosts: [
          { name: 'a', domains: ['*.shop.test', 'shop.*', 'a.shop.test'], routes },
          { name: 'b', domains: ['*'], routes: [routeToCluster('z')] },
        ],
      },
    ],
  ],
  ['envoy.config.cluster.v3.Cluster', clusters],
  ['envoy.config.endpoint.v3.ClusterLoadAssignment', assignments],
]);

/** All of them, each with its type. */
export const typedResources = [...resourceSamples].flatMap(([messageName, samples]) =>
  samples.map((json): Json => ({ '@type': `${TYPE}/${messageName}`, ...json })),
);
