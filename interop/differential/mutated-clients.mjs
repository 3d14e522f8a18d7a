// Resources of clients that use many fields, each of which is then changed in every way.
import { typed } from '../harness/resources.mjs';

const HCM = 'envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager';
const POLICIES = 'envoy.extensions.load_balancing_policies';
const TLS = 'envoy.extensions.transport_sockets.tls.v3';
const CLUSTER = 'differential-nowhere';

const router = {
  name: 'router',
  typed_config: typed('envoy.extensions.filters.http.router.v3.Router'),
};
const ads = { ads: {} };
const percentage = { numerator: 10, denominator: 'TEN_THOUSAND' };
const regex = (text) => ({ google_re2: {}, regex: text });
const extension = (name, typed_config) => ({ name, typed_config });

const headers = [
  { name: 'a', exact_match: 'x' },
  { name: 'b', safe_regex_match: regex('x') },
  { name: 'c', range_match: { start: 1, end: 2 } },
  { name: 'd', present_match: true },
  { name: 'e', prefix_match: 'x' },
  { name: 'f', suffix_match: 'x' },
  { name: 'g', contains_match: 'x' },
  { name: 'h', string_match: { exact: 'x', ignore_case: true }, invert_match: true },
  { name: 'i', string_match: { safe_regex: regex('x') } },
];

const listener =
  (http_filters, manager = {}) =>
  (name) => ({
    name,
    api_listener: {
      api_listener: typed(HCM, {
        rds: { route_config_name: `${name}-routes`, config_source: ads },
        http_filters: [...http_filters, router],
        ...manager,
      }),
    },
  });

const FAULT = 'envoy.extensions.filters.http.fault.v3.HTTPFault';
const fault = (abort, delay) =>
  extension(
    'fault',
    typed(FAULT, { abort, delay, max_active_faults: 5, headers: headers.slice(0, 1) }),
  );

const listeners = {
  plain: listener([], { common_http_protocol_options: { max_stream_duration: '1s' } }),
  fault: listener([fault({ http_status: 503, percentage }, { fixed_delay: '1s', percentage })]),
  'fault by header': listener([
    fault({ header_abort: {}, percentage }, { header_delay: {}, percentage }),
  ]),
  'fault of gRPC': listener([fault({ grpc_status: 14, percentage })]),
  session: listener([
    extension(
      'session',
      typed('envoy.extensions.filters.http.stateful_session.v3.StatefulSession', {
        session_state: extension(
          'cookie',
          typed('envoy.extensions.http.stateful_session.cookie.v3.CookieBasedSessionState', {
            cookie: { name: 'c', path: '/p', ttl: '10s' },
          }),
        ),
        strict: true,
      }),
    ),
  ]),
  authentication: listener([
    extension(
      'gcp',
      typed('envoy.extensions.filters.http.gcp_authn.v3.GcpAuthnFilterConfig', {
        cache_config: { cache_size: 5 },
      }),
    ),
  ]),
};

const routes =
  (list, host = {}, config = {}) =>
  (name) => ({
    name,
    virtual_hosts: [
      { name: 'all', domains: ['shop.test', '*.shop.test', 'shop.*'], routes: list, ...host },
    ],
    ...config,
  });
const any = { match: { prefix: '' }, route: { cluster: CLUSTER } };
const forwarding = (route) => ({ match: { prefix: '' }, route });
const faultConfig = typed(FAULT, { max_active_faults: 5 });
const retries = {
  retry_on: 'unavailable,cancelled',
  num_retries: 2,
  retry_back_off: { base_interval: '0.1s', max_interval: '1s' },
};

const routeConfigs = {
  matches: routes([
    {
      name: 'first',
      match: {
        path: '/shop/Buy',
        case_sensitive: false,
        headers,
        runtime_fraction: { default_value: percentage, runtime_key: 'k' },
      },
      route: { cluster: CLUSTER },
    },
    { match: { safe_regex: regex('/a.*') }, route: { cluster: CLUSTER } },
    any,
  ]),
  actions: routes(
    [
      forwarding({
        cluster: CLUSTER,
        timeout: '1s',
        max_stream_duration: { max_stream_duration: '1s', grpc_timeout_header_max: '2s' },
        retry_policy: retries,
        hash_policy: [
          {
            header: {
              header_name: 'h',
              regex_rewrite: { pattern: regex('x'), substitution: 'y' },
            },
            terminal: true,
          },
          { filter_state: { key: 'io.grpc.channel_id' } },
          { cookie: { name: 'c' } },
        ],
      }),
      forwarding({
        weighted_clusters: {
          clusters: [
            { name: 'a', weight: 1, typed_per_filter_config: { fault: faultConfig } },
            { name: 'b', weight: 2 },
          ],
          total_weight: 3,
        },
      }),
    ],
    { retry_policy: retries },
  ),
  overrides: routes([{ ...any, typed_per_filter_config: { fault: faultConfig } }], {
    typed_per_filter_config: {
      fault: typed('envoy.config.route.v3.FilterConfig', {
        config: faultConfig,
        is_optional: true,
        disabled: true,
      }),
    },
  }),
  plugins: routes(
    [forwarding({ cluster_specifier_plugin: 'p' }), any],
    {},
    {
      cluster_specifier_plugins: [
        {
          extension: extension('p', typed('interop.test.Unknown')),
          is_optional: true,
        },
      ],
    },
  ),
};

const cluster = (changes) => (name) => ({
  name,
  type: 'EDS',
  eds_cluster_config: { eds_config: ads, service_name: 'service' },
  lb_policy: 'ROUND_ROBIN',
  ...changes,
});
const policy = (...configs) =>
  cluster({
    load_balancing_policy: {
      policies: configs.map((config) => ({ typed_extension_config: extension('p', config) })),
    },
  });
