/** What is known of a field: that it is not used, or which fields are in it. */
export type Field =
  | { readonly kind: 'unused'; readonly name: string }
  /** A text that may be used in part. `describe` returns what is not used of it; `undefined` if there is nothing. */
  | {
      readonly kind: 'text';
      readonly name: string;
      readonly describe: (text: string) => string | undefined;
    }
  | {
      readonly kind: 'message';
      readonly name: string;
      readonly isRepeated: boolean;
      readonly fields: Fields;
    }
  /** A message inside an `Any`, which is looked into if it has the type. */
  | {
      readonly kind: 'any';
      readonly name: string;
      readonly typeUrl: string;
      readonly fields: Fields;
    };

/** The fields of a message that are unused or have such fields in them, by number. */
export type Fields = ReadonlyMap<number, Field>;

/** Returns the fields of a message. */
function fieldsOf(...lists: readonly (readonly (readonly [number, Field])[])[]): Fields {
  return new Map(lists.flat());
}

/** Returns fields that are not used, by name. */
function unused(byName: Readonly<Record<string, number>>): readonly (readonly [number, Field])[] {
  return Object.entries(byName).map(([name, number]) => [number, { kind: 'unused', name }]);
}

/** Returns a field that is a message. */
function single(number: number, name: string, fields: Fields): readonly [number, Field] {
  return [number, { kind: 'message', name, isRepeated: false, fields }];
}

/** Returns a field that is a list of messages. */
function repeated(number: number, name: string, fields: Fields): readonly [number, Field] {
  return [number, { kind: 'message', name, isRepeated: true, fields }];
}

/** The conditions of `retry_on` that a gRPC client knows (gRFC A44). */
const RETRY_CONDITIONS = new Set([
  'cancelled',
  'deadline-exceeded',
  'internal',
  'resource-exhausted',
  'unavailable',
]);

const retryPolicy = fieldsOf(
  unused({
    per_try_timeout: 3,
    retry_priority: 4,
    retry_host_predicate: 5,
    host_selection_retry_max_attempts: 6,
    retriable_status_codes: 7,
    retriable_headers: 9,
    retriable_request_headers: 10,
    rate_limited_retry_back_off: 11,
    retry_options_predicates: 12,
    per_try_idle_timeout: 13,
    refresh_cluster_on_retry: 14,
  }),
  [[1, { kind: 'text', name: 'retry_on', describe: describeUnknownConditions }]],
);

const clusterWeight = fieldsOf(
  unused({
    metadata_match: 3,
    request_headers_to_add: 4,
    response_headers_to_add: 5,
    response_headers_to_remove: 6,
    request_headers_to_remove: 9,
    host_rewrite_literal: 11,
    cluster_header: 12,
  }),
);

const weightedClusters = fieldsOf(unused({ header_name: 4, use_hash_policy: 5 }), [
  repeated(1, 'clusters', clusterWeight),
]);

/** gRFC A28 has clients ignore `timeout`; the limit of a call is `max_stream_duration` (gRFC A31). */
const routeAction = fieldsOf(
  unused({
    metadata_match: 4,
    prefix_rewrite: 5,
    timeout: 8,
    priority: 11,
    rate_limits: 13,
    include_vh_rate_limits: 14,
    cors: 17,
    max_grpc_timeout: 23,
    idle_timeout: 24,
    upgrade_configs: 25,
    internal_redirect_action: 26,
    hedge_policy: 27,
    grpc_timeout_offset: 28,
    host_rewrite_header: 29,
    request_mirror_policies: 30,
    regex_rewrite: 32,
    retry_policy_typed_config: 33,
    internal_redirect_policy: 34,
    host_rewrite_path_regex: 35,
    append_x_forwarded_host: 38,
    early_data_policy: 40,
    path_rewrite_policy: 41,
    path_rewrite: 45,
  }),
  [single(3, 'weighted_clusters', weightedClusters), single(9, 'retry_policy', retryPolicy)],
);

const routeMatch = fieldsOf(
  unused({ grpc: 8, tls_context: 11, dynamic_metadata: 13, filter_state: 16, cookies: 17 }),
);

const route = fieldsOf(
  unused({
    request_headers_to_add: 9,
    response_headers_to_add: 10,
    response_headers_to_remove: 11,
    request_headers_to_remove: 12,
    per_request_buffer_limit_bytes: 16,
    request_body_buffer_limit: 20,
  }),
  [single(1, 'match', routeMatch), single(2, 'route', routeAction)],
);

const virtualHost = fieldsOf(
  unused({
    require_tls: 4,
    rate_limits: 6,
    request_headers_to_add: 7,
    cors: 8,
    response_headers_to_add: 10,
    response_headers_to_remove: 11,
    request_headers_to_remove: 13,
    include_request_attempt_count: 14,
    hedge_policy: 17,
    per_request_buffer_limit_bytes: 18,
    include_attempt_count_in_response: 19,
    retry_policy_typed_config: 20,
    matcher: 21,
    request_mirror_policies: 22,
    include_is_timeout_retry_header: 23,
    request_body_buffer_limit: 25,
  }),
  [repeated(3, 'routes', route), single(16, 'retry_policy', retryPolicy)],
);

