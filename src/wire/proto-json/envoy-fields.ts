/**
 * The fields of Envoy's messages that the schema of this package leaves out, because no gRPC client reads them: by the name
 * of the message. Clients drop them on the wire, so that JSON with them means the same as without. A test compares the
 * list with Envoy's schema.
 */
const envoyFields: Readonly<Record<string, string>> = {
  'envoy.config.cluster.v3.CircuitBreakers.Thresholds':
    'max_pending_requests max_retries retry_budget track_remaining max_connection_pools',
  'envoy.config.cluster.v3.Cluster':
    'alt_stat_name per_connection_buffer_limit_bytes health_checks max_requests_per_connection upstream_http_protocol_options common_http_protocol_options http_protocol_options http2_protocol_options typed_extension_protocol_options dns_refresh_rate dns_failure_refresh_rate respect_dns_ttl dns_resolvers use_tcp_for_dns_lookups dns_resolution_config typed_dns_resolver_config wait_for_warm_on_init cleanup_interval upstream_bind_config lb_subset_config maglev_lb_config original_dst_lb_config protocol_selection upstream_connection_options close_connections_on_host_health_failure ignore_health_on_host_removal filters track_timeout_budgets track_cluster_stats preconnect_policy connection_pool_per_downstream_connection',
  'envoy.config.cluster.v3.Cluster.CommonLbConfig':
    'healthy_panic_threshold zone_aware_lb_config locality_weighted_lb_config update_merge_window ignore_new_hosts_until_first_hc close_connections_on_host_set_change consistent_hashing_lb_config',
  'envoy.config.cluster.v3.Cluster.LeastRequestLbConfig': 'active_request_bias slow_start_config',
  'envoy.config.cluster.v3.Cluster.RoundRobinLbConfig': 'slow_start_config',
  'envoy.config.cluster.v3.Cluster.TransportSocketMatch': 'match transport_socket',
  'envoy.config.cluster.v3.OutlierDetection':
    'consecutive_5xx enforcing_consecutive_5xx consecutive_gateway_failure enforcing_consecutive_gateway_failure split_external_local_origin_errors consecutive_local_origin_failure enforcing_consecutive_local_origin_failure enforcing_local_origin_success_rate enforcing_failure_percentage_local_origin max_ejection_time_jitter successful_active_health_check_uneject_host monitors always_eject_one_host',
  'envoy.config.core.v3.ApiConfigSource':
    'cluster_names grpc_services refresh_delay request_timeout rate_limit_settings set_node_on_first_message_only config_validators',
  'envoy.config.core.v3.ConfigSource': 'authorities path_config_source',
  'envoy.config.core.v3.DataSource': 'watched_directory',
  'envoy.config.core.v3.ExtensionConfigSource': 'apply_default_config_without_warming',
  'envoy.config.core.v3.HttpProtocolOptions':
    'max_connection_duration max_headers_count headers_with_underscores_action max_requests_per_connection',
  'envoy.config.core.v3.Pipe': 'mode',
  'envoy.config.core.v3.SocketAddress': 'ipv4_compat',
  'envoy.config.endpoint.v3.ClusterLoadAssignment': 'named_endpoints',
  'envoy.config.endpoint.v3.ClusterLoadAssignment.Policy':
    'endpoint_stale_after weighted_priority_health',
  'envoy.config.endpoint.v3.Endpoint': 'health_check_config',
  'envoy.config.endpoint.v3.LocalityLbEndpoints': 'proximity',
  'envoy.config.listener.v3.AdditionalAddress': 'socket_options',
  'envoy.config.listener.v3.Filter': 'config_discovery',
  'envoy.config.listener.v3.FilterChain':
    'use_proxy_proto metadata transport_socket_connect_timeout on_demand_configuration',
  'envoy.config.listener.v3.FilterChainMatch': 'address_suffix suffix_len',
  'envoy.config.listener.v3.Listener':
    'stat_prefix filter_chain_matcher per_connection_buffer_limit_bytes metadata deprecated_v1 drain_type listener_filters_timeout continue_on_listener_filters_timeout transparent freebind socket_options tcp_fast_open_queue_length udp_listener_config connection_balance_config reuse_port enable_reuse_port access_log tcp_backlog_size max_connections_to_accept_per_socket_event bind_to_port internal_listener enable_mptcp ignore_global_conn_limit bypass_overload_manager',
  'envoy.config.listener.v3.ListenerFilter': 'typed_config config_discovery filter_disabled',
  'envoy.config.route.v3.DirectResponseAction': 'body',
  'envoy.config.route.v3.RedirectAction':
    'https_redirect scheme_redirect host_redirect port_redirect path_redirect prefix_rewrite regex_rewrite response_code strip_query',
  'envoy.config.route.v3.RetryPolicy':
    'per_try_timeout per_try_idle_timeout retry_priority retry_host_predicate retry_options_predicates host_selection_retry_max_attempts retriable_status_codes rate_limited_retry_back_off retriable_headers retriable_request_headers',
  'envoy.config.route.v3.Route':
    'decorator request_headers_to_add request_headers_to_remove response_headers_to_add response_headers_to_remove tracing per_request_buffer_limit_bytes stat_prefix',
  'envoy.config.route.v3.RouteAction':
    'cluster_not_found_response_code metadata_match prefix_rewrite regex_rewrite path_rewrite_policy host_rewrite_header host_rewrite_path_regex append_x_forwarded_host idle_timeout early_data_policy retry_policy_typed_config request_mirror_policies priority rate_limits include_vh_rate_limits cors max_grpc_timeout grpc_timeout_offset upgrade_configs internal_redirect_policy internal_redirect_action max_internal_redirects hedge_policy',
  'envoy.config.route.v3.RouteAction.HashPolicy.Cookie': 'ttl path attributes',
  'envoy.config.route.v3.RouteConfiguration':
    'vhds internal_only_headers response_headers_to_add response_headers_to_remove request_headers_to_add request_headers_to_remove most_specific_header_mutations_wins validate_clusters max_direct_response_body_size_bytes request_mirror_policies ignore_port_in_host_matching ignore_path_parameters_in_path_matching',
  'envoy.config.route.v3.RouteMatch': 'grpc tls_context dynamic_metadata',
  'envoy.config.route.v3.VirtualHost':
    'matcher require_tls virtual_clusters rate_limits request_headers_to_add request_headers_to_remove response_headers_to_add response_headers_to_remove cors include_request_attempt_count include_attempt_count_in_response retry_policy_typed_config hedge_policy include_is_timeout_retry_header per_request_buffer_limit_bytes request_mirror_policies',
  'envoy.config.route.v3.WeightedCluster': 'runtime_key_prefix header_name',
  'envoy.config.route.v3.WeightedCluster.ClusterWeight':
    'request_headers_to_add request_headers_to_remove response_headers_to_add response_headers_to_remove host_rewrite_literal',
  'envoy.extensions.common.matching.v3.ExtensionWithMatcher': 'matcher',
  'envoy.extensions.filters.http.composite.v3.DynamicConfig': 'config_discovery',
  'envoy.extensions.filters.http.fault.v3.HTTPFault':
    'upstream_cluster headers downstream_nodes response_rate_limit delay_percent_runtime abort_percent_runtime delay_duration_runtime abort_http_status_runtime max_active_faults_runtime response_rate_limit_percent_runtime abort_grpc_status_runtime disable_downstream_cluster_stats filter_metadata',
  'envoy.extensions.filters.http.gcp_authn.v3.GcpAuthnFilterConfig':
    'http_uri retry_policy token_header cluster timeout',
  'envoy.extensions.filters.http.router.v3.Router':
    'dynamic_stats start_child_span upstream_log upstream_log_options suppress_envoy_headers strict_check_headers respect_expected_rq_timeout suppress_grpc_request_failure_code_stats upstream_http_filters',
  'envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager':
    'codec_type add_user_agent tracing http_protocol_options http2_protocol_options http3_protocol_options server_name server_header_transformation scheme_header_transformation max_request_headers_kb stream_idle_timeout request_timeout request_headers_timeout drain_timeout delayed_close_timeout access_log access_log_flush_interval flush_access_log_on_new_request access_log_options use_remote_address early_header_mutation_extensions internal_address_config skip_xff_append via generate_request_id preserve_external_request_id always_set_request_id_in_response forward_client_cert_details set_current_client_cert_details proxy_100_continue represent_ipv4_remote_address_as_ipv4_mapped_ipv6 upgrade_configs normalize_path merge_slashes path_with_escaped_slashes_action request_id_extension local_reply_config strip_matching_host_port strip_any_host_port stream_error_on_invalid_http_message path_normalization_options strip_trailing_host_dot proxy_status_config typed_header_validation_config append_x_forwarded_port append_local_overload add_proxy_protocol_connection_state',
  'envoy.extensions.filters.network.http_connection_manager.v3.ScopedRoutes':
    'scope_key_builder rds_config_source scoped_route_configurations_list scoped_rds',
  'envoy.extensions.load_balancing_policies.common.v3.LocalityLbConfig.ZoneAwareLbConfig':
    'routing_enabled min_cluster_size fail_traffic_on_panic',
  'envoy.extensions.load_balancing_policies.least_request.v3.LeastRequest':
    'enable_full_scan selection_method',
  'envoy.extensions.transport_sockets.tls.v3.CertificateValidationContext':
    'watched_directory allow_expired_certificate trust_chain_verification only_verify_leaf_cert_crl',
  'envoy.extensions.transport_sockets.tls.v3.CommonTlsContext':
    'tls_certificate_certificate_provider validation_context_certificate_provider key_log',
  'envoy.extensions.transport_sockets.tls.v3.CommonTlsContext.CombinedCertificateValidationContext':
    'validation_context_certificate_provider',
  'envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext':
    'session_ticket_keys session_ticket_keys_sds_secret_config disable_stateless_session_resumption disable_stateful_session_resumption session_timeout full_scan_certs_on_sni_mismatch',
  'envoy.extensions.transport_sockets.tls.v3.GenericSecret': 'secret',
  'envoy.extensions.transport_sockets.tls.v3.SdsSecretConfig': 'sds_config',
  'envoy.extensions.transport_sockets.tls.v3.SubjectAltNameMatcher': 'oid',
  'envoy.extensions.transport_sockets.tls.v3.TlsCertificate':
    'pkcs12 watched_directory private_key_provider password ocsp_staple signed_certificate_timestamp',
  'envoy.extensions.transport_sockets.tls.v3.TlsParameters':
    'tls_minimum_protocol_version tls_maximum_protocol_version cipher_suites ecdh_curves signature_algorithms',
  'envoy.extensions.transport_sockets.tls.v3.TlsSessionTicketKeys': 'keys',
  'envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext':
    'allow_renegotiation max_session_keys enforce_rsa_key_usage',
  'envoy.extensions.upstreams.http.v3.HttpProtocolOptions':
    'upstream_http_protocol_options explicit_http_config use_downstream_protocol_config auto_config http_filters header_validation_config',
  'envoy.type.matcher.v3.RegexMatcher.GoogleRE2': 'max_program_size',
};

const byMessage = new Map(
  Object.entries(envoyFields).map(([message, names]) => [message, new Set(names.split(' '))]),
);

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

/** Returns the names by message, for the test. */
export function listEnvoyFields(): ReadonlyMap<string, ReadonlySet<string>> {
  return byMessage;
}

function toProtoName(jsonName: string): string {
  return jsonName.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
