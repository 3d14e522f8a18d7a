import { encodeMessage } from '../resources/decode-json';
import {
  edsClusterJson,
  endpointsJson,
  listenerJson,
  routeConfigJson,
  routerFilter,
  routeToCluster,
  type Json,
} from '../support/xds-json';

// Valid resources that have as much in them as there is to be parsed.

/** Names that a client may ask for. */
export const NAMES: readonly string[] = [
  'svc',
  'routes',
  'c',
  'd',
  'agg',
  'p1',
  'r1',
  'x',
  '',
  '__proto__',
];

const TYPE = 'type.googleapis.com';
const LB = `${TYPE}/envoy.extensions.load_balancing_policies`;
const HTTP = `${TYPE}/envoy.extensions.filters.http`;
const MATCHING = `${TYPE}/envoy.extensions.common.matching.v3`;

const faultConfig: Json = {
  '@type': `${HTTP}.fault.v3.HTTPFault`,
  delay: { fixed_delay: '0.1s', percentage: { numerator: 3, denominator: 'MILLION' } },
  abort: { header_abort: {}, percentage: { numerator: 10 } },
  max_active_faults: 5,
};
const headerInput: Json = {
  name: 'header',
  typed_config: {
    '@type': `${TYPE}/envoy.type.matcher.v3.HttpRequestHeaderMatchInput`,
    header_name: 'x-user',
  },
};
const composite: Json = {
  '@type': `${MATCHING}.ExtensionWithMatcher`,
  extension_config: {
    name: 'composite',
    typed_config: { '@type': `${HTTP}.composite.v3.Composite` },
  },
  xds_matcher: {
    matcher_list: {
      matchers: [
        {
          predicate: {
            and_matcher: {
              predicate: [
                { single_predicate: { input: headerInput, value_match: { prefix: 'a' } } },
                {
                  not_matcher: {
                    single_predicate: {
                      input: headerInput,
                      value_match: { safe_regex: { regex: 'a.*b' } },
                    },
                  },
                },
              ],
            },
          },
          on_match: {
            action: {
              name: 'fault',
              typed_config: {
                '@type': `${HTTP}.composite.v3.ExecuteFilterAction`,
                typed_config: { name: 'fault', typed_config: faultConfig },
              },
            },
          },
        },
      ],
    },
    on_no_match: {
      action: {
        name: 'skip',
        typed_config: {
          '@type': `${TYPE}/envoy.extensions.filters.common.matcher.action.v3.SkipFilter`,
        },
      },
    },
  },
};
const session: Json = {
  '@type': `${HTTP}.stateful_session.v3.StatefulSession`,
  session_state: {
    name: 'cookie',
    typed_config: {
      '@type': `${TYPE}/envoy.extensions.http.stateful_session.cookie.v3.CookieBasedSessionState`,
      cookie: { name: 'session', path: '/shop', ttl: '120s' },
    },
  },
};
const filters: readonly Json[] = [
  { name: 'fault', typed_config: faultConfig },
  { name: 'composite', typed_config: composite },
  { name: 'session', typed_config: session },
  {
    name: 'unknown',
    is_optional: true,
    typed_config: { '@type': `${LB}.round_robin.v3.RoundRobin` },
  },
  routerFilter,
];

const routes: readonly Json[] = [
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
  routeToCluster('z'),
];

const policy = (name: string, config: Json = {}): Json => ({
  typed_extension_config: { name: 'p', typed_config: { '@type': `${LB}.${name}`, ...config } },
});
const customPolicy: Json = {
  typed_extension_config: {
    name: 'custom',
    typed_config: {
      '@type': `${TYPE}/xds.type.v3.TypedStruct`,
      type_url: `${TYPE}/round_robin`,
      value: { a: [1, 'b', { c: null }] },
    },
  },
};
const balancing = (...policies: readonly Json[]): Json => ({ policies });
const allPolicies: readonly Json[] = [
  balancing(customPolicy),
  balancing(
    policy('wrr_locality.v3.WrrLocality', {
      endpoint_picking_policy: balancing(
        policy('client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin', {
          enable_oob_load_report: true,
          oob_reporting_period: '10s',
          weight_update_period: '1s',
          error_utilization_penalty: 0.5,
          metric_names_for_computing_utilization: ['named_metrics.q'],
        }),
      ),
    }),
  ),
  balancing(policy('ring_hash.v3.RingHash', { minimum_ring_size: 10, maximum_ring_size: 99 })),
  balancing(
    policy('random_subsetting.v3.RandomSubsetting', {
      subset_size: 5,
      child_policy: balancing(policy('least_request.v3.LeastRequest', { choice_count: 3 })),
    }),
  ),
  balancing(policy('pick_first.v3.PickFirst', { shuffle_address_list: true })),
];

