/* eslint-disable */

/**
 * The fields of messages that have no effect, and those that lead to such. Written by scripts/fields.mjs, which explains the
 * texts (ignoredFields in scripts/fields/table.mjs).
 */
export const ignoredFields: Readonly<Record<string, string>> = {
  'envoy.config.listener.v3.Listener':
    'address:2:envoy.config.core.v3.Address filter_chains[]:3:envoy.config.listener.v3.FilterChain default_filter_chain:25:envoy.config.listener.v3.FilterChain#2 api_listener:19:envoy.config.listener.v3.ApiListener per_connection_buffer_limit_bytes:5 metadata:6 deprecated_v1:7 drain_type:8 transparent:10 freebind:11 tcp_fast_open_queue_length:12 socket_options:13 listener_filters_timeout:15 continue_on_listener_filters_timeout:17 udp_listener_config:18 connection_balance_config:20 reuse_port:21 access_log:22 tcp_backlog_size:24 bind_to_port:26 internal_listener:27 stat_prefix:28 enable_reuse_port:29 enable_mptcp:30 ignore_global_conn_limit:31 filter_chain_matcher:32 max_connections_to_accept_per_socket_event:34 bypass_overload_manager:35 fcds_config:36 tcp_keepalive:37',
  'envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager':
    'rds:3:envoy.extensions.filters.network.http_connection_manager.v3.Rds route_config:4:envoy.config.route.v3.RouteConfiguration http_filters[]:5:envoy.extensions.filters.network.http_connection_manager.v3.HttpFilter common_http_protocol_options:35:envoy.config.core.v3.HttpProtocolOptions codec_type:1 add_user_agent:6 tracing:7 http_protocol_options:8 http2_protocol_options:9 server_name:10 drain_timeout:12 access_log:13 use_remote_address:14 generate_request_id:15 forward_client_cert_details:16 set_current_client_cert_details:17 proxy_100_continue:18 represent_ipv4_remote_address_as_ipv4_mapped_ipv6:20 skip_xff_append:21 via:22 upgrade_configs:23 stream_idle_timeout:24 internal_address_config:25 delayed_close_timeout:26 request_timeout:28 max_request_headers_kb:29 normalize_path:30 preserve_external_request_id:32 merge_slashes:33 server_header_transformation:34 request_id_extension:36 always_set_request_id_in_response:37 local_reply_config:38 strip_matching_host_port:39 stream_error_on_invalid_http_message:40 request_headers_timeout:41 strip_any_host_port:42 path_normalization_options:43 http3_protocol_options:44 path_with_escaped_slashes_action:45 strip_trailing_host_dot:47 scheme_header_transformation:48 proxy_status_config:49 typed_header_validation_config:50 append_x_forwarded_port:51 early_header_mutation_extensions:52 add_proxy_protocol_connection_state:53 access_log_flush_interval:54 flush_access_log_on_new_request:55 access_log_options:56 append_local_overload:57 http1_safe_max_connection_duration:58 stream_flush_timeout:59 forward_client_cert_matcher:60 forward_proto_config:61',
  'envoy.config.route.v3.FilterConfig':
    'config:1:@',
  'envoy.extensions.filters.http.fault.v3.HTTPFault':
    'upstream_cluster:3 headers:4 downstream_nodes:5 response_rate_limit:7 delay_percent_runtime:8 abort_percent_runtime:9 delay_duration_runtime:10 abort_http_status_runtime:11 max_active_faults_runtime:12 response_rate_limit_percent_runtime:13 abort_grpc_status_runtime:14 disable_downstream_cluster_stats:15 filter_metadata:16',
  'envoy.extensions.filters.http.stateful_session.v3.StatefulSessionPerRoute':
    'stateful_session:2:envoy.extensions.filters.http.stateful_session.v3.StatefulSession',
  'envoy.extensions.http.stateful_session.cookie.v3.CookieBasedSessionState':
    'cookie:1:envoy.type.http.v3.Cookie',
  'envoy.extensions.filters.http.gcp_authn.v3.GcpAuthnFilterConfig':
    'http_uri:1 retry_policy:2 token_header:4 cluster:5 timeout:6',
  'envoy.extensions.filters.http.rbac.v3.RBACPerRoute':
    'rbac:2:envoy.extensions.filters.http.rbac.v3.RBAC',
  'envoy.extensions.filters.http.header_mutation.v3.HeaderMutationPerRoute':
    'mutations:1:!envoy.extensions.filters.http.header_mutation.v3.Mutations',
  'grpc.lookup.v1.RouteLookupClusterSpecifier':
    'route_lookup_config:1:grpc.lookup.v1.RouteLookupConfig',
  'envoy.extensions.filters.http.stateful_session.v3.StatefulSession':
    'session_state:1:envoy.config.core.v3.TypedExtensionConfig strict:2 stat_prefix:3',
  'envoy.extensions.filters.http.router.v3.Router':
    'dynamic_stats:1 start_child_span:2 upstream_log:3 suppress_envoy_headers:4 strict_check_headers:5 respect_expected_rq_timeout:6 suppress_grpc_request_failure_code_stats:7 upstream_http_filters:8 upstream_log_options:9 reject_connect_request_early_data:10',
  'envoy.extensions.filters.http.rbac.v3.RBAC':
    'rules:1:envoy.config.rbac.v3.RBAC shadow_matcher:5 rules_stat_prefix:6 track_per_rule_stats:7',
  'envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit':
    'token_bucket:3:! filter_enabled:4:! filter_enforced:5:! rate_limited_as_resource_exhausted:15:! status:2 response_headers_to_add:6 descriptors:8 stage:9 request_headers_to_add_when_not_enforced:10 local_rate_limit_per_downstream_connection:11 enable_x_ratelimit_headers:12 vh_rate_limits:13 always_consume_default_token_bucket:14 local_cluster_rate_limit:16 rate_limits:17',
  'envoy.extensions.filters.http.header_mutation.v3.HeaderMutation':
    'mutations:1:!envoy.extensions.filters.http.header_mutation.v3.Mutations most_specific_header_mutations_wins:2:!',
  'envoy.extensions.common.matching.v3.ExtensionWithMatcher':
    'xds_matcher:3:xds.type.matcher.v3.Matcher extension_config:2:envoy.config.core.v3.TypedExtensionConfig matcher:1',
  'envoy.extensions.filters.http.composite.v3.ExecuteFilterAction':
    'typed_config:1:envoy.config.core.v3.TypedExtensionConfig dynamic_config:2 filter_chain:4:envoy.extensions.filters.http.composite.v3.FilterChainConfiguration filter_chain_name:5',
  'envoy.extensions.filters.http.composite.v3.Composite':
    'named_filter_chains:1',
  'envoy.extensions.filters.http.ext_authz.v3.ExtAuthz':
    'grpc_service:1:envoy.config.core.v3.GrpcService decoder_header_mutation_rules:26:envoy.config.common.mutation_rules.v3.HeaderMutationRules http_service:3 with_request_body:5 clear_route_cache:6 metadata_context_namespaces:8 transport_api_version:12 stat_prefix:13 filter_enabled_metadata:14 bootstrap_metadata_labels_key:15 typed_metadata_context_namespaces:16 include_tls_session:18 charge_cluster_response_stats:20 route_metadata_context_namespaces:21 route_typed_metadata_context_namespaces:22 encode_raw_headers:23 validate_mutations:24 enable_dynamic_metadata_ingestion:27 filter_metadata:28 emit_filter_state_stats:29 max_denied_response_body_bytes:30 enforce_response_header_limits:31 shadow_mode:32',
  'envoy.extensions.grpc_service.channel_credentials.xds.v3.XdsCredentials':
    'fallback_credentials:1:@',
  'envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext':
    'common_tls_context:1:envoy.extensions.transport_sockets.tls.v3.CommonTlsContext session_ticket_keys:4 session_ticket_keys_sds_secret_config:5 session_timeout:6 disable_stateless_session_resumption:7 full_scan_certs_on_sni_mismatch:9 disable_stateful_session_resumption:10 prefer_client_ciphers:11',
  'envoy.config.route.v3.RouteConfiguration':
    'virtual_hosts[]:2:envoy.config.route.v3.VirtualHost cluster_specifier_plugins[]:12:envoy.config.route.v3.ClusterSpecifierPlugin typed_per_filter_config:16 metadata:17 internal_only_headers:3 response_headers_to_add:4 response_headers_to_remove:5 request_headers_to_add:6 validate_clusters:7 request_headers_to_remove:8 vhds:9 most_specific_header_mutations_wins:10 max_direct_response_body_size_bytes:11 request_mirror_policies:13 ignore_port_in_host_matching:14 ignore_path_parameters_in_path_matching:15 vhost_header:18',
  'envoy.extensions.common.matching.v3.ExtensionWithMatcherPerRoute':
    'xds_matcher:1:xds.type.matcher.v3.Matcher',
  'envoy.extensions.filters.http.ext_authz.v3.ExtAuthzPerRoute':
    'disabled:1',
  'envoy.config.cluster.v3.Cluster':
    'cluster_type:38:envoy.config.cluster.v3.Cluster.CustomClusterType eds_cluster_config:3:envoy.config.cluster.v3.Cluster.EdsClusterConfig connect_timeout:4 load_assignment:33:envoy.config.endpoint.v3.ClusterLoadAssignment#2 circuit_breakers:10:envoy.config.cluster.v3.CircuitBreakers dns_lookup_family:17 outlier_detection:19:envoy.config.cluster.v3.OutlierDetection least_request_lb_config:37:envoy.config.cluster.v3.Cluster.LeastRequestLbConfig maglev_lb_config:52:! round_robin_lb_config:56:!envoy.config.cluster.v3.Cluster.RoundRobinLbConfig common_lb_config:27:envoy.config.cluster.v3.Cluster.CommonLbConfig transport_socket:24:envoy.config.core.v3.TransportSocket metadata:25:envoy.config.core.v3.Metadata load_balancing_policy:41:envoy.config.cluster.v3.LoadBalancingPolicy lrs_server:42:envoy.config.core.v3.ConfigSource upstream_config:48:envoy.config.core.v3.TypedExtensionConfig per_connection_buffer_limit_bytes:5 health_checks:8 max_requests_per_connection:9 http_protocol_options:13 http2_protocol_options:14 dns_refresh_rate:16 dns_resolvers:18 cleanup_interval:20 upstream_bind_config:21 lb_subset_config:22 protocol_selection:26 alt_stat_name:28 common_http_protocol_options:29 upstream_connection_options:30 close_connections_on_host_health_failure:31 ignore_health_on_host_removal:32 original_dst_lb_config:34 typed_extension_protocol_options:36 respect_dns_ttl:39 filters:40 dns_failure_refresh_rate:44 use_tcp_for_dns_lookups:45 upstream_http_protocol_options:46 track_timeout_budgets:47 track_cluster_stats:49 preconnect_policy:50 connection_pool_per_downstream_connection:51 dns_resolution_config:53 wait_for_warm_on_init:54 typed_dns_resolver_config:55 dns_jitter:58 transport_socket_matcher:59',
  'envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext':
    'common_tls_context:1:envoy.extensions.transport_sockets.tls.v3.CommonTlsContext#2 allow_renegotiation:3 max_session_keys:4 enforce_rsa_key_usage:5',
  'envoy.extensions.transport_sockets.http_11_proxy.v3.Http11ProxyUpstreamTransport':
    'transport_socket:1:envoy.config.core.v3.TransportSocket',
  'envoy.config.core.v3.Address':
    'socket_address:1:envoy.config.core.v3.SocketAddress',
  'envoy.extensions.load_balancing_policies.wrr_locality.v3.WrrLocality':
    'endpoint_picking_policy:1:envoy.config.cluster.v3.LoadBalancingPolicy',
  'envoy.extensions.load_balancing_policies.round_robin.v3.RoundRobin':
    'slow_start_config:1:!envoy.extensions.load_balancing_policies.common.v3.SlowStartConfig locality_lb_config:2',
  'envoy.extensions.load_balancing_policies.ring_hash.v3.RingHash':
    'use_hostname_for_hashing:4 hash_balance_factor:5 consistent_hashing_lb_config:6 locality_weighted_lb_config:7',
  'envoy.extensions.load_balancing_policies.least_request.v3.LeastRequest':
    'active_request_bias:2 slow_start_config:3:!envoy.extensions.load_balancing_policies.common.v3.SlowStartConfig locality_lb_config:4 enable_full_scan:5 selection_method:6',
  'envoy.extensions.load_balancing_policies.random_subsetting.v3.RandomSubsetting':
    'child_policy:2:envoy.config.cluster.v3.LoadBalancingPolicy',
  'envoy.extensions.load_balancing_policies.client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin':
    'slow_start_config:8:!envoy.extensions.load_balancing_policies.common.v3.SlowStartConfig',
  'envoy.extensions.load_balancing_policies.maglev.v3.Maglev':
    'table_size:1:! consistent_hashing_lb_config:2',
  'envoy.extensions.upstreams.http.v3.HttpProtocolOptions':
    'common_http_protocol_options:1:envoy.config.core.v3.HttpProtocolOptions#2 upstream_http_protocol_options:2 explicit_http_config:3 use_downstream_protocol_config:4 auto_config:5 http_filters:6 header_validation_config:7 outlier_detection:8 request_mirror_policies:9 hash_policy:10 retry_policy:11',
  'envoy.config.endpoint.v3.ClusterLoadAssignment':
    'endpoints[]:2:envoy.config.endpoint.v3.LocalityLbEndpoints#2 policy:4:envoy.config.endpoint.v3.ClusterLoadAssignment.Policy named_endpoints:5',
  'envoy.config.endpoint.v3.LbEndpointCollection':
    'entries[]:1:xds.core.v3.CollectionEntry',
  'envoy.config.endpoint.v3.LbEndpoint':
    'endpoint:1:envoy.config.endpoint.v3.Endpoint#2 metadata:3:envoy.config.core.v3.Metadata',
  'envoy.config.core.v3.SocketAddress':
    'resolver_name:5 ipv4_compat:6 network_namespace_filepath:7',
  'envoy.config.listener.v3.FilterChain':
    'filter_chain_match:1:envoy.config.listener.v3.FilterChainMatch filters[]:3:envoy.config.listener.v3.Filter transport_socket:6:envoy.config.core.v3.TransportSocket use_proxy_proto:4 metadata:5 transport_socket_connect_timeout:9 on_demand_configuration:8',
  'envoy.config.listener.v3.FilterChainMatch':
    'address_suffix:4 suffix_len:5',
  'envoy.config.listener.v3.Filter':
    'typed_config:4:@ config_discovery:5',
  'envoy.extensions.filters.network.http_connection_manager.v3.Rds':
    'config_source:1:envoy.config.core.v3.ConfigSource',
  'envoy.config.core.v3.ConfigSource':
    'initial_fetch_timeout:4 authorities:7 path_config_source:8',
  'envoy.config.route.v3.VirtualHost':
    'routes[]:3:envoy.config.route.v3.Route request_headers_to_add[]:7:!envoy.config.core.v3.HeaderValueOption response_headers_to_add[]:10:!envoy.config.core.v3.HeaderValueOption response_headers_to_remove[]:11:! request_headers_to_remove[]:13:! typed_per_filter_config{}:15:@ retry_policy:16:envoy.config.route.v3.RetryPolicy request_mirror_policies[]:22:!envoy.config.route.v3.RouteAction.RequestMirrorPolicy metadata:24 require_tls:4 virtual_clusters:5 rate_limits:6 cors:8 include_request_attempt_count:14 hedge_policy:17 per_request_buffer_limit_bytes:18 include_attempt_count_in_response:19 retry_policy_typed_config:20 matcher:21 include_is_timeout_retry_header:23 request_body_buffer_limit:25',
  'envoy.config.route.v3.Route':
    'match:1:envoy.config.route.v3.RouteMatch route:2:envoy.config.route.v3.RouteAction direct_response:7:envoy.config.route.v3.DirectResponseAction metadata:4 typed_per_filter_config{}:13:@ request_headers_to_add[]:9:!envoy.config.core.v3.HeaderValueOption response_headers_to_add[]:10:!envoy.config.core.v3.HeaderValueOption response_headers_to_remove[]:11:! request_headers_to_remove[]:12:! decorator:5 tracing:15 per_request_buffer_limit_bytes:16 stat_prefix:19 request_body_buffer_limit:20',
  'envoy.config.route.v3.RouteMatch':
    'grpc:8 tls_context:11 dynamic_metadata:13 filter_state:16 cookies:17',
  'envoy.config.route.v3.RouteAction':
    'cluster_header:2 weighted_clusters:3:envoy.config.route.v3.WeightedCluster inline_cluster_specifier_plugin:39 timeout:8 retry_policy:9:envoy.config.route.v3.RetryPolicy hash_policy[]:15:envoy.config.route.v3.RouteAction.HashPolicy request_mirror_policies[]:30:!envoy.config.route.v3.RouteAction.RequestMirrorPolicy max_stream_duration:36:envoy.config.route.v3.RouteAction.MaxStreamDuration metadata_match:4 prefix_rewrite:5 priority:11 rate_limits:13 include_vh_rate_limits:14 cors:17 cluster_not_found_response_code:20 max_grpc_timeout:23 idle_timeout:24 upgrade_configs:25 internal_redirect_action:26 hedge_policy:27 grpc_timeout_offset:28 host_rewrite_header:29 max_internal_redirects:31 regex_rewrite:32 retry_policy_typed_config:33 internal_redirect_policy:34 host_rewrite_path_regex:35 append_x_forwarded_host:38 early_data_policy:40 path_rewrite_policy:41 flush_timeout:42 host_rewrite:44 path_rewrite:45',
  'envoy.config.route.v3.WeightedCluster':
    'clusters[]:1:envoy.config.route.v3.WeightedCluster.ClusterWeight total_weight:3 runtime_key_prefix:2 header_name:4 use_hash_policy:5',
  'envoy.config.route.v3.WeightedCluster.ClusterWeight':
    'cluster_header:12 metadata_match:3 typed_per_filter_config{}:10:@ request_headers_to_add[]:4:!envoy.config.core.v3.HeaderValueOption response_headers_to_add[]:5:!envoy.config.core.v3.HeaderValueOption response_headers_to_remove[]:6:! request_headers_to_remove[]:9:! host_rewrite_literal:11',
  'envoy.config.core.v3.TypedExtensionConfig':
    'typed_config:2:@',
  'envoy.type.http.v3.Cookie':
    'attributes:4',
  'envoy.config.core.v3.HeaderValueOption':
    'header:1:envoy.config.core.v3.HeaderValue',
  'envoy.config.core.v3.HeaderValue':
    'value:2:~',
  'envoy.config.route.v3.RetryPolicy':
    'retry_on:1:~ per_try_timeout:3:! retry_priority:4 retry_host_predicate:5 host_selection_retry_max_attempts:6 retriable_status_codes:7 retriable_headers:9 retriable_request_headers:10 rate_limited_retry_back_off:11 retry_options_predicates:12 per_try_idle_timeout:13 refresh_cluster_on_retry:14',
  'envoy.config.route.v3.RouteAction.HashPolicy':
    'cookie:2 connection_properties:3 query_parameter:5',
  'envoy.config.route.v3.RouteAction.RequestMirrorPolicy':
    'cluster:1:! runtime_fraction:3:!envoy.config.core.v3.RuntimeFractionalPercent trace_sampled:4 cluster_header:5 disable_shadow_host_suffix_append:6',
  'envoy.config.core.v3.RuntimeFractionalPercent':
    'default_value:1:!envoy.type.v3.FractionalPercent',
  'envoy.type.v3.FractionalPercent':
    'numerator:1:! denominator:2:!',
  'envoy.config.route.v3.RouteAction.MaxStreamDuration':
    'grpc_timeout_header_offset:3',
  'envoy.config.route.v3.DirectResponseAction':
    'status:1 body:2 body_format:3',
  'envoy.config.rbac.v3.RBAC':
    'policies{}:2:envoy.config.rbac.v3.Policy audit_logging_options:3:envoy.config.rbac.v3.RBAC.AuditLoggingOptions',
  'envoy.config.rbac.v3.Policy':
    'permissions[]:1:envoy.config.rbac.v3.Permission cel_config:5',
  'envoy.config.rbac.v3.Permission':
    'and_rules:1:envoy.config.rbac.v3.Permission.Set or_rules:2:envoy.config.rbac.v3.Permission.Set not_rule:8:envoy.config.rbac.v3.Permission requested_server_name:9:envoy.type.matcher.v3.StringMatcher',
  'envoy.config.rbac.v3.Permission.Set':
    'rules[]:1:envoy.config.rbac.v3.Permission',
  'envoy.type.matcher.v3.StringMatcher':
    'ignore_case:6',
  'envoy.config.rbac.v3.RBAC.AuditLoggingOptions':
    'logger_configs[]:2:envoy.config.rbac.v3.RBAC.AuditLoggingOptions.AuditLoggerConfig',
  'envoy.config.rbac.v3.RBAC.AuditLoggingOptions.AuditLoggerConfig':
    'audit_logger:1:envoy.config.core.v3.TypedExtensionConfig',
  'envoy.extensions.filters.http.header_mutation.v3.Mutations':
    'request_mutations[]:1:envoy.config.common.mutation_rules.v3.HeaderMutation response_mutations[]:2:envoy.config.common.mutation_rules.v3.HeaderMutation query_parameter_mutations:3 response_trailers_mutations:4 request_trailers_mutations:5',
  'envoy.config.common.mutation_rules.v3.HeaderMutation':
    'append:2:envoy.config.core.v3.HeaderValueOption',
  'envoy.config.route.v3.ClusterSpecifierPlugin':
    'extension:1:envoy.config.core.v3.TypedExtensionConfig',
  'grpc.lookup.v1.RouteLookupConfig':
    'http_keybuilders:1 valid_targets:8',
  'envoy.extensions.filters.network.http_connection_manager.v3.HttpFilter':
    'typed_config:4:@ config_discovery:5:envoy.config.core.v3.ExtensionConfigSource',
  'xds.type.matcher.v3.Matcher':
    'matcher_list:1:xds.type.matcher.v3.Matcher.MatcherList matcher_tree:2:xds.type.matcher.v3.Matcher.MatcherTree on_no_match:3:xds.type.matcher.v3.Matcher.OnMatch',
  'xds.type.matcher.v3.Matcher.MatcherList':
    'matchers[]:1:xds.type.matcher.v3.Matcher.MatcherList.FieldMatcher',
  'xds.type.matcher.v3.Matcher.MatcherList.FieldMatcher':
    'predicate:1:xds.type.matcher.v3.Matcher.MatcherList.Predicate on_match:2:xds.type.matcher.v3.Matcher.OnMatch',
  'xds.type.matcher.v3.Matcher.MatcherList.Predicate':
    'single_predicate:1:xds.type.matcher.v3.Matcher.MatcherList.Predicate.SinglePredicate or_matcher:2:xds.type.matcher.v3.Matcher.MatcherList.Predicate.PredicateList and_matcher:3:xds.type.matcher.v3.Matcher.MatcherList.Predicate.PredicateList not_matcher:4:xds.type.matcher.v3.Matcher.MatcherList.Predicate',
  'xds.type.matcher.v3.Matcher.MatcherList.Predicate.SinglePredicate':
    'input:1:xds.core.v3.TypedExtensionConfig',
  'xds.core.v3.TypedExtensionConfig':
    'typed_config:2:@',
  'xds.type.matcher.v3.Matcher.MatcherList.Predicate.PredicateList':
    'predicate[]:1:xds.type.matcher.v3.Matcher.MatcherList.Predicate',
  'xds.type.matcher.v3.Matcher.OnMatch':
    'matcher:1:xds.type.matcher.v3.Matcher action:2:xds.core.v3.TypedExtensionConfig',
  'envoy.extensions.filters.http.composite.v3.FilterChainConfiguration':
    'typed_config[]:1:envoy.config.core.v3.TypedExtensionConfig',
  'xds.type.matcher.v3.Matcher.MatcherTree':
    'input:1:xds.core.v3.TypedExtensionConfig exact_match_map:2:xds.type.matcher.v3.Matcher.MatcherTree.MatchMap prefix_match_map:3:xds.type.matcher.v3.Matcher.MatcherTree.MatchMap',
  'xds.type.matcher.v3.Matcher.MatcherTree.MatchMap':
    'map{}:1:xds.type.matcher.v3.Matcher.OnMatch',
  'envoy.config.core.v3.GrpcService':
    'google_grpc:2:envoy.config.core.v3.GrpcService.GoogleGrpc retry_policy:6',
  'envoy.config.core.v3.GrpcService.GoogleGrpc':
    'channel_credentials_plugin[]:9:@ call_credentials_plugin[]:10:@ channel_credentials:2 call_credentials:3 stat_prefix:4 credentials_factory_name:5 config:6 per_stream_buffer_limit_bytes:7 channel_args:8',
  'envoy.config.common.mutation_rules.v3.HeaderMutationRules':
    'allow_all_routing:1 allow_envoy:2 disallow_system:3',
  'envoy.config.core.v3.ExtensionConfigSource':
    'config_source:1 default_config:2 type_urls:4 apply_default_config_without_warming:3',
  'envoy.config.core.v3.HttpProtocolOptions':
    'idle_timeout:1 max_headers_count:2 max_connection_duration:3 headers_with_underscores_action:5 max_requests_per_connection:6 max_response_headers_kb:7',
  'envoy.config.core.v3.TransportSocket':
    'typed_config:3:@',
  'envoy.extensions.transport_sockets.tls.v3.CommonTlsContext':
    'tls_certificates:2 tls_certificate_sds_secret_configs:6 validation_context:3:envoy.extensions.transport_sockets.tls.v3.CertificateValidationContext combined_validation_context:8:envoy.extensions.transport_sockets.tls.v3.CommonTlsContext.CombinedCertificateValidationContext tls_certificate_certificate_provider:9 validation_context_certificate_provider:10 key_log:15 custom_tls_certificate_selector:16',
  'envoy.extensions.transport_sockets.tls.v3.CertificateValidationContext':
    'trusted_ca:1 system_root_certs:17 match_typed_subject_alt_names[]:15:envoy.extensions.transport_sockets.tls.v3.SubjectAltNameMatcher allow_expired_certificate:8 trust_chain_verification:10 watched_directory:11 only_verify_leaf_cert_crl:14',
  'envoy.extensions.transport_sockets.tls.v3.SubjectAltNameMatcher':
    'oid:3',
  'envoy.extensions.transport_sockets.tls.v3.CommonTlsContext.CombinedCertificateValidationContext':
    'default_validation_context:1:envoy.extensions.transport_sockets.tls.v3.CertificateValidationContext validation_context_sds_secret_config:2 validation_context_certificate_provider_instance:4 validation_context_certificate_provider:3',
  'envoy.config.listener.v3.FilterChain#2':
    'filter_chain_match:1 filters[]:3:envoy.config.listener.v3.Filter transport_socket:6:envoy.config.core.v3.TransportSocket use_proxy_proto:4 metadata:5 transport_socket_connect_timeout:9 on_demand_configuration:8',
  'envoy.config.listener.v3.ApiListener':
    'api_listener:1:@',
  'envoy.config.cluster.v3.Cluster.CustomClusterType':
    'typed_config:2:@',
  'envoy.config.cluster.v3.Cluster.EdsClusterConfig':
    'eds_config:1:envoy.config.core.v3.ConfigSource',
  'envoy.config.endpoint.v3.ClusterLoadAssignment#2':
    'endpoints[]:2:envoy.config.endpoint.v3.LocalityLbEndpoints policy:4 named_endpoints:5',
  'envoy.config.endpoint.v3.LocalityLbEndpoints':
    'locality:1 metadata:9 lb_endpoints[]:2:envoy.config.endpoint.v3.LbEndpoint#2 load_balancer_endpoints:7 leds_cluster_locality_config:8 load_balancing_weight:3 priority:5 proximity:6',
  'envoy.config.endpoint.v3.LbEndpoint#2':
    'endpoint:1:envoy.config.endpoint.v3.Endpoint health_status:2 metadata:3 load_balancing_weight:4',
  'envoy.config.endpoint.v3.Endpoint':
    'address:1:envoy.config.core.v3.Address#2 hostname:3 additional_addresses:4 health_check_config:2',
  'envoy.config.core.v3.Address#2':
    'socket_address:1:envoy.config.core.v3.SocketAddress#2',
  'envoy.config.core.v3.SocketAddress#2':
    'ipv4_compat:6 network_namespace_filepath:7',
  'envoy.config.cluster.v3.CircuitBreakers':
    'thresholds[]:1:envoy.config.cluster.v3.CircuitBreakers.Thresholds per_host_thresholds:2',
  'envoy.config.cluster.v3.CircuitBreakers.Thresholds':
    'max_connections:2 max_pending_requests:3 max_retries:5 track_remaining:6 max_connection_pools:7 retry_budget:8',
  'envoy.config.cluster.v3.OutlierDetection':
    'consecutive_5xx:1 enforcing_consecutive_5xx:5 consecutive_gateway_failure:10 enforcing_consecutive_gateway_failure:11 split_external_local_origin_errors:12 consecutive_local_origin_failure:13 enforcing_consecutive_local_origin_failure:14 enforcing_local_origin_success_rate:15 enforcing_failure_percentage_local_origin:18 max_ejection_time_jitter:22 successful_active_health_check_uneject_host:23 monitors:24 always_eject_one_host:25 detect_degraded_hosts:26',
  'envoy.config.cluster.v3.Cluster.LeastRequestLbConfig':
    'slow_start_config:3:!envoy.config.cluster.v3.Cluster.SlowStartConfig active_request_bias:2',
  'envoy.config.cluster.v3.Cluster.SlowStartConfig':
    'slow_start_window:1:! aggression:2:!envoy.config.core.v3.RuntimeDouble min_weight_percent:3:!envoy.type.v3.Percent',
  'envoy.config.core.v3.RuntimeDouble':
    'default_value:1:! runtime_key:2',
  'envoy.type.v3.Percent':
    'value:1:!',
  'envoy.config.cluster.v3.Cluster.RoundRobinLbConfig':
    'slow_start_config:1:!envoy.config.cluster.v3.Cluster.SlowStartConfig',
  'envoy.config.cluster.v3.Cluster.CommonLbConfig':
    'healthy_panic_threshold:1 zone_aware_lb_config:2 locality_weighted_lb_config:3 update_merge_window:4 ignore_new_hosts_until_first_hc:5 close_connections_on_host_set_change:6 consistent_hashing_lb_config:7',
  'envoy.extensions.transport_sockets.tls.v3.CommonTlsContext#2':
    'validation_context:3:envoy.extensions.transport_sockets.tls.v3.CertificateValidationContext#2 combined_validation_context:8:envoy.extensions.transport_sockets.tls.v3.CommonTlsContext.CombinedCertificateValidationContext#2 tls_certificate_certificate_provider:9 validation_context_certificate_provider:10 key_log:15 custom_tls_certificate_selector:16',
  'envoy.extensions.transport_sockets.tls.v3.CertificateValidationContext#2':
    'trusted_ca:1 match_typed_subject_alt_names[]:15:envoy.extensions.transport_sockets.tls.v3.SubjectAltNameMatcher allow_expired_certificate:8 trust_chain_verification:10 watched_directory:11 only_verify_leaf_cert_crl:14',
  'envoy.extensions.transport_sockets.tls.v3.CommonTlsContext.CombinedCertificateValidationContext#2':
    'default_validation_context:1:envoy.extensions.transport_sockets.tls.v3.CertificateValidationContext#2 validation_context_sds_secret_config:2 validation_context_certificate_provider:3',
  'envoy.config.core.v3.Metadata':
    'typed_filter_metadata{}:2:@',
  'envoy.config.cluster.v3.LoadBalancingPolicy':
    'policies[]:1:envoy.config.cluster.v3.LoadBalancingPolicy.Policy',
  'envoy.config.cluster.v3.LoadBalancingPolicy.Policy':
    'typed_extension_config:4:envoy.config.core.v3.TypedExtensionConfig',
  'envoy.extensions.load_balancing_policies.common.v3.SlowStartConfig':
    'slow_start_window:1:! aggression:2:!envoy.config.core.v3.RuntimeDouble min_weight_percent:3:!envoy.type.v3.Percent',
  'envoy.config.core.v3.HttpProtocolOptions#2':
    'max_stream_duration:4 max_headers_count:2 max_connection_duration:3 headers_with_underscores_action:5 max_requests_per_connection:6 max_response_headers_kb:7',
  'envoy.config.endpoint.v3.LocalityLbEndpoints#2':
    'metadata:9:envoy.config.core.v3.Metadata#2 lb_endpoints[]:2:envoy.config.endpoint.v3.LbEndpoint load_balancer_endpoints:7 leds_cluster_locality_config:8:envoy.config.endpoint.v3.LedsClusterLocalityConfig proximity:6',
  'envoy.config.core.v3.Metadata#2':
    'filter_metadata:1 typed_filter_metadata{}:2:@',
  'envoy.config.endpoint.v3.Endpoint#2':
    'address:1:envoy.config.core.v3.Address additional_addresses[]:4:envoy.config.endpoint.v3.Endpoint.AdditionalAddress health_check_config:2',
  'envoy.config.endpoint.v3.Endpoint.AdditionalAddress':
    'address:1:envoy.config.core.v3.Address',
  'envoy.config.endpoint.v3.LedsClusterLocalityConfig':
    'leds_config:1:envoy.config.core.v3.ConfigSource',
  'envoy.config.endpoint.v3.ClusterLoadAssignment.Policy':
    'overprovisioning_factor:3 endpoint_stale_after:4 weighted_priority_health:6',
  'xds.core.v3.CollectionEntry':
    'inline_entry:2:xds.core.v3.CollectionEntry.InlineEntry locator:1',
  'xds.core.v3.CollectionEntry.InlineEntry':
    'resource:3:@',
};