const lb = (name, type, value) => typed(`${POLICIES}.${name}.v3.${type}`, value);
const list = (config) => ({ policies: [{ typed_extension_config: extension('p', config) }] });
const instance = { instance_name: 'default', certificate_name: 'c' };
const upstreamTls = (context) =>
  cluster({
    transport_socket: extension(
      'envoy.transport_sockets.tls',
      typed(`${TLS}.UpstreamTlsContext`, context),
    ),
  });

const clusters = {
  ring_hash: cluster({
    lb_policy: 'RING_HASH',
    ring_hash_lb_config: {
      minimum_ring_size: 10,
      maximum_ring_size: 100,
      hash_function: 'XX_HASH',
    },
    lrs_server: { self: {} },
    common_lb_config: { override_host_status: { statuses: ['HEALTHY', 'DRAINING'] } },
    circuit_breakers: { thresholds: [{ priority: 'DEFAULT', max_requests: 5 }] },
    metadata: { filter_metadata: { m: { key: 'value' } } },
  }),
  'outlier detection': cluster({
    outlier_detection: {
      interval: '1s',
      base_ejection_time: '2s',
      max_ejection_time: '3s',
      max_ejection_percent: 50,
      success_rate_stdev_factor: 1900,
      enforcing_success_rate: 100,
      success_rate_minimum_hosts: 3,
      success_rate_request_volume: 4,
      failure_percentage_threshold: 85,
      enforcing_failure_percentage: 50,
      failure_percentage_minimum_hosts: 3,
      failure_percentage_request_volume: 4,
    },
  }),
  'HTTP options': cluster({
    upstream_config: extension(
      'http',
      typed('envoy.extensions.upstreams.http.v3.HttpProtocolOptions', {
        common_http_protocol_options: { idle_timeout: '5s' },
        explicit_http_config: { http2_protocol_options: {} },
      }),
    ),
  }),
  aggregate: cluster({
    type: undefined,
    eds_cluster_config: undefined,
    cluster_type: extension(
      'envoy.clusters.aggregate',
      typed('envoy.extensions.clusters.aggregate.v3.ClusterConfig', { clusters: ['a', 'b'] }),
    ),
  }),
  DNS: cluster({
    type: 'LOGICAL_DNS',
    eds_cluster_config: undefined,
    load_assignment: {
      cluster_name: 'dns',
      endpoints: [
        {
          lb_endpoints: [
            {
              endpoint: {
                address: { socket_address: { address: 'shop.test', port_value: 80 } },
                hostname: 'shop',
              },
            },
          ],
        },
      ],
    },
  }),
  TLS: upstreamTls({
    common_tls_context: {
      tls_certificate_provider_instance: instance,
      validation_context: {
        ca_certificate_provider_instance: instance,
        match_subject_alt_names: [{ exact: 'shop.test' }, { prefix: 'spiffe://' }],
      },
      alpn_protocols: ['h2'],
    },
    sni: 'shop.test',
  }),
  'TLS with typed names': upstreamTls({
    common_tls_context: {
      validation_context: {
        ca_certificate_provider_instance: instance,
        match_typed_subject_alt_names: [{ san_type: 'DNS', matcher: { exact: 'shop.test' } }],
      },
    },
  }),
  'TLS, combined': upstreamTls({
    common_tls_context: {
      tls_certificate_provider_instance: instance,
      combined_validation_context: {
        default_validation_context: { ca_certificate_provider_instance: instance },
      },
    },
  }),
  'policy wrr_locality of round_robin': policy(
    lb('wrr_locality', 'WrrLocality', {
      endpoint_picking_policy: list(lb('round_robin', 'RoundRobin')),
    }),
  ),
  'policy weighted round robin': policy(
    lb('client_side_weighted_round_robin', 'ClientSideWeightedRoundRobin', {
      enable_oob_load_report: true,
      oob_reporting_period: '1s',
      blackout_period: '2s',
      weight_expiration_period: '3s',
      weight_update_period: '4s',
      error_utilization_penalty: 1,
      metric_names_for_computing_utilization: ['named_metrics.x'],
    }),
  ),
  'policy ring_hash': policy(
    lb('ring_hash', 'RingHash', {
      hash_function: 'XX_HASH',
      minimum_ring_size: 10,
      maximum_ring_size: 100,
    }),
  ),
  'policy pick_first': policy(lb('pick_first', 'PickFirst', { shuffle_address_list: true })),
  'policy least_request': policy(lb('least_request', 'LeastRequest', { choice_count: 3 })),
};

const assignments = {
  assignment: (cluster_name) => ({
    cluster_name,
    endpoints: [
      {
        locality: { region: 'r', zone: 'z', sub_zone: 's' },
        load_balancing_weight: 1,
        priority: 0,
        lb_endpoints: [
          {
            endpoint: {
              address: { socket_address: { address: '127.0.0.1', port_value: 9 } },
              hostname: 'host',
              additional_addresses: [
                { address: { socket_address: { address: '2001:db8::1', port_value: 9 } } },
              ],
            },
            load_balancing_weight: 2,
            health_status: 'HEALTHY',
            metadata: { filter_metadata: { 'envoy.lb': { hash_key: 'k' } } },
          },
        ],
      },
    ],
    policy: {
      drop_overloads: [{ category: 'c', drop_percentage: percentage }],
      overprovisioning_factor: 140,
    },
  }),
};

/** By kind: resources as functions of their name. */
export const bases = {
  listener: listeners,
  route: routeConfigs,
  cluster: clusters,
  endpoint: assignments,
};
