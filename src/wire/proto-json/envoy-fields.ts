/**
 * The fields of Envoy's messages that the schema of this package leaves out, because no gRPC client reads them: their names
 * and numbers by the name of the message, as of January 2026. Clients drop them on the wire, so that JSON with them means the
 * same as without. A test compares the list with Envoy's schema; `scripts/fields.mjs` makes the table of all fields of it.
 */
const envoyFields: Readonly<Record<string, string>> = {
  'envoy.config.cluster.v3.CircuitBreakers.Thresholds':
    'max_pending_requests:3 max_retries:5 track_remaining:6 max_connection_pools:7 retry_budget:8',
  'envoy.config.cluster.v3.Cluster':
    'per_connection_buffer_limit_bytes:5 health_checks:8 max_requests_per_connection:9 http_protocol_options:13 http2_protocol_options:14 dns_refresh_rate:16 dns_resolvers:18 cleanup_interval:20 upstream_bind_config:21 lb_subset_config:22 protocol_selection:26 alt_stat_name:28 common_http_protocol_options:29 upstream_connection_options:30 close_connections_on_host_health_failure:31 ignore_health_on_host_removal:32 original_dst_lb_config:34 typed_extension_protocol_options:36 respect_dns_ttl:39 filters:40 dns_failure_refresh_rate:44 use_tcp_for_dns_lookups:45 upstream_http_protocol_options:46 track_timeout_budgets:47 track_cluster_stats:49 preconnect_policy:50 connection_pool_per_downstream_connection:51 dns_resolution_config:53 wait_for_warm_on_init:54 typed_dns_resolver_config:55 dns_jitter:58 transport_socket_matcher:59',
  'envoy.config.cluster.v3.Cluster.CommonLbConfig':
    'healthy_panic_threshold:1 zone_aware_lb_config:2 locality_weighted_lb_config:3 update_merge_window:4 ignore_new_hosts_until_first_hc:5 close_connections_on_host_set_change:6 consistent_hashing_lb_config:7',
  'envoy.config.cluster.v3.Cluster.LeastRequestLbConfig': 'active_request_bias:2',
  'envoy.config.cluster.v3.Cluster.TransportSocketMatch': 'match:2 transport_socket:3',
  'envoy.config.cluster.v3.OutlierDetection':
    'consecutive_5xx:1 enforcing_consecutive_5xx:5 consecutive_gateway_failure:10 enforcing_consecutive_gateway_failure:11 split_external_local_origin_errors:12 consecutive_local_origin_failure:13 enforcing_consecutive_local_origin_failure:14 enforcing_local_origin_success_rate:15 enforcing_failure_percentage_local_origin:18 max_ejection_time_jitter:22 successful_active_health_check_uneject_host:23 monitors:24 always_eject_one_host:25 detect_degraded_hosts:26',
  'envoy.config.common.mutation_rules.v3.HeaderMutationRules':
    'allow_all_routing:1 allow_envoy:2 disallow_system:3',
  'envoy.config.core.v3.ApiConfigSource':
    'cluster_names:2 refresh_delay:3 grpc_services:4 request_timeout:5 rate_limit_settings:6 set_node_on_first_message_only:7 config_validators:9',
  'envoy.config.core.v3.ConfigSource': 'authorities:7 path_config_source:8',
  'envoy.config.core.v3.DataSource': 'watched_directory:5',
  'envoy.config.core.v3.ExtensionConfigSource': 'apply_default_config_without_warming:3',
  'envoy.config.core.v3.GrpcService': 'retry_policy:6',
  'envoy.config.core.v3.GrpcService.EnvoyGrpc':
    'authority:2 retry_policy:3 max_receive_message_length:4 skip_envoy_headers:5',
  'envoy.config.core.v3.GrpcService.GoogleGrpc':
    'channel_credentials:2 call_credentials:3 stat_prefix:4 credentials_factory_name:5 config:6 per_stream_buffer_limit_bytes:7 channel_args:8',
  'envoy.config.core.v3.HttpProtocolOptions':
    'max_headers_count:2 max_connection_duration:3 headers_with_underscores_action:5 max_requests_per_connection:6 max_response_headers_kb:7',
  'envoy.config.core.v3.Pipe': 'mode:2',
  'envoy.config.core.v3.SocketAddress': 'ipv4_compat:6 network_namespace_filepath:7',
  'envoy.config.endpoint.v3.ClusterLoadAssignment': 'named_endpoints:5',
  'envoy.config.endpoint.v3.ClusterLoadAssignment.Policy':
    'endpoint_stale_after:4 weighted_priority_health:6',
  'envoy.config.endpoint.v3.Endpoint': 'health_check_config:2',
  'envoy.config.endpoint.v3.LocalityLbEndpoints': 'proximity:6',
  'envoy.config.listener.v3.AdditionalAddress': 'socket_options:2 tcp_keepalive:3',
  'envoy.config.listener.v3.Filter': 'config_discovery:5',
  'envoy.config.listener.v3.FilterChain':
    'use_proxy_proto:4 metadata:5 transport_socket_connect_timeout:9 on_demand_configuration:8',
  'envoy.config.listener.v3.FilterChainMatch': 'address_suffix:4 suffix_len:5',
  'envoy.config.listener.v3.Listener':
    'per_connection_buffer_limit_bytes:5 metadata:6 deprecated_v1:7 drain_type:8 transparent:10 freebind:11 tcp_fast_open_queue_length:12 socket_options:13 listener_filters_timeout:15 continue_on_listener_filters_timeout:17 udp_listener_config:18 connection_balance_config:20 reuse_port:21 access_log:22 tcp_backlog_size:24 bind_to_port:26 internal_listener:27 stat_prefix:28 enable_reuse_port:29 enable_mptcp:30 ignore_global_conn_limit:31 filter_chain_matcher:32 max_connections_to_accept_per_socket_event:34 bypass_overload_manager:35 fcds_config:36 tcp_keepalive:37',
  'envoy.config.listener.v3.ListenerFilter': 'typed_config:3 filter_disabled:4 config_discovery:5',
  'envoy.config.rbac.v3.Policy': 'cel_config:5',
  'envoy.config.rbac.v3.SourcedMetadata': 'metadata_source:2',
  'envoy.config.route.v3.DirectResponseAction': 'body:2 body_format:3',
  'envoy.config.route.v3.RedirectAction':
    'host_redirect:1 path_redirect:2 response_code:3 https_redirect:4 prefix_rewrite:5 strip_query:6 scheme_redirect:7 port_redirect:8 regex_rewrite:9',
  'envoy.config.route.v3.RetryPolicy':
    'retry_priority:4 retry_host_predicate:5 host_selection_retry_max_attempts:6 retriable_status_codes:7 retriable_headers:9 retriable_request_headers:10 rate_limited_retry_back_off:11 retry_options_predicates:12 per_try_idle_timeout:13 refresh_cluster_on_retry:14',
  'envoy.config.route.v3.Route':
    'decorator:5 tracing:15 per_request_buffer_limit_bytes:16 stat_prefix:19 request_body_buffer_limit:20',
  'envoy.config.route.v3.RouteAction':
    'metadata_match:4 prefix_rewrite:5 priority:11 rate_limits:13 include_vh_rate_limits:14 cors:17 cluster_not_found_response_code:20 max_grpc_timeout:23 idle_timeout:24 upgrade_configs:25 internal_redirect_action:26 hedge_policy:27 grpc_timeout_offset:28 host_rewrite_header:29 max_internal_redirects:31 regex_rewrite:32 retry_policy_typed_config:33 internal_redirect_policy:34 host_rewrite_path_regex:35 append_x_forwarded_host:38 early_data_policy:40 path_rewrite_policy:41 flush_timeout:42 host_rewrite:44 path_rewrite:45',
  'envoy.config.route.v3.RouteAction.HashPolicy.Cookie': 'ttl:2 path:3 attributes:4',
  'envoy.config.route.v3.RouteAction.RequestMirrorPolicy':
    'trace_sampled:4 cluster_header:5 disable_shadow_host_suffix_append:6',
  'envoy.config.route.v3.RouteConfiguration':
    'internal_only_headers:3 response_headers_to_add:4 response_headers_to_remove:5 request_headers_to_add:6 validate_clusters:7 request_headers_to_remove:8 vhds:9 most_specific_header_mutations_wins:10 max_direct_response_body_size_bytes:11 request_mirror_policies:13 ignore_port_in_host_matching:14 ignore_path_parameters_in_path_matching:15 vhost_header:18',
  'envoy.config.route.v3.RouteMatch':
    'grpc:8 tls_context:11 dynamic_metadata:13 filter_state:16 cookies:17',
  'envoy.config.route.v3.VirtualHost':
    'require_tls:4 virtual_clusters:5 rate_limits:6 cors:8 include_request_attempt_count:14 hedge_policy:17 per_request_buffer_limit_bytes:18 include_attempt_count_in_response:19 retry_policy_typed_config:20 matcher:21 include_is_timeout_retry_header:23 request_body_buffer_limit:25',
  'envoy.config.route.v3.WeightedCluster': 'runtime_key_prefix:2 header_name:4 use_hash_policy:5',
  'envoy.config.route.v3.WeightedCluster.ClusterWeight': 'host_rewrite_literal:11',
  'envoy.extensions.common.matching.v3.ExtensionWithMatcher': 'matcher:1',
  'envoy.extensions.filters.http.composite.v3.Composite': 'named_filter_chains:1',
  'envoy.extensions.filters.http.composite.v3.DynamicConfig': 'config_discovery:2',
  'envoy.extensions.filters.http.composite.v3.ExecuteFilterAction': 'filter_chain_name:5',
  'envoy.extensions.filters.http.ext_authz.v3.CheckSettings':
    'context_extensions:1 disable_request_body_buffering:2 with_request_body:3 grpc_service:4 http_service:5',
  'envoy.extensions.filters.http.ext_authz.v3.ExtAuthz':
    'http_service:3 with_request_body:5 clear_route_cache:6 metadata_context_namespaces:8 transport_api_version:12 stat_prefix:13 filter_enabled_metadata:14 bootstrap_metadata_labels_key:15 typed_metadata_context_namespaces:16 include_tls_session:18 charge_cluster_response_stats:20 route_metadata_context_namespaces:21 route_typed_metadata_context_namespaces:22 encode_raw_headers:23 validate_mutations:24 enable_dynamic_metadata_ingestion:27 filter_metadata:28 emit_filter_state_stats:29 max_denied_response_body_bytes:30 enforce_response_header_limits:31 shadow_mode:32',
  'envoy.extensions.filters.http.fault.v3.HTTPFault':
    'upstream_cluster:3 headers:4 downstream_nodes:5 response_rate_limit:7 delay_percent_runtime:8 abort_percent_runtime:9 delay_duration_runtime:10 abort_http_status_runtime:11 max_active_faults_runtime:12 response_rate_limit_percent_runtime:13 abort_grpc_status_runtime:14 disable_downstream_cluster_stats:15 filter_metadata:16',
  'envoy.extensions.filters.http.gcp_authn.v3.GcpAuthnFilterConfig':
    'http_uri:1 retry_policy:2 token_header:4 cluster:5 timeout:6',
  'envoy.extensions.filters.http.header_mutation.v3.Mutations':
    'query_parameter_mutations:3 response_trailers_mutations:4 request_trailers_mutations:5',
  'envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit':
    'status:2 response_headers_to_add:6 descriptors:8 stage:9 request_headers_to_add_when_not_enforced:10 local_rate_limit_per_downstream_connection:11 enable_x_ratelimit_headers:12 vh_rate_limits:13 always_consume_default_token_bucket:14 local_cluster_rate_limit:16 rate_limits:17',
  'envoy.extensions.filters.http.rbac.v3.RBAC':
    'shadow_rules:2 shadow_rules_stat_prefix:3 shadow_matcher:5 rules_stat_prefix:6 track_per_rule_stats:7',
  'envoy.extensions.filters.http.router.v3.Router':
    'dynamic_stats:1 start_child_span:2 upstream_log:3 suppress_envoy_headers:4 strict_check_headers:5 respect_expected_rq_timeout:6 suppress_grpc_request_failure_code_stats:7 upstream_http_filters:8 upstream_log_options:9 reject_connect_request_early_data:10',
  'envoy.extensions.filters.http.stateful_session.v3.StatefulSession': 'stat_prefix:3',
  'envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager':
    'codec_type:1 add_user_agent:6 tracing:7 http_protocol_options:8 http2_protocol_options:9 server_name:10 drain_timeout:12 access_log:13 use_remote_address:14 generate_request_id:15 forward_client_cert_details:16 set_current_client_cert_details:17 proxy_100_continue:18 represent_ipv4_remote_address_as_ipv4_mapped_ipv6:20 skip_xff_append:21 via:22 upgrade_configs:23 stream_idle_timeout:24 internal_address_config:25 delayed_close_timeout:26 request_timeout:28 max_request_headers_kb:29 normalize_path:30 preserve_external_request_id:32 merge_slashes:33 server_header_transformation:34 request_id_extension:36 always_set_request_id_in_response:37 local_reply_config:38 strip_matching_host_port:39 stream_error_on_invalid_http_message:40 request_headers_timeout:41 strip_any_host_port:42 path_normalization_options:43 http3_protocol_options:44 path_with_escaped_slashes_action:45 strip_trailing_host_dot:47 scheme_header_transformation:48 proxy_status_config:49 typed_header_validation_config:50 append_x_forwarded_port:51 early_header_mutation_extensions:52 add_proxy_protocol_connection_state:53 access_log_flush_interval:54 flush_access_log_on_new_request:55 access_log_options:56 append_local_overload:57 http1_safe_max_connection_duration:58 stream_flush_timeout:59 forward_client_cert_matcher:60 forward_proto_config:61',
  'envoy.extensions.filters.network.http_connection_manager.v3.ScopedRoutes':
    'scope_key_builder:2 rds_config_source:3 scoped_route_configurations_list:4 scoped_rds:5',
  'envoy.extensions.load_balancing_policies.common.v3.ConsistentHashingLbConfig': 'hash_policy:3',
  'envoy.extensions.load_balancing_policies.common.v3.LocalityLbConfig.ZoneAwareLbConfig':
    'routing_enabled:1 min_cluster_size:2 fail_traffic_on_panic:3 force_locality_direct_routing:4 force_local_zone:5 locality_basis:6',
  'envoy.extensions.load_balancing_policies.least_request.v3.LeastRequest':
    'enable_full_scan:5 selection_method:6',
  'envoy.extensions.transport_sockets.tls.v3.CertificateValidationContext':
    'allow_expired_certificate:8 trust_chain_verification:10 watched_directory:11 only_verify_leaf_cert_crl:14',
  'envoy.extensions.transport_sockets.tls.v3.CommonTlsContext':
    'tls_certificate_certificate_provider:9 validation_context_certificate_provider:10 key_log:15 custom_tls_certificate_selector:16',
  'envoy.extensions.transport_sockets.tls.v3.CommonTlsContext.CombinedCertificateValidationContext':
    'validation_context_certificate_provider:3',
  'envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext':
    'session_ticket_keys:4 session_ticket_keys_sds_secret_config:5 session_timeout:6 disable_stateless_session_resumption:7 full_scan_certs_on_sni_mismatch:9 disable_stateful_session_resumption:10 prefer_client_ciphers:11',
  'envoy.extensions.transport_sockets.tls.v3.GenericSecret': 'secret:1 secrets:2',
  'envoy.extensions.transport_sockets.tls.v3.SPIFFECertValidatorConfig': 'trust_bundles:2',
  'envoy.extensions.transport_sockets.tls.v3.SdsSecretConfig': 'sds_config:2',
  'envoy.extensions.transport_sockets.tls.v3.SubjectAltNameMatcher': 'oid:3',
  'envoy.extensions.transport_sockets.tls.v3.TlsCertificate':
    'password:3 ocsp_staple:4 signed_certificate_timestamp:5 private_key_provider:6 watched_directory:7 pkcs12:8',
  'envoy.extensions.transport_sockets.tls.v3.TlsParameters':
    'tls_minimum_protocol_version:1 tls_maximum_protocol_version:2 cipher_suites:3 ecdh_curves:4 signature_algorithms:5 compliance_policies:6',
  'envoy.extensions.transport_sockets.tls.v3.TlsSessionTicketKeys': 'keys:1',
  'envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext':
    'allow_renegotiation:3 max_session_keys:4 enforce_rsa_key_usage:5',
  'envoy.extensions.upstreams.http.v3.HttpProtocolOptions':
    'upstream_http_protocol_options:2 explicit_http_config:3 use_downstream_protocol_config:4 auto_config:5 http_filters:6 header_validation_config:7 outlier_detection:8 request_mirror_policies:9 hash_policy:10 retry_policy:11',
  'envoy.type.http.v3.Cookie': 'attributes:4',
  'envoy.type.matcher.v3.FilterStateMatcher': 'string_match:2 address_match:3',
  'envoy.type.matcher.v3.MetadataMatcher': 'filter:1 path:2 value:3',
  'envoy.type.matcher.v3.RegexMatcher.GoogleRE2': 'max_program_size:1',
  'grpc.lookup.v1.RouteLookupConfig': 'http_keybuilders:1 valid_targets:8',
  'xds.core.v3.CollectionEntry': 'locator:1',
};