/** The fields of a route configuration that have no effect. */
const routeConfiguration = fieldsOf(
  unused({
    internal_only_headers: 3,
    response_headers_to_add: 4,
    response_headers_to_remove: 5,
    request_headers_to_add: 6,
    request_headers_to_remove: 8,
    vhds: 9,
    request_mirror_policies: 13,
    ignore_path_parameters_in_path_matching: 15,
    typed_per_filter_config: 16,
    vhost_header: 18,
  }),
  [repeated(2, 'virtual_hosts', virtualHost)],
);

function describeUnknownConditions(text: string): string | undefined {
  const conditions = text.split(',').map((condition) => condition.trim().toLowerCase());
  const unknown = conditions.filter((name) => name !== '' && !RETRY_CONDITIONS.has(name));
  return unknown.length === 0 ? undefined : unknown.join(', ');
}

const TYPE_PREFIX = 'type.googleapis.com/';

const httpConnectionManager = fieldsOf(
  unused({
    add_user_agent: 6,
    tracing: 7,
    access_log: 13,
    generate_request_id: 15,
    via: 22,
    stream_idle_timeout: 24,
    request_timeout: 28,
    max_request_headers_kb: 29,
    local_reply_config: 38,
    request_headers_timeout: 41,
    early_header_mutation_extensions: 52,
  }),
  [
    single(4, 'route_config', routeConfiguration),
    single(35, 'common_http_protocol_options', httpProtocolOptions('listener')),
  ],
);

const listener = fieldsOf([
  single(
    19,
    'api_listener',
    fieldsOf([
      [
        1,
        {
          kind: 'any',
          name: 'api_listener',
          typeUrl: `${TYPE_PREFIX}envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager`,
          fields: httpConnectionManager,
        },
      ],
    ]),
  ),
]);

const circuitBreakers = fieldsOf(unused({ per_host_thresholds: 2 }), [
  repeated(
    1,
    'thresholds',
    fieldsOf(
      unused({
        max_connections: 2,
        max_pending_requests: 3,
        max_retries: 5,
        max_connection_pools: 7,
        retry_budget: 8,
      }),
    ),
  ),
]);

const outlierDetection = fieldsOf(
  unused({
    consecutive_5xx: 1,
    enforcing_consecutive_5xx: 5,
    consecutive_gateway_failure: 10,
    enforcing_consecutive_gateway_failure: 11,
    split_external_local_origin_errors: 12,
    consecutive_local_origin_failure: 13,
    enforcing_consecutive_local_origin_failure: 14,
    enforcing_local_origin_success_rate: 15,
    enforcing_failure_percentage_local_origin: 18,
    max_ejection_time_jitter: 22,
    monitors: 24,
    always_eject_one_host: 25,
    detect_degraded_hosts: 26,
  }),
);

const commonLbConfig = fieldsOf(
  unused({
    healthy_panic_threshold: 1,
    zone_aware_lb_config: 2,
    update_merge_window: 4,
    ignore_new_hosts_until_first_hc: 5,
    close_connections_on_host_set_change: 6,
    consistent_hashing_lb_config: 7,
  }),
);

const cluster = fieldsOf(
  unused({
    connect_timeout: 4,
    health_checks: 8,
    max_requests_per_connection: 9,
    dns_refresh_rate: 16,
    dns_resolvers: 18,
    upstream_bind_config: 21,
    lb_subset_config: 22,
    upstream_connection_options: 30,
    close_connections_on_host_health_failure: 31,
    ignore_health_on_host_removal: 32,
    respect_dns_ttl: 39,
    filters: 40,
    dns_failure_refresh_rate: 44,
    preconnect_policy: 50,
    connection_pool_per_downstream_connection: 51,
    dns_resolution_config: 53,
    typed_dns_resolver_config: 55,
    dns_jitter: 58,
    transport_socket_matcher: 59,
  }),
  [
    single(10, 'circuit_breakers', circuitBreakers),
    single(19, 'outlier_detection', outlierDetection),
    single(27, 'common_lb_config', commonLbConfig),
    single(29, 'common_http_protocol_options', httpProtocolOptions('cluster')),
  ],
);

/** The endpoints are left out: there are many, and of theirs only the health check is unused. */
const clusterLoadAssignment = fieldsOf(unused({ named_endpoints: 5 }), [
  repeated(2, 'endpoints', fieldsOf(unused({ proximity: 6, load_balancer_endpoints: 7 }))),
  single(
    4,
    'policy',
    fieldsOf(
      unused({
        overprovisioning_factor: 3,
        endpoint_stale_after: 4,
        weighted_priority_health: 6,
      }),
    ),
  ),
]);

/** The fields of each type of resource, by type URL. */
export const resourceFields: ReadonlyMap<string, Fields> = new Map([
  [`${TYPE_PREFIX}envoy.config.listener.v3.Listener`, listener],
  [`${TYPE_PREFIX}envoy.config.route.v3.RouteConfiguration`, routeConfiguration],
  [`${TYPE_PREFIX}envoy.config.cluster.v3.Cluster`, cluster],
  [`${TYPE_PREFIX}envoy.config.endpoint.v3.ClusterLoadAssignment`, clusterLoadAssignment],
]);

/** Of a listener the maximum duration of a call is used (gRFC A31), of a cluster the idle timeout (gRFC A75). */
function httpProtocolOptions(of: 'listener' | 'cluster'): Fields {
  return fieldsOf(
    unused({
      ...(of === 'listener' ? { idle_timeout: 1 } : { max_stream_duration: 4 }),
      max_headers_count: 2,
      max_connection_duration: 3,
      max_requests_per_connection: 6,
      max_response_headers_kb: 7,
    }),
  );
}