const assignment = endpointsJson('c', [
  { zone: 'a', ports: [1, 2, 3, 4, 5, 6, 7, 8] },
  { zone: 'b', ports: [9] },
  { zone: 'b', priority: 1, ports: [4] },
]);
const detailedEndpoint: Json = {
  health_status: 'DRAINING',
  load_balancing_weight: 7,
  metadata: { filter_metadata: { 'envoy.lb': { hash_key: 'k', n: 1.5, l: [true, null] } } },
  endpoint: {
    hostname: 'h',
    address: { socket_address: { address: '::1', port_value: 80 } },
    additional_addresses: [
      { address: { socket_address: { address: '10.0.0.1', port_value: 81 } } },
    ],
  },
};

const listeners: readonly Json[] = [
  listenerJson('svc', 'routes', { http_filters: filters }),
  listenerJson('svc', '', {
    rds: undefined,
    route_config: routeConfigJson('in', routes),
    http_filters: filters,
    common_http_protocol_options: { max_stream_duration: '9s' },
  }),
  { name: 'server', address: { socket_address: { address: '0.0.0.0', port_value: 80 } } },
];
const clusters: readonly Json[] = [
  edsClusterJson('c', {
    lb_policy: 'RING_HASH',
    ring_hash_lb_config: { minimum_ring_size: 10, maximum_ring_size: 100 },
    outlier_detection: { interval: '1s', enforcing_failure_percentage: 50 },
    circuit_breakers: { thresholds: [{ max_requests: 5 }] },
    lrs_server: { self: {} },
  }),
  ...allPolicies.map((load_balancing_policy, index) =>
    edsClusterJson(`p${index}`, { load_balancing_policy }),
  ),
  {
    name: 'agg',
    cluster_type: {
      typed_config: {
        '@type': `${TYPE}/envoy.extensions.clusters.aggregate.v3.ClusterConfig`,
        clusters: ['a', 'b'],
      },
    },
  },
  {
    name: 'dns',
    type: 'LOGICAL_DNS',
    load_assignment: endpointsJson('dns', [{ zone: '', ports: [80] }]),
  },
];
const assignments: readonly Json[] = [
  {
    ...assignment,
    policy: { drop_overloads: [{ category: 'd', drop_percentage: { numerator: 1 } }] },
  },
  {
    cluster_name: 'd',
    endpoints: [
      {
        locality: { region: 'r', zone: 'z', sub_zone: 's' },
        load_balancing_weight: 3,
        lb_endpoints: [detailedEndpoint, { ...detailedEndpoint, health_status: 'HEALTHY' }],
      },
    ],
  },
];