const byMessage = new Map(
  Object.entries(envoyFields).map(([message, fields]) => [message, parseFields(fields)]),
);

function parseFields(text: string): ReadonlyMap<string, number> {
  return new Map(
    text.split(' ').map((field) => {
      const [name = '', number] = field.split(':');
      return [name, Number(number)];
    }),
  );
}

/** Returns whether Envoy's message has a field that the schema of this package leaves out, by either spelling of its name. */
export function isEnvoyField(messageName: string, field: string): boolean {
  const names = byMessage.get(messageName);
  if (names === undefined) return false;
  return names.has(field) || names.has(toProtoName(field));
}

/** What servers of gRPC read of a listener (gRFC A36), and Envoy with extensions that this package does not know. */
const SERVER_FIELDS: ReadonlySet<string> = new Set([
  'filter_chains',
  'default_filter_chain',
  'listener_filters',
]);

/** Returns whether a field is one of a listener of servers. @param field As in the schema. */
export function isServerField(messageName: string, field: string): boolean {
  return messageName === 'envoy.config.listener.v3.Listener' && SERVER_FIELDS.has(field);
}

/** Returns the numbers of all fields by message and name, for tests and scripts. */
export function listEnvoyFields(): ReadonlyMap<string, ReadonlyMap<string, number>> {
  return byMessage;
}

function toProtoName(jsonName: string): string {
  return jsonName.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
