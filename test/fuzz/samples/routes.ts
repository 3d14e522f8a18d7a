import { routeToCluster, type Json } from '../../support/xds-json';
import { faultConfig, filterOverrides } from './http-filters';
import { TYPE } from './type-urls';

/** Routes with as much in them as there is. */
export const routes: readonly Json[] = [
  {
    name: 'all-there-is',
    match: {
      safe_regex: { regex: '/(a|b)+/[^/]*' },
      headers: [
        { name: 'a', range_match: { start: 1, end: 9 } },
        { name: 'b', string_match: { safe_regex: { regex: 'x{2,5}' }, ignore_case: true } },
        { name: 'c', present_match: false, invert_match: true },
        { name: 'd', contains_match: 'part' },
      ],
      runtime_fraction: { default_value: { numerator: 3, denominator: 'TEN_THOUSAND' } },
    },
    route: {
      weighted_clusters: {
        clusters: [
          { name: 'x', weight: 3, typed_per_filter_config: { fault: faultConfig } },
          { name: 'y', weight: 4 },
        ],
      },
      retry_policy: {
        retry_on: 'unavailable,internal',
        num_retries: 3,
        retry_back_off: { base_interval: '0.1s', max_interval: '1s' },
      },
      max_stream_duration: { grpc_timeout_header_max: '3s', max_stream_duration: '5s' },
      hash_policy: [
        {
          header: {
            header_name: 'user',
            regex_rewrite: { pattern: { regex: '(.*)-' }, substitution: '\\1' },
          },
        },
        { filter_state: { key: 'io.grpc.channel_id' }, terminal: true },
      ],
      auto_host_rewrite: true,
    },
    typed_per_filter_config: {
      fault: { '@type': `${TYPE}/envoy.config.route.v3.FilterConfig`, config: faultConfig },
    },
  },
  { match: { path: '/shop.Cart/Add', case_sensitive: false }, route: { cluster: 'cart' } },
  { match: { prefix: '/shop.Cart/' }, route: { cluster_header: 'x-cluster' } },
  { match: { prefix: '/' }, redirect: {} },
  { match: { prefix: '' }, non_forwarding_action: {} },
  { ...routeToCluster('z'), typed_per_filter_config: filterOverrides },
];

/** A plugin that looks up the cluster of a call. */
export const routeLookup: Json = {
  is_optional: true,
  extension: {
    name: 'lookup',
    typed_config: {
      '@type': `${TYPE}/grpc.lookup.v1.RouteLookupClusterSpecifier`,
      route_lookup_config: {
        grpc_keybuilders: [
          {
            names: [{ service: 'shop.Cart', method: 'Add' }],
            headers: [{ key: 'user', names: ['x-user', 'user'] }],
            extra_keys: { host: 'h', service: 's', method: 'm' },
            constant_keys: { of: 'all' },
          },
        ],
        lookup_service: 'dns:///localhost:1',
        lookup_service_timeout: '1s',
        max_age: '60s',
        stale_age: '30s',
        cache_size_bytes: '1000',
        default_target: 'cart',
      },
    },
  },
};