/** Valid resources in JSON, by the full name of their message. */
const resourceSamples: ReadonlyMap<string, readonly Json[]> = new Map([
  ['envoy.config.listener.v3.Listener', listeners],
  [
    'envoy.config.route.v3.RouteConfiguration',
    [
      routeConfigJson('routes', routes),
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

const typed = [...resourceSamples].flatMap(([messageName, samples]) =>
  samples.map((json): Json => ({ '@type': `${TYPE}/${messageName}`, ...json })),
);
const inWrapper: Json = {
  '@type': `${TYPE}/envoy.service.discovery.v3.Resource`,
  name: 'c',
  version: '3',
  aliases: ['d'],
  ttl: '5s',
  resource: typed[5],
};
const resourceErrors: readonly Json[] = [
  { resource_name: { name: 'e' }, error_detail: { code: 5, message: 'gone' } },
];

/** State-of-the-world responses of two resources each, in JSON, of one type and of several. */
const responseSamples: readonly Json[] = [...typed, inWrapper].map((resource, index) => ({
  version_info: '7',
  nonce: 'n',
  type_url: (index % 2 === 0 ? resource : typed[5])?.['@type'],
  resources: [resource, index % 3 === 0 ? inWrapper : (typed[index + 1] ?? inWrapper)],
  resource_errors: resourceErrors,
}));

/** Incremental responses. */
const deltaResponseSamples: readonly Json[] = typed.map((resource, index) => ({
  system_version_info: '7',
  nonce: 'n',
  type_url: resource['@type'],
  resources: [
    { name: NAMES[index % NAMES.length], version: '1', resource },
    { name: 'r1', version: '1', aliases: ['x'], ttl: '3s', resource: typed[index + 1] },
  ],
  removed_resources: ['x', 'y'],
  removed_resource_names: [{ name: 'z' }],
  resource_errors: resourceErrors,
}));

/** Files of resources and answers of REST servers, in JSON. */
export const documentSamples: readonly Json[] = [
  ...typed.map((resource) => ({ version_info: '1', resources: [resource] })),
  { resources: [inWrapper], resource_errors: resourceErrors },
  { clusters: [edsClusterJson('c')], endpoints: [endpointsJson('c', [{ zone: 'a', ports: [1] }])] },
];

/** Encoded messages to begin with, by the full name of the message. */
export function encodedSamples(messageName: string): readonly Uint8Array[] {
  const samples = resourceSamples.get(messageName) ?? otherSamples.get(messageName) ?? [];
  return samples.map((json) => encodeMessage(messageName, json));
}

const otherSamples: ReadonlyMap<string, readonly Json[]> = new Map<string, readonly Json[]>([
  ['envoy.service.discovery.v3.DiscoveryResponse', responseSamples],
  ['envoy.service.discovery.v3.DeltaDiscoveryResponse', deltaResponseSamples],
  [
    'envoy.service.load_stats.v3.LoadStatsResponse',
    [{ clusters: ['a', 'b'], load_reporting_interval: '1.5s', report_endpoint_granularity: true }],
  ],
  [
    'xds.data.orca.v3.OrcaLoadReport',
    [
      {
        cpu_utilization: 0.5,
        mem_utilization: 0.1,
        rps_fractional: 10,
        eps: 1,
        application_utilization: 0.25,
        utilization: { disk: 0.5 },
        named_metrics: { q: 1, r: 2 },
        request_cost: { c: 3 },
      },
    ],
  ],
]);

/** A bootstrap with everything in it. */
export const bootstrapSample: Json = {
  xds_servers: [
    {
      server_uri: 'dns:///primary.test:443',
      channel_creds: [{ type: 'tls', config: { ca_certificate_file: '/ca.pem' } }],
      call_creds: [{ type: 'jwt_token_file', config: { jwt_token_file: '/token' } }],
      server_features: ['xds_v3', 'ignore_resource_deletion', 'grpc_xds_delta_auto'],
    },
    { server_uri: 'file:///etc/xds', channel_creds: [{ type: 'insecure' }] },
    { server_uri: 'https://x.test', poll_interval: '5s' },
  ],
  node: {
    id: 'node-1',
    cluster: 'shop',
    locality: { region: 'eu', zone: 'eu-1', sub_zone: 'a' },
    metadata: { A: 1, b: { c: [null, 'd'] } },
  },
  authorities: {
    'x.test': {
      client_listener_resource_name_template: 'xdstp://x.test/envoy.config.listener.v3.Listener/%s',
      xds_servers: [{ server_uri: 'x.test:443', channel_creds: [{ type: 'insecure' }] }],
      fallback_on_reachability_only: true,
    },
  },
  client_default_listener_resource_name_template: 'grpc/%s',
  certificate_providers: {
    files: {
      plugin_name: 'file_watcher',
      config: { certificate_file: '/c', refresh_interval: '600s' },
    },
  },
};

/** Load-balancing configs as a service config has them. */
export const lbConfigSamples: readonly unknown[] = [
  [{ unknown_policy: {} }, { round_robin: {} }],
  [
    {
      outlier_detection_experimental: {
        interval: '10s',
        successRateEjection: { stdevFactor: 1900 },
        childPolicy: [{ ring_hash_experimental: { minRingSize: 1, maxRingSize: 5 } }],
      },
    },
  ],
  [{ weighted_round_robin: { weightUpdatePeriod: '1s', errorUtilizationPenalty: 1 } }],
  [
    {
      weighted_target_experimental: {
        targets: { a: { weight: 1, childPolicy: [{ pick_first: { shuffleAddressList: true } }] } },
      },
    },
  ],
  [{ least_request_experimental: { choiceCount: 2 } }],
];
