import { fieldsOf, repeated, single, unused } from './field-table';

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
export const routeConfiguration = fieldsOf(
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
