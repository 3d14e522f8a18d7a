/* eslint-disable */
// The types of resources as proto3-JSON. Written by scripts/resource-types.mjs from protos/.

/** The names of fields, as the .proto files and as lowerCamelCase spell them, that gRPC clients do not read. */
type Unread<Names extends string> = { readonly [Name in Names]?: unknown };

export declare namespace envoy.config.cluster.v3 {
/** Limits on concurrent use of a cluster. */
interface CircuitBreakers {
/** Limits for the whole cluster, one entry per traffic class. */
readonly thresholds?: readonly (envoy.config.cluster.v3.CircuitBreakers.Thresholds)[] | null;
/** Limits for each endpoint. */
readonly per_host_thresholds?: readonly (envoy.config.cluster.v3.CircuitBreakers.Thresholds)[] | null;
/** Limits for each endpoint. */
readonly perHostThresholds?: readonly (envoy.config.cluster.v3.CircuitBreakers.Thresholds)[] | null;
}
/** When an endpoint that fails more than its peers is left out for a while. */
interface OutlierDetection extends Unread<'consecutive_5xx' | 'consecutive5xx' | 'enforcing_consecutive_5xx' | 'enforcingConsecutive5xx' | 'consecutive_gateway_failure' | 'consecutiveGatewayFailure' | 'enforcing_consecutive_gateway_failure' | 'enforcingConsecutiveGatewayFailure' | 'split_external_local_origin_errors' | 'splitExternalLocalOriginErrors' | 'consecutive_local_origin_failure' | 'consecutiveLocalOriginFailure' | 'enforcing_consecutive_local_origin_failure' | 'enforcingConsecutiveLocalOriginFailure' | 'enforcing_local_origin_success_rate' | 'enforcingLocalOriginSuccessRate' | 'enforcing_failure_percentage_local_origin' | 'enforcingFailurePercentageLocalOrigin' | 'max_ejection_time_jitter' | 'maxEjectionTimeJitter' | 'successful_active_health_check_uneject_host' | 'successfulActiveHealthCheckUnejectHost' | 'monitors' | 'always_eject_one_host' | 'alwaysEjectOneHost' | 'detect_degraded_hosts' | 'detectDegradedHosts'> {
/** Time between two sweeps. */
readonly interval?: `${number}s` | null;
/** Length of a first ejection; repeated ejections multiply it. */
readonly base_ejection_time?: `${number}s` | null;
/** Length of a first ejection; repeated ejections multiply it. */
readonly baseEjectionTime?: `${number}s` | null;
/** Largest share of endpoints ejected at once. */
readonly max_ejection_percent?: number | `${number}` | null;
/** Largest share of endpoints ejected at once. */
readonly maxEjectionPercent?: number | `${number}` | null;
/** Chance in percent that a success-rate outlier is ejected. */
readonly enforcing_success_rate?: number | `${number}` | null;
/** Chance in percent that a success-rate outlier is ejected. */
readonly enforcingSuccessRate?: number | `${number}` | null;
readonly success_rate_minimum_hosts?: number | `${number}` | null;
readonly successRateMinimumHosts?: number | `${number}` | null;
readonly success_rate_request_volume?: number | `${number}` | null;
readonly successRateRequestVolume?: number | `${number}` | null;
/** In thousandths of the standard deviation. */
readonly success_rate_stdev_factor?: number | `${number}` | null;
/** In thousandths of the standard deviation. */
readonly successRateStdevFactor?: number | `${number}` | null;
readonly failure_percentage_threshold?: number | `${number}` | null;
readonly failurePercentageThreshold?: number | `${number}` | null;
/** Chance in percent that a failure-percentage outlier is ejected. */
readonly enforcing_failure_percentage?: number | `${number}` | null;
/** Chance in percent that a failure-percentage outlier is ejected. */
readonly enforcingFailurePercentage?: number | `${number}` | null;
readonly failure_percentage_minimum_hosts?: number | `${number}` | null;
readonly failurePercentageMinimumHosts?: number | `${number}` | null;
readonly failure_percentage_request_volume?: number | `${number}` | null;
readonly failurePercentageRequestVolume?: number | `${number}` | null;
/** Upper limit for the length of an ejection. */
readonly max_ejection_time?: `${number}s` | null;
/** Upper limit for the length of an ejection. */
readonly maxEjectionTime?: `${number}s` | null;
}
/** Policies in order of preference; the first one known is used. */
interface LoadBalancingPolicy {
readonly policies?: readonly (envoy.config.cluster.v3.LoadBalancingPolicy.Policy)[] | null;
}
/** A service the client can call: the CDS resource. */
interface Cluster extends Unread<'per_connection_buffer_limit_bytes' | 'perConnectionBufferLimitBytes' | 'health_checks' | 'healthChecks' | 'max_requests_per_connection' | 'maxRequestsPerConnection' | 'http_protocol_options' | 'httpProtocolOptions' | 'http2_protocol_options' | 'http2ProtocolOptions' | 'dns_refresh_rate' | 'dnsRefreshRate' | 'dns_resolvers' | 'dnsResolvers' | 'cleanup_interval' | 'cleanupInterval' | 'upstream_bind_config' | 'upstreamBindConfig' | 'lb_subset_config' | 'lbSubsetConfig' | 'protocol_selection' | 'protocolSelection' | 'alt_stat_name' | 'altStatName' | 'common_http_protocol_options' | 'commonHttpProtocolOptions' | 'upstream_connection_options' | 'upstreamConnectionOptions' | 'close_connections_on_host_health_failure' | 'closeConnectionsOnHostHealthFailure' | 'ignore_health_on_host_removal' | 'ignoreHealthOnHostRemoval' | 'original_dst_lb_config' | 'originalDstLbConfig' | 'typed_extension_protocol_options' | 'typedExtensionProtocolOptions' | 'respect_dns_ttl' | 'respectDnsTtl' | 'filters' | 'dns_failure_refresh_rate' | 'dnsFailureRefreshRate' | 'use_tcp_for_dns_lookups' | 'useTcpForDnsLookups' | 'upstream_http_protocol_options' | 'upstreamHttpProtocolOptions' | 'track_timeout_budgets' | 'trackTimeoutBudgets' | 'track_cluster_stats' | 'trackClusterStats' | 'preconnect_policy' | 'preconnectPolicy' | 'connection_pool_per_downstream_connection' | 'connectionPoolPerDownstreamConnection' | 'maglev_lb_config' | 'maglevLbConfig' | 'dns_resolution_config' | 'dnsResolutionConfig' | 'wait_for_warm_on_init' | 'waitForWarmOnInit' | 'typed_dns_resolver_config' | 'typedDnsResolverConfig' | 'dns_jitter' | 'dnsJitter' | 'transport_socket_matcher' | 'transportSocketMatcher'> {
/** Not supported by gRPC clients. */
readonly transport_socket_matches?: readonly (envoy.config.cluster.v3.Cluster.TransportSocketMatch)[] | null;
/** Not supported by gRPC clients. */
readonly transportSocketMatches?: readonly (envoy.config.cluster.v3.Cluster.TransportSocketMatch)[] | null;
readonly name?: string | null;
readonly type?: envoy.config.cluster.v3.Cluster.DiscoveryType | null;
readonly cluster_type?: envoy.config.cluster.v3.Cluster.CustomClusterType | null;
readonly clusterType?: envoy.config.cluster.v3.Cluster.CustomClusterType | null;
readonly eds_cluster_config?: envoy.config.cluster.v3.Cluster.EdsClusterConfig | null;
readonly edsClusterConfig?: envoy.config.cluster.v3.Cluster.EdsClusterConfig | null;
/** Not read by gRPC clients. */
readonly connect_timeout?: `${number}s` | null;
/** Not read by gRPC clients. */
readonly connectTimeout?: `${number}s` | null;
/** Used when load_balancing_policy is absent. */
readonly lb_policy?: envoy.config.cluster.v3.Cluster.LbPolicy | null;
/** Used when load_balancing_policy is absent. */
readonly lbPolicy?: envoy.config.cluster.v3.Cluster.LbPolicy | null;
/** The one host name of a LOGICAL_DNS cluster. */
readonly load_assignment?: envoy.config.endpoint.v3.ClusterLoadAssignment | null;
/** The one host name of a LOGICAL_DNS cluster. */
readonly loadAssignment?: envoy.config.endpoint.v3.ClusterLoadAssignment | null;
readonly circuit_breakers?: envoy.config.cluster.v3.CircuitBreakers | null;
readonly circuitBreakers?: envoy.config.cluster.v3.CircuitBreakers | null;
/** Not read by gRPC clients. */
readonly dns_lookup_family?: envoy.config.cluster.v3.Cluster.DnsLookupFamily | null;
/** Not read by gRPC clients. */
readonly dnsLookupFamily?: envoy.config.cluster.v3.Cluster.DnsLookupFamily | null;
readonly outlier_detection?: envoy.config.cluster.v3.OutlierDetection | null;
readonly outlierDetection?: envoy.config.cluster.v3.OutlierDetection | null;
readonly ring_hash_lb_config?: envoy.config.cluster.v3.Cluster.RingHashLbConfig | null;
readonly ringHashLbConfig?: envoy.config.cluster.v3.Cluster.RingHashLbConfig | null;
readonly least_request_lb_config?: envoy.config.cluster.v3.Cluster.LeastRequestLbConfig | null;
readonly leastRequestLbConfig?: envoy.config.cluster.v3.Cluster.LeastRequestLbConfig | null;
readonly round_robin_lb_config?: envoy.config.cluster.v3.Cluster.RoundRobinLbConfig | null;
readonly roundRobinLbConfig?: envoy.config.cluster.v3.Cluster.RoundRobinLbConfig | null;
readonly common_lb_config?: envoy.config.cluster.v3.Cluster.CommonLbConfig | null;
readonly commonLbConfig?: envoy.config.cluster.v3.Cluster.CommonLbConfig | null;
readonly transport_socket?: envoy.config.core.v3.TransportSocket | null;
readonly transportSocket?: envoy.config.core.v3.TransportSocket | null;
readonly metadata?: envoy.config.core.v3.Metadata | null;
readonly load_balancing_policy?: envoy.config.cluster.v3.LoadBalancingPolicy | null;
readonly loadBalancingPolicy?: envoy.config.cluster.v3.LoadBalancingPolicy | null;
/** Where load is reported to; only self is supported. */
readonly lrs_server?: envoy.config.core.v3.ConfigSource | null;
/** Where load is reported to; only self is supported. */
readonly lrsServer?: envoy.config.core.v3.ConfigSource | null;
/** Names of the backend metrics that go into load reports. */
readonly lrs_report_endpoint_metrics?: readonly (string)[] | null;
/** Names of the backend metrics that go into load reports. */
readonly lrsReportEndpointMetrics?: readonly (string)[] | null;
/** HTTP settings for connections to the cluster. */
readonly upstream_config?: envoy.config.core.v3.TypedExtensionConfig | null;
/** HTTP settings for connections to the cluster. */
readonly upstreamConfig?: envoy.config.core.v3.TypedExtensionConfig | null;
}
namespace CircuitBreakers {
/** Limits for one traffic class. */
interface Thresholds extends Unread<'max_pending_requests' | 'maxPendingRequests' | 'max_retries' | 'maxRetries' | 'track_remaining' | 'trackRemaining' | 'max_connection_pools' | 'maxConnectionPools' | 'retry_budget' | 'retryBudget'> {
readonly priority?: envoy.config.core.v3.RoutingPriority | null;
readonly max_connections?: number | `${number}` | null;
readonly maxConnections?: number | `${number}` | null;
/** Calls that may run at once; absent means 1024. */
readonly max_requests?: number | `${number}` | null;
/** Calls that may run at once; absent means 1024. */
readonly maxRequests?: number | `${number}` | null;
}
}
namespace Cluster {
/** A transport socket for endpoints with certain metadata. */
interface TransportSocketMatch extends Unread<'match' | 'transport_socket' | 'transportSocket'> {
readonly name?: string | null;
}
/** How endpoints are found. */
type DiscoveryType = 'STATIC' | 'STRICT_DNS' | 'LOGICAL_DNS' | 'EDS' | 'ORIGINAL_DST' | number;
/** A cluster kind given by an extension. */
interface CustomClusterType {
readonly name?: string | null;
readonly typed_config?: google.protobuf.Any | null;
readonly typedConfig?: google.protobuf.Any | null;
}
/** Where an EDS cluster finds its endpoints. */
interface EdsClusterConfig {
readonly eds_config?: envoy.config.core.v3.ConfigSource | null;
readonly edsConfig?: envoy.config.core.v3.ConfigSource | null;
/** EDS resource name; empty means the cluster's name. */
readonly service_name?: string | null;
/** EDS resource name; empty means the cluster's name. */
readonly serviceName?: string | null;
}
/** Built-in balancing policies. */
type LbPolicy = 'ROUND_ROBIN' | 'LEAST_REQUEST' | 'RING_HASH' | 'RANDOM' | 'MAGLEV' | 'CLUSTER_PROVIDED' | 'LOAD_BALANCING_POLICY_CONFIG' | number;
/** IP families to resolve. */
type DnsLookupFamily = 'AUTO' | 'V4_ONLY' | 'V6_ONLY' | 'V4_PREFERRED' | 'ALL' | number;
/** Settings of RING_HASH. */
interface RingHashLbConfig {
readonly minimum_ring_size?: number | `${number}` | null;
readonly minimumRingSize?: number | `${number}` | null;
readonly hash_function?: envoy.config.cluster.v3.Cluster.RingHashLbConfig.HashFunction | null;
readonly hashFunction?: envoy.config.cluster.v3.Cluster.RingHashLbConfig.HashFunction | null;
readonly maximum_ring_size?: number | `${number}` | null;
readonly maximumRingSize?: number | `${number}` | null;
}
/** Settings of LEAST_REQUEST. */
interface LeastRequestLbConfig extends Unread<'active_request_bias' | 'activeRequestBias' | 'slow_start_config' | 'slowStartConfig'> {
/** How many endpoints are compared per pick. */
readonly choice_count?: number | `${number}` | null;
/** How many endpoints are compared per pick. */
readonly choiceCount?: number | `${number}` | null;
}
/** Settings of ROUND_ROBIN; none is read. */
interface RoundRobinLbConfig extends Unread<'slow_start_config' | 'slowStartConfig'> {
}
/** Settings common to all policies. */
interface CommonLbConfig extends Unread<'healthy_panic_threshold' | 'healthyPanicThreshold' | 'zone_aware_lb_config' | 'zoneAwareLbConfig' | 'locality_weighted_lb_config' | 'localityWeightedLbConfig' | 'update_merge_window' | 'updateMergeWindow' | 'ignore_new_hosts_until_first_hc' | 'ignoreNewHostsUntilFirstHc' | 'close_connections_on_host_set_change' | 'closeConnectionsOnHostSetChange' | 'consistent_hashing_lb_config' | 'consistentHashingLbConfig'> {
/** Health states in which a session may stay on its endpoint. */
readonly override_host_status?: envoy.config.core.v3.HealthStatusSet | null;
/** Health states in which a session may stay on its endpoint. */
readonly overrideHostStatus?: envoy.config.core.v3.HealthStatusSet | null;
}
namespace RingHashLbConfig {
/** Hash that places endpoints on the ring. */
type HashFunction = 'XX_HASH' | 'MURMUR_HASH_2' | number;
}
}
namespace LoadBalancingPolicy {
/** One candidate. */
interface Policy {
readonly typed_extension_config?: envoy.config.core.v3.TypedExtensionConfig | null;
readonly typedExtensionConfig?: envoy.config.core.v3.TypedExtensionConfig | null;
}
}
}

export declare namespace envoy.config.core.v3 {
/** Class of traffic; gRPC only uses DEFAULT. */
type RoutingPriority = 'DEFAULT' | 'HIGH' | number;
/** Version of the xDS API. */
type ApiVersion = 'AUTO' | 'V2' | 'V3' | number;
/** A separate API server; present so that it can be recognised and rejected. */
interface ApiConfigSource extends Unread<'cluster_names' | 'clusterNames' | 'refresh_delay' | 'refreshDelay' | 'grpc_services' | 'grpcServices' | 'request_timeout' | 'requestTimeout' | 'rate_limit_settings' | 'rateLimitSettings' | 'set_node_on_first_message_only' | 'setNodeOnFirstMessageOnly' | 'config_validators' | 'configValidators'> {
readonly api_type?: envoy.config.core.v3.ApiConfigSource.ApiType | null;
readonly apiType?: envoy.config.core.v3.ApiConfigSource.ApiType | null;
readonly transport_api_version?: envoy.config.core.v3.ApiVersion | null;
readonly transportApiVersion?: envoy.config.core.v3.ApiVersion | null;
}
/** Selects the aggregated stream. */
interface AggregatedConfigSource {
}
/** Selects the server the enclosing resource came from. */
interface SelfConfigSource {
readonly transport_api_version?: envoy.config.core.v3.ApiVersion | null;
readonly transportApiVersion?: envoy.config.core.v3.ApiVersion | null;
}
/** Where a resource is fetched from. */
interface ConfigSource extends Unread<'authorities' | 'path_config_source' | 'pathConfigSource'> {
/** A file; not supported by gRPC clients. */
readonly path?: string | null;
/** A separate API server; not supported by gRPC clients. */
readonly api_config_source?: envoy.config.core.v3.ApiConfigSource | null;
/** A separate API server; not supported by gRPC clients. */
readonly apiConfigSource?: envoy.config.core.v3.ApiConfigSource | null;
/** The aggregated stream. */
readonly ads?: envoy.config.core.v3.AggregatedConfigSource | null;
/** The server that sent the resource holding this message. */
readonly self?: envoy.config.core.v3.SelfConfigSource | null;
/** Not read by gRPC clients. */
readonly initial_fetch_timeout?: `${number}s` | null;
/** Not read by gRPC clients. */
readonly initialFetchTimeout?: `${number}s` | null;
readonly resource_api_version?: envoy.config.core.v3.ApiVersion | null;
readonly resourceApiVersion?: envoy.config.core.v3.ApiVersion | null;
}
/** Place where endpoints run, from coarse to fine. */
interface Locality {
readonly region?: string | null;
readonly zone?: string | null;
readonly sub_zone?: string | null;
readonly subZone?: string | null;
}
/** Attributes attached to a resource, grouped by the consumer's key. */
interface Metadata {
/** Loose values. */
readonly filter_metadata?: { readonly [key: string]: { readonly [key: string]: unknown } } | null;
/** Loose values. */
readonly filterMetadata?: { readonly [key: string]: { readonly [key: string]: unknown } } | null;
/** Typed values; these win over loose ones with the same key. */
readonly typed_filter_metadata?: { readonly [key: string]: google.protobuf.Any } | null;
/** Typed values; these win over loose ones with the same key. */
readonly typedFilterMetadata?: { readonly [key: string]: google.protobuf.Any } | null;
}
/** An address with a port. */
interface SocketAddress extends Unread<'ipv4_compat' | 'ipv4Compat' | 'network_namespace_filepath' | 'networkNamespaceFilepath'> {
readonly protocol?: envoy.config.core.v3.SocketAddress.Protocol | null;
/** IP literal, or a host name where a cluster resolves names. */
readonly address?: string | null;
readonly port_value?: number | `${number}` | null;
readonly portValue?: number | `${number}` | null;
readonly named_port?: string | null;
readonly namedPort?: string | null;
/** Custom resolver; must be empty for gRPC clients. */
readonly resolver_name?: string | null;
/** Custom resolver; must be empty for gRPC clients. */
readonly resolverName?: string | null;
}
/** A Unix domain socket. */
interface Pipe extends Unread<'mode'> {
readonly path?: string | null;
}
/** A listener inside Envoy; no gRPC client can reach one. */
interface EnvoyInternalAddress {
readonly server_listener_name?: string | null;
readonly serverListenerName?: string | null;
readonly endpoint_id?: string | null;
readonly endpointId?: string | null;
}
/** Where something can be reached. */
interface Address {
readonly socket_address?: envoy.config.core.v3.SocketAddress | null;
readonly socketAddress?: envoy.config.core.v3.SocketAddress | null;
readonly pipe?: envoy.config.core.v3.Pipe | null;
readonly envoy_internal_address?: envoy.config.core.v3.EnvoyInternalAddress | null;
readonly envoyInternalAddress?: envoy.config.core.v3.EnvoyInternalAddress | null;
}
/** Health of an endpoint as the control plane sees it. */
type HealthStatus = 'UNKNOWN' | 'HEALTHY' | 'UNHEALTHY' | 'DRAINING' | 'TIMEOUT' | 'DEGRADED' | number;
/** A set of health states. */
interface HealthStatusSet {
readonly statuses?: readonly (envoy.config.core.v3.HealthStatus)[] | null;
}
/** Wraps connections, for instance in TLS. */
interface TransportSocket {
readonly name?: string | null;
readonly typed_config?: google.protobuf.Any | null;
readonly typedConfig?: google.protobuf.Any | null;
}
/** Configuration of an extension, found by its message type. */
interface TypedExtensionConfig {
/** Label for humans; in some places also the instance name. */
readonly name?: string | null;
readonly typed_config?: google.protobuf.Any | null;
readonly typedConfig?: google.protobuf.Any | null;
}
/** Version of the client software as numbers. */
interface BuildVersion {
readonly version?: envoy.type.v3.SemanticVersion | null;
}
/** A range of IP addresses. */
interface CidrRange {
readonly address_prefix?: string | null;
readonly addressPrefix?: string | null;
/** Absent means 0. */
readonly prefix_len?: number | `${number}` | null;
/** Absent means 0. */
readonly prefixLen?: number | `${number}` | null;
}
/** Names the management server instance that answered. */
interface ControlPlane {
readonly identifier?: string | null;
}
/** Where a blob comes from. */
interface DataSource extends Unread<'watched_directory' | 'watchedDirectory'> {
readonly filename?: string | null;
readonly inline_bytes?: string | null;
readonly inlineBytes?: string | null;
readonly inline_string?: string | null;
readonly inlineString?: string | null;
readonly environment_variable?: string | null;
readonly environmentVariable?: string | null;
}
/** Source of an extension's configuration; present so that it can be recognised. */
interface ExtensionConfigSource extends Unread<'apply_default_config_without_warming' | 'applyDefaultConfigWithoutWarming'> {
readonly config_source?: envoy.config.core.v3.ConfigSource | null;
readonly configSource?: envoy.config.core.v3.ConfigSource | null;
readonly default_config?: google.protobuf.Any | null;
readonly defaultConfig?: google.protobuf.Any | null;
readonly type_urls?: readonly (string)[] | null;
readonly typeUrls?: readonly (string)[] | null;
}
/** HTTP settings common to all protocol versions. */
interface HttpProtocolOptions extends Unread<'max_headers_count' | 'maxHeadersCount' | 'max_connection_duration' | 'maxConnectionDuration' | 'headers_with_underscores_action' | 'headersWithUnderscoresAction' | 'max_requests_per_connection' | 'maxRequestsPerConnection' | 'max_response_headers_kb' | 'maxResponseHeadersKb'> {
/** How long a connection without calls is kept. */
readonly idle_timeout?: `${number}s` | null;
/** How long a connection without calls is kept. */
readonly idleTimeout?: `${number}s` | null;
/** Limit on the life of a call; the route may override it. */
readonly max_stream_duration?: `${number}s` | null;
/** Limit on the life of a call; the route may override it. */
readonly maxStreamDuration?: `${number}s` | null;
}
/** Who the client says it is to its management server. */
interface Node {
/** Unique name of this client. */
readonly id?: string | null;
/** Group of clients this one belongs to. */
readonly cluster?: string | null;
/** Free-form attributes from the bootstrap. */
readonly metadata?: { readonly [key: string]: unknown } | null;
/** Where the client runs. */
readonly locality?: envoy.config.core.v3.Locality | null;
/** Name of the client software. */
readonly user_agent_name?: string | null;
/** Name of the client software. */
readonly userAgentName?: string | null;
/** Version of the client software. */
readonly user_agent_version?: string | null;
/** Version of the client software. */
readonly userAgentVersion?: string | null;
/** Secret discovery servers decide by it what a client can read. */
readonly user_agent_build_version?: envoy.config.core.v3.BuildVersion | null;
/** Secret discovery servers decide by it what a client can read. */
readonly userAgentBuildVersion?: envoy.config.core.v3.BuildVersion | null;
/** Protocol extensions the client understands. */
readonly client_features?: readonly (string)[] | null;
/** Protocol extensions the client understands. */
readonly clientFeatures?: readonly (string)[] | null;
}
/** A number with a runtime override; gRPC reads only the default. */
interface RuntimeDouble {
readonly default_value?: number | `${number}` | 'NaN' | 'Infinity' | '-Infinity' | null;
readonly defaultValue?: number | `${number}` | 'NaN' | 'Infinity' | '-Infinity' | null;
readonly runtime_key?: string | null;
readonly runtimeKey?: string | null;
}
/** A share with a runtime override; gRPC reads only the default. */
interface RuntimeFractionalPercent {
readonly default_value?: envoy.type.v3.FractionalPercent | null;
readonly defaultValue?: envoy.type.v3.FractionalPercent | null;
readonly runtime_key?: string | null;
readonly runtimeKey?: string | null;
}
/** Whose traffic a listener is for. */
type TrafficDirection = 'UNSPECIFIED' | 'INBOUND' | 'OUTBOUND' | number;
namespace ApiConfigSource {
/** Kind of API. */
type ApiType = 'DEPRECATED_AND_UNAVAILABLE_DO_NOT_USE' | 'REST' | 'GRPC' | 'DELTA_GRPC' | 'AGGREGATED_GRPC' | 'AGGREGATED_DELTA_GRPC' | number;
}
namespace SocketAddress {
/** Transport protocol. */
type Protocol = 'TCP' | 'UDP' | number;
}
}

export declare namespace envoy.config.endpoint.v3 {
/** A backend and the addresses it listens on. */
interface Endpoint extends Unread<'health_check_config' | 'healthCheckConfig'> {
/** Main address. */
readonly address?: envoy.config.core.v3.Address | null;
/** Host name for authority rewriting and for SNI. */
readonly hostname?: string | null;
/** Further addresses of the same backend, for instance of the other IP family. */
readonly additional_addresses?: readonly (envoy.config.endpoint.v3.Endpoint.AdditionalAddress)[] | null;
/** Further addresses of the same backend, for instance of the other IP family. */
readonly additionalAddresses?: readonly (envoy.config.endpoint.v3.Endpoint.AdditionalAddress)[] | null;
}
/** An endpoint with what the balancer has to know about it. */
interface LbEndpoint {
readonly endpoint?: envoy.config.endpoint.v3.Endpoint | null;
/** Reference to a named endpoint; not supported by gRPC clients. */
readonly endpoint_name?: string | null;
/** Reference to a named endpoint; not supported by gRPC clients. */
readonly endpointName?: string | null;
readonly health_status?: envoy.config.core.v3.HealthStatus | null;
readonly healthStatus?: envoy.config.core.v3.HealthStatus | null;
readonly metadata?: envoy.config.core.v3.Metadata | null;
/** At least 1; absent means 1. */
readonly load_balancing_weight?: number | `${number}` | null;
/** At least 1; absent means 1. */
readonly loadBalancingWeight?: number | `${number}` | null;
}
/** Points to a collection with the endpoints of a locality. */
interface LedsClusterLocalityConfig {
readonly leds_config?: envoy.config.core.v3.ConfigSource | null;
readonly ledsConfig?: envoy.config.core.v3.ConfigSource | null;
readonly leds_collection_name?: string | null;
readonly ledsCollectionName?: string | null;
}
/** Endpoints that share a locality and a priority. */
interface LocalityLbEndpoints extends Unread<'proximity'> {
readonly locality?: envoy.config.core.v3.Locality | null;
readonly metadata?: envoy.config.core.v3.Metadata | null;
readonly lb_endpoints?: readonly (envoy.config.endpoint.v3.LbEndpoint)[] | null;
readonly lbEndpoints?: readonly (envoy.config.endpoint.v3.LbEndpoint)[] | null;
/** Not supported by gRPC clients. */
readonly load_balancer_endpoints?: envoy.config.endpoint.v3.LocalityLbEndpoints.LbEndpointList | null;
/** Not supported by gRPC clients. */
readonly loadBalancerEndpoints?: envoy.config.endpoint.v3.LocalityLbEndpoints.LbEndpointList | null;
/** Endpoints come from a collection; lb_endpoints is then ignored. */
readonly leds_cluster_locality_config?: envoy.config.endpoint.v3.LedsClusterLocalityConfig | null;
/** Endpoints come from a collection; lb_endpoints is then ignored. */
readonly ledsClusterLocalityConfig?: envoy.config.endpoint.v3.LedsClusterLocalityConfig | null;
/** Share of this locality within its priority; absent or zero disables the locality. */
readonly load_balancing_weight?: number | `${number}` | null;
/** Share of this locality within its priority; absent or zero disables the locality. */
readonly loadBalancingWeight?: number | `${number}` | null;
/** 0 is tried first; priorities must leave no gap. */
readonly priority?: number | `${number}` | null;
}
/** All endpoints of a cluster: the EDS resource. */
interface ClusterLoadAssignment extends Unread<'named_endpoints' | 'namedEndpoints'> {
/** Name of the resource. */
readonly cluster_name?: string | null;
/** Name of the resource. */
readonly clusterName?: string | null;
/** Grouped by locality. */
readonly endpoints?: readonly (envoy.config.endpoint.v3.LocalityLbEndpoints)[] | null;
readonly policy?: envoy.config.endpoint.v3.ClusterLoadAssignment.Policy | null;
}
/** Sum of a metric known from the field it stands in. */
interface UnnamedEndpointLoadMetricStats {
/** Number of calls that reported the metric. */
readonly num_requests_finished_with_metric?: number | `${number}` | null;
/** Number of calls that reported the metric. */
readonly numRequestsFinishedWithMetric?: number | `${number}` | null;
readonly total_metric_value?: number | `${number}` | 'NaN' | 'Infinity' | '-Infinity' | null;
readonly totalMetricValue?: number | `${number}` | 'NaN' | 'Infinity' | '-Infinity' | null;
}
/** Sum of one named metric. */
interface EndpointLoadMetricStats {
readonly metric_name?: string | null;
readonly metricName?: string | null;
/** Number of calls that reported the metric. */
readonly num_requests_finished_with_metric?: number | `${number}` | null;
/** Number of calls that reported the metric. */
readonly numRequestsFinishedWithMetric?: number | `${number}` | null;
readonly total_metric_value?: number | `${number}` | 'NaN' | 'Infinity' | '-Infinity' | null;
readonly totalMetricValue?: number | `${number}` | 'NaN' | 'Infinity' | '-Infinity' | null;
}
/** Calls to one locality of a cluster since the last report. */
interface UpstreamLocalityStats {
readonly locality?: envoy.config.core.v3.Locality | null;
readonly total_successful_requests?: number | `${number}` | null;
readonly totalSuccessfulRequests?: number | `${number}` | null;
/** Calls running at the time of the report. */
readonly total_requests_in_progress?: number | `${number}` | null;
/** Calls running at the time of the report. */
readonly totalRequestsInProgress?: number | `${number}` | null;
readonly total_error_requests?: number | `${number}` | null;
readonly totalErrorRequests?: number | `${number}` | null;
readonly total_issued_requests?: number | `${number}` | null;
readonly totalIssuedRequests?: number | `${number}` | null;
readonly cpu_utilization?: envoy.config.endpoint.v3.UnnamedEndpointLoadMetricStats | null;
readonly cpuUtilization?: envoy.config.endpoint.v3.UnnamedEndpointLoadMetricStats | null;
readonly mem_utilization?: envoy.config.endpoint.v3.UnnamedEndpointLoadMetricStats | null;
readonly memUtilization?: envoy.config.endpoint.v3.UnnamedEndpointLoadMetricStats | null;
readonly application_utilization?: envoy.config.endpoint.v3.UnnamedEndpointLoadMetricStats | null;
readonly applicationUtilization?: envoy.config.endpoint.v3.UnnamedEndpointLoadMetricStats | null;
/** Sums of the metrics backends reported, by name. */
readonly load_metric_stats?: readonly (envoy.config.endpoint.v3.EndpointLoadMetricStats)[] | null;
/** Sums of the metrics backends reported, by name. */
readonly loadMetricStats?: readonly (envoy.config.endpoint.v3.EndpointLoadMetricStats)[] | null;
readonly priority?: number | `${number}` | null;
}
/** Calls to one cluster since the last report. */
interface ClusterStats {
readonly cluster_name?: string | null;
readonly clusterName?: string | null;
/** EDS name, when it differs from the cluster's name. */
readonly cluster_service_name?: string | null;
/** EDS name, when it differs from the cluster's name. */
readonly clusterServiceName?: string | null;
readonly upstream_locality_stats?: readonly (envoy.config.endpoint.v3.UpstreamLocalityStats)[] | null;
readonly upstreamLocalityStats?: readonly (envoy.config.endpoint.v3.UpstreamLocalityStats)[] | null;
/** Drops of every kind, with or without a category. */
readonly total_dropped_requests?: number | `${number}` | null;
/** Drops of every kind, with or without a category. */
readonly totalDroppedRequests?: number | `${number}` | null;
/** Drops by category. */
readonly dropped_requests?: readonly (envoy.config.endpoint.v3.ClusterStats.DroppedRequests)[] | null;
/** Drops by category. */
readonly droppedRequests?: readonly (envoy.config.endpoint.v3.ClusterStats.DroppedRequests)[] | null;
/** Time the counters cover. */
readonly load_report_interval?: `${number}s` | null;
/** Time the counters cover. */
readonly loadReportInterval?: `${number}s` | null;
}
/** Endpoints of one locality as a resource of its own. */
interface LbEndpointCollection {
/** Each entry holds an LbEndpoint. */
readonly entries?: readonly (xds.core.v3.CollectionEntry)[] | null;
}
namespace ClusterLoadAssignment {
/** How traffic to the endpoints is limited. */
interface Policy extends Unread<'endpoint_stale_after' | 'endpointStaleAfter' | 'weighted_priority_health' | 'weightedPriorityHealth'> {
/** Drop rules in the order of their evaluation. */
readonly drop_overloads?: readonly (envoy.config.endpoint.v3.ClusterLoadAssignment.Policy.DropOverload)[] | null;
/** Drop rules in the order of their evaluation. */
readonly dropOverloads?: readonly (envoy.config.endpoint.v3.ClusterLoadAssignment.Policy.DropOverload)[] | null;
/** Not read by gRPC clients. */
readonly overprovisioning_factor?: number | `${number}` | null;
/** Not read by gRPC clients. */
readonly overprovisioningFactor?: number | `${number}` | null;
}
namespace Policy {
/** Drops a share of the calls. */
interface DropOverload {
/** Name under which the drops are reported. */
readonly category?: string | null;
readonly drop_percentage?: envoy.type.v3.FractionalPercent | null;
readonly dropPercentage?: envoy.type.v3.FractionalPercent | null;
}
}
}
namespace ClusterStats {
/** Drops of one category. */
interface DroppedRequests {
readonly category?: string | null;
readonly dropped_count?: number | `${number}` | null;
readonly droppedCount?: number | `${number}` | null;
}
}
namespace Endpoint {
/** One further address. */
interface AdditionalAddress {
readonly address?: envoy.config.core.v3.Address | null;
}
}
namespace LocalityLbEndpoints {
/** A list of endpoints inside a oneof. */
interface LbEndpointList {
readonly lb_endpoints?: readonly (envoy.config.endpoint.v3.LbEndpoint)[] | null;
readonly lbEndpoints?: readonly (envoy.config.endpoint.v3.LbEndpoint)[] | null;
}
}
}

export declare namespace envoy.config.listener.v3 {
/** A further address of a server listener. */
interface AdditionalAddress extends Unread<'socket_options' | 'socketOptions' | 'tcp_keepalive' | 'tcpKeepalive'> {
readonly address?: envoy.config.core.v3.Address | null;
}
/** The part of a listener that clients use. */
interface ApiListener {
/** An HttpConnectionManager. */
readonly api_listener?: google.protobuf.Any | null;
/** An HttpConnectionManager. */
readonly apiListener?: google.protobuf.Any | null;
}
/** A network filter; servers have one, an HttpConnectionManager. */
interface Filter extends Unread<'config_discovery' | 'configDiscovery'> {
readonly name?: string | null;
readonly typed_config?: google.protobuf.Any | null;
readonly typedConfig?: google.protobuf.Any | null;
}
/** The connections that a filter chain is for. What is not set matches every connection. */
interface FilterChainMatch extends Unread<'address_suffix' | 'addressSuffix' | 'suffix_len' | 'suffixLen'> {
/** Never matches on a gRPC server. */
readonly destination_port?: number | `${number}` | null;
/** Never matches on a gRPC server. */
readonly destinationPort?: number | `${number}` | null;
readonly prefix_ranges?: readonly (envoy.config.core.v3.CidrRange)[] | null;
readonly prefixRanges?: readonly (envoy.config.core.v3.CidrRange)[] | null;
/** Not read by gRPC servers. */
readonly direct_source_prefix_ranges?: readonly (envoy.config.core.v3.CidrRange)[] | null;
/** Not read by gRPC servers. */
readonly directSourcePrefixRanges?: readonly (envoy.config.core.v3.CidrRange)[] | null;
readonly source_type?: envoy.config.listener.v3.FilterChainMatch.ConnectionSourceType | null;
readonly sourceType?: envoy.config.listener.v3.FilterChainMatch.ConnectionSourceType | null;
readonly source_prefix_ranges?: readonly (envoy.config.core.v3.CidrRange)[] | null;
readonly sourcePrefixRanges?: readonly (envoy.config.core.v3.CidrRange)[] | null;
readonly source_ports?: readonly (number | `${number}`)[] | null;
readonly sourcePorts?: readonly (number | `${number}`)[] | null;
/** Never match on a gRPC server. */
readonly server_names?: readonly (string)[] | null;
/** Never match on a gRPC server. */
readonly serverNames?: readonly (string)[] | null;
/** Only raw_buffer matches on a gRPC server. */
readonly transport_protocol?: string | null;
/** Only raw_buffer matches on a gRPC server. */
readonly transportProtocol?: string | null;
/** Never match on a gRPC server. */
readonly application_protocols?: readonly (string)[] | null;
/** Never match on a gRPC server. */
readonly applicationProtocols?: readonly (string)[] | null;
}
/** How connections that match are handled. */
interface FilterChain extends Unread<'use_proxy_proto' | 'useProxyProto' | 'metadata' | 'transport_socket_connect_timeout' | 'transportSocketConnectTimeout' | 'on_demand_configuration' | 'onDemandConfiguration'> {
readonly filter_chain_match?: envoy.config.listener.v3.FilterChainMatch | null;
readonly filterChainMatch?: envoy.config.listener.v3.FilterChainMatch | null;
readonly filters?: readonly (envoy.config.listener.v3.Filter)[] | null;
/** A DownstreamTlsContext. */
readonly transport_socket?: envoy.config.core.v3.TransportSocket | null;
/** A DownstreamTlsContext. */
readonly transportSocket?: envoy.config.core.v3.TransportSocket | null;
readonly name?: string | null;
}
/** A filter that reads connections before a filter chain is chosen; present so that it can be recognised. */
interface ListenerFilter extends Unread<'typed_config' | 'typedConfig' | 'filter_disabled' | 'filterDisabled' | 'config_discovery' | 'configDiscovery'> {
readonly name?: string | null;
}
/** Entry point of a configuration: the LDS resource. */
interface Listener extends Unread<'per_connection_buffer_limit_bytes' | 'perConnectionBufferLimitBytes' | 'metadata' | 'deprecated_v1' | 'deprecatedV1' | 'drain_type' | 'drainType' | 'transparent' | 'freebind' | 'tcp_fast_open_queue_length' | 'tcpFastOpenQueueLength' | 'socket_options' | 'socketOptions' | 'listener_filters_timeout' | 'listenerFiltersTimeout' | 'continue_on_listener_filters_timeout' | 'continueOnListenerFiltersTimeout' | 'udp_listener_config' | 'udpListenerConfig' | 'connection_balance_config' | 'connectionBalanceConfig' | 'reuse_port' | 'reusePort' | 'access_log' | 'accessLog' | 'tcp_backlog_size' | 'tcpBacklogSize' | 'bind_to_port' | 'bindToPort' | 'internal_listener' | 'internalListener' | 'stat_prefix' | 'statPrefix' | 'enable_reuse_port' | 'enableReusePort' | 'enable_mptcp' | 'enableMptcp' | 'ignore_global_conn_limit' | 'ignoreGlobalConnLimit' | 'filter_chain_matcher' | 'filterChainMatcher' | 'max_connections_to_accept_per_socket_event' | 'maxConnectionsToAcceptPerSocketEvent' | 'bypass_overload_manager' | 'bypassOverloadManager' | 'fcds_config' | 'fcdsConfig' | 'tcp_keepalive' | 'tcpKeepalive'> {
readonly name?: string | null;
/** Set on server listeners, which a client cannot use. */
readonly address?: envoy.config.core.v3.Address | null;
readonly additional_addresses?: readonly (envoy.config.listener.v3.AdditionalAddress)[] | null;
readonly additionalAddresses?: readonly (envoy.config.listener.v3.AdditionalAddress)[] | null;
/** How connections to a server are handled, by where they come from. */
readonly filter_chains?: readonly (envoy.config.listener.v3.FilterChain)[] | null;
/** How connections to a server are handled, by where they come from. */
readonly filterChains?: readonly (envoy.config.listener.v3.FilterChain)[] | null;
/** Must not be true. */
readonly use_original_dst?: boolean | null;
/** Must not be true. */
readonly useOriginalDst?: boolean | null;
/** For connections that no filter chain matches. */
readonly default_filter_chain?: envoy.config.listener.v3.FilterChain | null;
/** For connections that no filter chain matches. */
readonly defaultFilterChain?: envoy.config.listener.v3.FilterChain | null;
/** Must be empty. */
readonly listener_filters?: readonly (envoy.config.listener.v3.ListenerFilter)[] | null;
/** Must be empty. */
readonly listenerFilters?: readonly (envoy.config.listener.v3.ListenerFilter)[] | null;
/** Must not be OUTBOUND on a listener of a server. */
readonly traffic_direction?: envoy.config.core.v3.TrafficDirection | null;
/** Must not be OUTBOUND on a listener of a server. */
readonly trafficDirection?: envoy.config.core.v3.TrafficDirection | null;
/** Set on client listeners. */
readonly api_listener?: envoy.config.listener.v3.ApiListener | null;
/** Set on client listeners. */
readonly apiListener?: envoy.config.listener.v3.ApiListener | null;
}
namespace FilterChainMatch {
/** Where connections come from. */
type ConnectionSourceType = 'ANY' | 'SAME_IP_OR_LOOPBACK' | 'EXTERNAL' | number;
}
}

export declare namespace envoy.config.rbac.v3 {
/** Metadata of a request, with its source; not supported by gRPC. */
interface SourcedMetadata extends Unread<'metadata_source' | 'metadataSource'> {
readonly metadata_matcher?: envoy.type.matcher.v3.MetadataMatcher | null;
readonly metadataMatcher?: envoy.type.matcher.v3.MetadataMatcher | null;
}
/** What a request does. */
interface Permission {
readonly and_rules?: envoy.config.rbac.v3.Permission.Set | null;
readonly andRules?: envoy.config.rbac.v3.Permission.Set | null;
readonly or_rules?: envoy.config.rbac.v3.Permission.Set | null;
readonly orRules?: envoy.config.rbac.v3.Permission.Set | null;
/** Must be true. */
readonly any?: boolean | null;
readonly header?: envoy.config.route.v3.HeaderMatcher | null;
/** The path of the method. */
readonly url_path?: envoy.type.matcher.v3.PathMatcher | null;
/** The path of the method. */
readonly urlPath?: envoy.type.matcher.v3.PathMatcher | null;
/** The address of the server. */
readonly destination_ip?: envoy.config.core.v3.CidrRange | null;
/** The address of the server. */
readonly destinationIp?: envoy.config.core.v3.CidrRange | null;
/** The port of the server. */
readonly destination_port?: number | `${number}` | null;
/** The port of the server. */
readonly destinationPort?: number | `${number}` | null;
readonly destination_port_range?: envoy.type.v3.Int32Range | null;
readonly destinationPortRange?: envoy.type.v3.Int32Range | null;
/** Requests have none in gRPC. */
readonly metadata?: envoy.type.matcher.v3.MetadataMatcher | null;
readonly not_rule?: envoy.config.rbac.v3.Permission | null;
readonly notRule?: envoy.config.rbac.v3.Permission | null;
/** The server name of the handshake; empty in gRPC. */
readonly requested_server_name?: envoy.type.matcher.v3.StringMatcher | null;
/** The server name of the handshake; empty in gRPC. */
readonly requestedServerName?: envoy.type.matcher.v3.StringMatcher | null;
/** Matching by an extension. */
readonly matcher?: envoy.config.core.v3.TypedExtensionConfig | null;
/** Matching of the path by an extension. */
readonly uri_template?: envoy.config.core.v3.TypedExtensionConfig | null;
/** Matching of the path by an extension. */
readonly uriTemplate?: envoy.config.core.v3.TypedExtensionConfig | null;
readonly sourced_metadata?: envoy.config.rbac.v3.SourcedMetadata | null;
readonly sourcedMetadata?: envoy.config.rbac.v3.SourcedMetadata | null;
}
/** Where a request comes from. */
interface Principal {
readonly and_ids?: envoy.config.rbac.v3.Principal.Set | null;
readonly andIds?: envoy.config.rbac.v3.Principal.Set | null;
readonly or_ids?: envoy.config.rbac.v3.Principal.Set | null;
readonly orIds?: envoy.config.rbac.v3.Principal.Set | null;
/** Must be true. */
readonly any?: boolean | null;
readonly authenticated?: envoy.config.rbac.v3.Principal.Authenticated | null;
readonly source_ip?: envoy.config.core.v3.CidrRange | null;
readonly sourceIp?: envoy.config.core.v3.CidrRange | null;
readonly direct_remote_ip?: envoy.config.core.v3.CidrRange | null;
readonly directRemoteIp?: envoy.config.core.v3.CidrRange | null;
readonly remote_ip?: envoy.config.core.v3.CidrRange | null;
readonly remoteIp?: envoy.config.core.v3.CidrRange | null;
readonly header?: envoy.config.route.v3.HeaderMatcher | null;
readonly url_path?: envoy.type.matcher.v3.PathMatcher | null;
readonly urlPath?: envoy.type.matcher.v3.PathMatcher | null;
readonly metadata?: envoy.type.matcher.v3.MetadataMatcher | null;
/** State of other filters of Envoy. */
readonly filter_state?: envoy.type.matcher.v3.FilterStateMatcher | null;
/** State of other filters of Envoy. */
readonly filterState?: envoy.type.matcher.v3.FilterStateMatcher | null;
readonly not_id?: envoy.config.rbac.v3.Principal | null;
readonly notId?: envoy.config.rbac.v3.Principal | null;
readonly sourced_metadata?: envoy.config.rbac.v3.SourcedMetadata | null;
readonly sourcedMetadata?: envoy.config.rbac.v3.SourcedMetadata | null;
/** Matching by an extension. */
readonly custom?: envoy.config.core.v3.TypedExtensionConfig | null;
}
/** Matches if a permission and a principal do. */
interface Policy extends Unread<'cel_config' | 'celConfig'> {
readonly permissions?: readonly (envoy.config.rbac.v3.Permission)[] | null;
readonly principals?: readonly (envoy.config.rbac.v3.Principal)[] | null;
/** CEL; not supported by gRPC. */
readonly condition?: google.api.expr.v1alpha1.Expr | null;
/** CEL; not supported by gRPC. */
readonly checked_condition?: google.api.expr.v1alpha1.CheckedExpr | null;
/** CEL; not supported by gRPC. */
readonly checkedCondition?: google.api.expr.v1alpha1.CheckedExpr | null;
}
/** Policies, and what follows for a request that one of them matches. */
interface RBAC {
readonly action?: envoy.config.rbac.v3.RBAC.Action | null;
/** By name. */
readonly policies?: { readonly [key: string]: envoy.config.rbac.v3.Policy } | null;
readonly audit_logging_options?: envoy.config.rbac.v3.RBAC.AuditLoggingOptions | null;
readonly auditLoggingOptions?: envoy.config.rbac.v3.RBAC.AuditLoggingOptions | null;
}
namespace Permission {
interface Set {
readonly rules?: readonly (envoy.config.rbac.v3.Permission)[] | null;
}
}
namespace Principal {
interface Set {
readonly ids?: readonly (envoy.config.rbac.v3.Principal)[] | null;
}
/** The peer of a TLS connection. */
interface Authenticated {
/** Absent means every peer of such a connection. */
readonly principal_name?: envoy.type.matcher.v3.StringMatcher | null;
/** Absent means every peer of such a connection. */
readonly principalName?: envoy.type.matcher.v3.StringMatcher | null;
}
}
namespace RBAC {
type Action = 'ALLOW' | 'DENY' | 'LOG' | number;
/** The loggers that receive decisions. */
interface AuditLoggingOptions {
readonly audit_condition?: envoy.config.rbac.v3.RBAC.AuditLoggingOptions.AuditCondition | null;
readonly auditCondition?: envoy.config.rbac.v3.RBAC.AuditLoggingOptions.AuditCondition | null;
readonly logger_configs?: readonly (envoy.config.rbac.v3.RBAC.AuditLoggingOptions.AuditLoggerConfig)[] | null;
readonly loggerConfigs?: readonly (envoy.config.rbac.v3.RBAC.AuditLoggingOptions.AuditLoggerConfig)[] | null;
}
namespace AuditLoggingOptions {
type AuditCondition = 'NONE' | 'ON_DENY' | 'ON_ALLOW' | 'ON_DENY_AND_ALLOW' | number;
interface AuditLoggerConfig {
readonly audit_logger?: envoy.config.core.v3.TypedExtensionConfig | null;
readonly auditLogger?: envoy.config.core.v3.TypedExtensionConfig | null;
/** When true a logger of an unknown type is skipped. */
readonly is_optional?: boolean | null;
/** When true a logger of an unknown type is skipped. */
readonly isOptional?: boolean | null;
}
}
}
}

export declare namespace envoy.config.route.v3 {
/** Condition on one header. */
interface HeaderMatcher {
readonly name?: string | null;
readonly exact_match?: string | null;
readonly exactMatch?: string | null;
readonly safe_regex_match?: envoy.type.matcher.v3.RegexMatcher | null;
readonly safeRegexMatch?: envoy.type.matcher.v3.RegexMatcher | null;
/** The value is an integer in this range. */
readonly range_match?: envoy.type.v3.Int64Range | null;
/** The value is an integer in this range. */
readonly rangeMatch?: envoy.type.v3.Int64Range | null;
/** The header is present, or absent when false. */
readonly present_match?: boolean | null;
/** The header is present, or absent when false. */
readonly presentMatch?: boolean | null;
readonly prefix_match?: string | null;
readonly prefixMatch?: string | null;
readonly suffix_match?: string | null;
readonly suffixMatch?: string | null;
readonly contains_match?: string | null;
readonly containsMatch?: string | null;
readonly string_match?: envoy.type.matcher.v3.StringMatcher | null;
readonly stringMatch?: envoy.type.matcher.v3.StringMatcher | null;
/** Negates the outcome. */
readonly invert_match?: boolean | null;
/** Negates the outcome. */
readonly invertMatch?: boolean | null;
readonly treat_missing_header_as_empty?: boolean | null;
readonly treatMissingHeaderAsEmpty?: boolean | null;
}
/** An extension that chooses the cluster. */
interface ClusterSpecifierPlugin {
readonly extension?: envoy.config.core.v3.TypedExtensionConfig | null;
/** When true an unknown plugin drops its routes instead of failing the resource. */
readonly is_optional?: boolean | null;
/** When true an unknown plugin drops its routes instead of failing the resource. */
readonly isOptional?: boolean | null;
}
/** Answers without a cluster; not supported by gRPC clients. */
interface DirectResponseAction extends Unread<'body' | 'body_format' | 'bodyFormat'> {
readonly status?: number | `${number}` | null;
}
/** Leaves the response to a filter; not supported by gRPC clients. */
interface FilterAction {
readonly action?: google.protobuf.Any | null;
}
/** Wraps a filter override. */
interface FilterConfig {
readonly config?: google.protobuf.Any | null;
/** When true an unknown override type is skipped instead of failing the resource. */
readonly is_optional?: boolean | null;
/** When true an unknown override type is skipped instead of failing the resource. */
readonly isOptional?: boolean | null;
readonly disabled?: boolean | null;
}
/** Lets a server handle the call itself; not supported by gRPC clients. */
interface NonForwardingAction {
}
/** Condition on a query parameter. */
interface QueryParameterMatcher {
readonly name?: string | null;
readonly string_match?: envoy.type.matcher.v3.StringMatcher | null;
readonly stringMatch?: envoy.type.matcher.v3.StringMatcher | null;
readonly present_match?: boolean | null;
readonly presentMatch?: boolean | null;
}
/** Answers with a redirect; not supported by gRPC clients. */
interface RedirectAction extends Unread<'host_redirect' | 'hostRedirect' | 'path_redirect' | 'pathRedirect' | 'response_code' | 'responseCode' | 'https_redirect' | 'httpsRedirect' | 'prefix_rewrite' | 'prefixRewrite' | 'strip_query' | 'stripQuery' | 'scheme_redirect' | 'schemeRedirect' | 'port_redirect' | 'portRedirect' | 'regex_rewrite' | 'regexRewrite'> {
}
/** When a failed call is tried again. */
interface RetryPolicy extends Unread<'per_try_timeout' | 'perTryTimeout' | 'retry_priority' | 'retryPriority' | 'retry_host_predicate' | 'retryHostPredicate' | 'host_selection_retry_max_attempts' | 'hostSelectionRetryMaxAttempts' | 'retriable_status_codes' | 'retriableStatusCodes' | 'retriable_headers' | 'retriableHeaders' | 'retriable_request_headers' | 'retriableRequestHeaders' | 'rate_limited_retry_back_off' | 'rateLimitedRetryBackOff' | 'retry_options_predicates' | 'retryOptionsPredicates' | 'per_try_idle_timeout' | 'perTryIdleTimeout' | 'refresh_cluster_on_retry' | 'refreshClusterOnRetry'> {
/** Conditions as a comma-separated list. */
readonly retry_on?: string | null;
/** Conditions as a comma-separated list. */
readonly retryOn?: string | null;
readonly num_retries?: number | `${number}` | null;
readonly numRetries?: number | `${number}` | null;
readonly retry_back_off?: envoy.config.route.v3.RetryPolicy.RetryBackOff | null;
readonly retryBackOff?: envoy.config.route.v3.RetryPolicy.RetryBackOff | null;
}
/** Conditions on a call; all must hold. */
interface RouteMatch extends Unread<'grpc' | 'tls_context' | 'tlsContext' | 'dynamic_metadata' | 'dynamicMetadata' | 'filter_state' | 'filterState' | 'cookies'> {
readonly prefix?: string | null;
readonly path?: string | null;
readonly safe_regex?: envoy.type.matcher.v3.RegexMatcher | null;
readonly safeRegex?: envoy.type.matcher.v3.RegexMatcher | null;
/** Not supported by gRPC clients. */
readonly connect_matcher?: envoy.config.route.v3.RouteMatch.ConnectMatcher | null;
/** Not supported by gRPC clients. */
readonly connectMatcher?: envoy.config.route.v3.RouteMatch.ConnectMatcher | null;
/** Not supported by gRPC clients. */
readonly path_separated_prefix?: string | null;
/** Not supported by gRPC clients. */
readonly pathSeparatedPrefix?: string | null;
/** Not supported by gRPC clients. */
readonly path_match_policy?: envoy.config.core.v3.TypedExtensionConfig | null;
/** Not supported by gRPC clients. */
readonly pathMatchPolicy?: envoy.config.core.v3.TypedExtensionConfig | null;
/** Applies to the path; absent means true. */
readonly case_sensitive?: boolean | null;
/** Applies to the path; absent means true. */
readonly caseSensitive?: boolean | null;
/** Share of the calls that may match. */
readonly runtime_fraction?: envoy.config.core.v3.RuntimeFractionalPercent | null;
/** Share of the calls that may match. */
readonly runtimeFraction?: envoy.config.core.v3.RuntimeFractionalPercent | null;
readonly headers?: readonly (envoy.config.route.v3.HeaderMatcher)[] | null;
/** A route with any of these is skipped by gRPC clients. */
readonly query_parameters?: readonly (envoy.config.route.v3.QueryParameterMatcher)[] | null;
/** A route with any of these is skipped by gRPC clients. */
readonly queryParameters?: readonly (envoy.config.route.v3.QueryParameterMatcher)[] | null;
}
/** Splits calls between clusters. */
interface WeightedCluster extends Unread<'runtime_key_prefix' | 'runtimeKeyPrefix' | 'header_name' | 'headerName' | 'use_hash_policy' | 'useHashPolicy'> {
readonly clusters?: readonly (envoy.config.route.v3.WeightedCluster.ClusterWeight)[] | null;
/** Replaced by the sum of the weights. */
readonly total_weight?: number | `${number}` | null;
/** Replaced by the sum of the weights. */
readonly totalWeight?: number | `${number}` | null;
}
/** Sends matching calls to a cluster. */
interface RouteAction extends Unread<'metadata_match' | 'metadataMatch' | 'prefix_rewrite' | 'prefixRewrite' | 'priority' | 'rate_limits' | 'rateLimits' | 'include_vh_rate_limits' | 'includeVhRateLimits' | 'cors' | 'cluster_not_found_response_code' | 'clusterNotFoundResponseCode' | 'max_grpc_timeout' | 'maxGrpcTimeout' | 'idle_timeout' | 'idleTimeout' | 'upgrade_configs' | 'upgradeConfigs' | 'internal_redirect_action' | 'internalRedirectAction' | 'hedge_policy' | 'hedgePolicy' | 'grpc_timeout_offset' | 'grpcTimeoutOffset' | 'host_rewrite_header' | 'hostRewriteHeader' | 'request_mirror_policies' | 'requestMirrorPolicies' | 'max_internal_redirects' | 'maxInternalRedirects' | 'regex_rewrite' | 'regexRewrite' | 'retry_policy_typed_config' | 'retryPolicyTypedConfig' | 'internal_redirect_policy' | 'internalRedirectPolicy' | 'host_rewrite_path_regex' | 'hostRewritePathRegex' | 'append_x_forwarded_host' | 'appendXForwardedHost' | 'early_data_policy' | 'earlyDataPolicy' | 'path_rewrite_policy' | 'pathRewritePolicy' | 'flush_timeout' | 'flushTimeout' | 'host_rewrite' | 'hostRewrite' | 'path_rewrite' | 'pathRewrite'> {
readonly cluster?: string | null;
/** Not supported by gRPC clients. */
readonly cluster_header?: string | null;
/** Not supported by gRPC clients. */
readonly clusterHeader?: string | null;
readonly weighted_clusters?: envoy.config.route.v3.WeightedCluster | null;
readonly weightedClusters?: envoy.config.route.v3.WeightedCluster | null;
/** Name of a plugin in the route configuration. */
readonly cluster_specifier_plugin?: string | null;
/** Name of a plugin in the route configuration. */
readonly clusterSpecifierPlugin?: string | null;
/** Not supported by gRPC clients. */
readonly inline_cluster_specifier_plugin?: envoy.config.route.v3.ClusterSpecifierPlugin | null;
/** Not supported by gRPC clients. */
readonly inlineClusterSpecifierPlugin?: envoy.config.route.v3.ClusterSpecifierPlugin | null;
readonly host_rewrite_literal?: string | null;
readonly hostRewriteLiteral?: string | null;
/** Sends the endpoint's host name as authority; honoured from trusted servers only. */
readonly auto_host_rewrite?: boolean | null;
/** Sends the endpoint's host name as authority; honoured from trusted servers only. */
readonly autoHostRewrite?: boolean | null;
/** Not read by gRPC clients. */
readonly timeout?: `${number}s` | null;
readonly retry_policy?: envoy.config.route.v3.RetryPolicy | null;
readonly retryPolicy?: envoy.config.route.v3.RetryPolicy | null;
readonly hash_policy?: readonly (envoy.config.route.v3.RouteAction.HashPolicy)[] | null;
readonly hashPolicy?: readonly (envoy.config.route.v3.RouteAction.HashPolicy)[] | null;
readonly max_stream_duration?: envoy.config.route.v3.RouteAction.MaxStreamDuration | null;
readonly maxStreamDuration?: envoy.config.route.v3.RouteAction.MaxStreamDuration | null;
}
/** What to do with calls that match. */
interface Route extends Unread<'decorator' | 'request_headers_to_add' | 'requestHeadersToAdd' | 'response_headers_to_add' | 'responseHeadersToAdd' | 'response_headers_to_remove' | 'responseHeadersToRemove' | 'request_headers_to_remove' | 'requestHeadersToRemove' | 'tracing' | 'per_request_buffer_limit_bytes' | 'perRequestBufferLimitBytes' | 'stat_prefix' | 'statPrefix' | 'request_body_buffer_limit' | 'requestBodyBufferLimit'> {
readonly name?: string | null;
readonly match?: envoy.config.route.v3.RouteMatch | null;
readonly route?: envoy.config.route.v3.RouteAction | null;
readonly redirect?: envoy.config.route.v3.RedirectAction | null;
readonly direct_response?: envoy.config.route.v3.DirectResponseAction | null;
readonly directResponse?: envoy.config.route.v3.DirectResponseAction | null;
readonly filter_action?: envoy.config.route.v3.FilterAction | null;
readonly filterAction?: envoy.config.route.v3.FilterAction | null;
readonly non_forwarding_action?: envoy.config.route.v3.NonForwardingAction | null;
readonly nonForwardingAction?: envoy.config.route.v3.NonForwardingAction | null;
readonly metadata?: envoy.config.core.v3.Metadata | null;
/** Filter overrides by filter instance name. */
readonly typed_per_filter_config?: { readonly [key: string]: google.protobuf.Any } | null;
/** Filter overrides by filter instance name. */
readonly typedPerFilterConfig?: { readonly [key: string]: google.protobuf.Any } | null;
}
/** Routes for a set of host names. */
interface VirtualHost extends Unread<'require_tls' | 'requireTls' | 'virtual_clusters' | 'virtualClusters' | 'rate_limits' | 'rateLimits' | 'request_headers_to_add' | 'requestHeadersToAdd' | 'cors' | 'response_headers_to_add' | 'responseHeadersToAdd' | 'response_headers_to_remove' | 'responseHeadersToRemove' | 'request_headers_to_remove' | 'requestHeadersToRemove' | 'include_request_attempt_count' | 'includeRequestAttemptCount' | 'hedge_policy' | 'hedgePolicy' | 'per_request_buffer_limit_bytes' | 'perRequestBufferLimitBytes' | 'include_attempt_count_in_response' | 'includeAttemptCountInResponse' | 'retry_policy_typed_config' | 'retryPolicyTypedConfig' | 'matcher' | 'request_mirror_policies' | 'requestMirrorPolicies' | 'include_is_timeout_retry_header' | 'includeIsTimeoutRetryHeader' | 'request_body_buffer_limit' | 'requestBodyBufferLimit'> {
readonly name?: string | null;
/** Exact names, or with a wildcard at one end. */
readonly domains?: readonly (string)[] | null;
/** Tried in order. */
readonly routes?: readonly (envoy.config.route.v3.Route)[] | null;
/** Filter overrides by filter instance name. */
readonly typed_per_filter_config?: { readonly [key: string]: google.protobuf.Any } | null;
/** Filter overrides by filter instance name. */
readonly typedPerFilterConfig?: { readonly [key: string]: google.protobuf.Any } | null;
/** For routes without a policy of their own. */
readonly retry_policy?: envoy.config.route.v3.RetryPolicy | null;
/** For routes without a policy of their own. */
readonly retryPolicy?: envoy.config.route.v3.RetryPolicy | null;
readonly metadata?: envoy.config.core.v3.Metadata | null;
}
/** A routing table: the RDS resource. */
interface RouteConfiguration extends Unread<'internal_only_headers' | 'internalOnlyHeaders' | 'response_headers_to_add' | 'responseHeadersToAdd' | 'response_headers_to_remove' | 'responseHeadersToRemove' | 'request_headers_to_add' | 'requestHeadersToAdd' | 'validate_clusters' | 'validateClusters' | 'request_headers_to_remove' | 'requestHeadersToRemove' | 'vhds' | 'most_specific_header_mutations_wins' | 'mostSpecificHeaderMutationsWins' | 'max_direct_response_body_size_bytes' | 'maxDirectResponseBodySizeBytes' | 'request_mirror_policies' | 'requestMirrorPolicies' | 'ignore_port_in_host_matching' | 'ignorePortInHostMatching' | 'ignore_path_parameters_in_path_matching' | 'ignorePathParametersInPathMatching' | 'vhost_header' | 'vhostHeader'> {
readonly name?: string | null;
readonly virtual_hosts?: readonly (envoy.config.route.v3.VirtualHost)[] | null;
readonly virtualHosts?: readonly (envoy.config.route.v3.VirtualHost)[] | null;
/** Plugins that routes may refer to by name. */
readonly cluster_specifier_plugins?: readonly (envoy.config.route.v3.ClusterSpecifierPlugin)[] | null;
/** Plugins that routes may refer to by name. */
readonly clusterSpecifierPlugins?: readonly (envoy.config.route.v3.ClusterSpecifierPlugin)[] | null;
/** Filter overrides by filter instance name; not read by gRPC at this level. */
readonly typed_per_filter_config?: { readonly [key: string]: google.protobuf.Any } | null;
/** Filter overrides by filter instance name; not read by gRPC at this level. */
readonly typedPerFilterConfig?: { readonly [key: string]: google.protobuf.Any } | null;
readonly metadata?: envoy.config.core.v3.Metadata | null;
}
namespace RetryPolicy {
/** Exponential delay between attempts. */
interface RetryBackOff {
readonly base_interval?: `${number}s` | null;
readonly baseInterval?: `${number}s` | null;
readonly max_interval?: `${number}s` | null;
readonly maxInterval?: `${number}s` | null;
}
}
namespace RouteAction {
/** One contribution to the hash of a call. */
interface HashPolicy {
readonly header?: envoy.config.route.v3.RouteAction.HashPolicy.Header | null;
/** Not supported by gRPC clients. */
readonly cookie?: envoy.config.route.v3.RouteAction.HashPolicy.Cookie | null;
/** Not supported by gRPC clients. */
readonly connection_properties?: envoy.config.route.v3.RouteAction.HashPolicy.ConnectionProperties | null;
/** Not supported by gRPC clients. */
readonly connectionProperties?: envoy.config.route.v3.RouteAction.HashPolicy.ConnectionProperties | null;
/** Not supported by gRPC clients. */
readonly query_parameter?: envoy.config.route.v3.RouteAction.HashPolicy.QueryParameter | null;
/** Not supported by gRPC clients. */
readonly queryParameter?: envoy.config.route.v3.RouteAction.HashPolicy.QueryParameter | null;
readonly filter_state?: envoy.config.route.v3.RouteAction.HashPolicy.FilterState | null;
readonly filterState?: envoy.config.route.v3.RouteAction.HashPolicy.FilterState | null;
/** Stop here when a hash exists. */
readonly terminal?: boolean | null;
}
/** Limits on the life of a call. */
interface MaxStreamDuration {
readonly max_stream_duration?: `${number}s` | null;
readonly maxStreamDuration?: `${number}s` | null;
/** Wins over max_stream_duration; zero means no limit beyond the caller's deadline. */
readonly grpc_timeout_header_max?: `${number}s` | null;
/** Wins over max_stream_duration; zero means no limit beyond the caller's deadline. */
readonly grpcTimeoutHeaderMax?: `${number}s` | null;
/** Not supported by gRPC clients. */
readonly grpc_timeout_header_offset?: `${number}s` | null;
/** Not supported by gRPC clients. */
readonly grpcTimeoutHeaderOffset?: `${number}s` | null;
}
namespace HashPolicy {
/** Hash of a header's value. */
interface Header {
readonly header_name?: string | null;
readonly headerName?: string | null;
/** Applied to the value before hashing. */
readonly regex_rewrite?: envoy.type.matcher.v3.RegexMatchAndSubstitute | null;
/** Applied to the value before hashing. */
readonly regexRewrite?: envoy.type.matcher.v3.RegexMatchAndSubstitute | null;
}
/** Hash of a cookie. */
interface Cookie extends Unread<'ttl' | 'path' | 'attributes'> {
readonly name?: string | null;
}
/** Hash of the connection. */
interface ConnectionProperties {
readonly source_ip?: boolean | null;
readonly sourceIp?: boolean | null;
}
/** Hash of a query parameter. */
interface QueryParameter {
readonly name?: string | null;
}
/** Hash of a value kept by the data plane. */
interface FilterState {
readonly key?: string | null;
}
}
}
namespace RouteMatch {
/** Matches the CONNECT method. */
interface ConnectMatcher {
}
}
namespace WeightedCluster {
/** One cluster and its share. */
interface ClusterWeight extends Unread<'request_headers_to_add' | 'requestHeadersToAdd' | 'response_headers_to_add' | 'responseHeadersToAdd' | 'response_headers_to_remove' | 'responseHeadersToRemove' | 'request_headers_to_remove' | 'requestHeadersToRemove' | 'host_rewrite_literal' | 'hostRewriteLiteral'> {
readonly name?: string | null;
/** Not supported by gRPC clients. */
readonly cluster_header?: string | null;
/** Not supported by gRPC clients. */
readonly clusterHeader?: string | null;
readonly weight?: number | `${number}` | null;
/** Not read by gRPC clients. */
readonly metadata_match?: envoy.config.core.v3.Metadata | null;
/** Not read by gRPC clients. */
readonly metadataMatch?: envoy.config.core.v3.Metadata | null;
/** Filter overrides by filter instance name. */
readonly typed_per_filter_config?: { readonly [key: string]: google.protobuf.Any } | null;
/** Filter overrides by filter instance name. */
readonly typedPerFilterConfig?: { readonly [key: string]: google.protobuf.Any } | null;
}
}
}

export declare namespace envoy.extensions.clusters.aggregate.v3 {
/** A cluster made of other clusters. */
interface ClusterConfig {
/** Names, preferred one first. */
readonly clusters?: readonly (string)[] | null;
}
}

export declare namespace envoy.extensions.common.matching.v3 {
/** Runs an extension with settings a matcher chooses. */
interface ExtensionWithMatcher extends Unread<'matcher'> {
readonly xds_matcher?: xds.type.matcher.v3.Matcher | null;
readonly xdsMatcher?: xds.type.matcher.v3.Matcher | null;
readonly extension_config?: envoy.config.core.v3.TypedExtensionConfig | null;
readonly extensionConfig?: envoy.config.core.v3.TypedExtensionConfig | null;
}
/** Replaces the matcher for a route. */
interface ExtensionWithMatcherPerRoute {
readonly xds_matcher?: xds.type.matcher.v3.Matcher | null;
readonly xdsMatcher?: xds.type.matcher.v3.Matcher | null;
}
}

export declare namespace envoy.extensions.filters.common.fault.v3 {
/** Holds a share of the calls back. */
interface FaultDelay {
readonly fixed_delay?: `${number}s` | null;
readonly fixedDelay?: `${number}s` | null;
readonly header_delay?: envoy.extensions.filters.common.fault.v3.FaultDelay.HeaderDelay | null;
readonly headerDelay?: envoy.extensions.filters.common.fault.v3.FaultDelay.HeaderDelay | null;
readonly percentage?: envoy.type.v3.FractionalPercent | null;
}
namespace FaultDelay {
/** The delay is taken from a request header. */
interface HeaderDelay {
}
}
}

export declare namespace envoy.extensions.filters.common.matcher.action.v3 {
/** Matcher action: leave the filter out for this call. */
interface SkipFilter {
}
}

export declare namespace envoy.extensions.filters.http.composite.v3 {
/** A filter that stands for others chosen by a matcher. */
interface Composite extends Unread<'named_filter_chains' | 'namedFilterChains'> {
}
/** A filter configuration fetched separately; not supported by gRPC clients. */
interface DynamicConfig extends Unread<'config_discovery' | 'configDiscovery'> {
readonly name?: string | null;
}
/** Filters in the order calls pass them. */
interface FilterChainConfiguration {
readonly typed_config?: readonly (envoy.config.core.v3.TypedExtensionConfig)[] | null;
readonly typedConfig?: readonly (envoy.config.core.v3.TypedExtensionConfig)[] | null;
}
/** Matcher action: run these filters. */
interface ExecuteFilterAction extends Unread<'filter_chain_name' | 'filterChainName'> {
readonly typed_config?: envoy.config.core.v3.TypedExtensionConfig | null;
readonly typedConfig?: envoy.config.core.v3.TypedExtensionConfig | null;
readonly dynamic_config?: envoy.extensions.filters.http.composite.v3.DynamicConfig | null;
readonly dynamicConfig?: envoy.extensions.filters.http.composite.v3.DynamicConfig | null;
/** Share of the matching calls for which the filters run; absent means all. */
readonly sample_percent?: envoy.config.core.v3.RuntimeFractionalPercent | null;
/** Share of the matching calls for which the filters run; absent means all. */
readonly samplePercent?: envoy.config.core.v3.RuntimeFractionalPercent | null;
/** Wins over typed_config. */
readonly filter_chain?: envoy.extensions.filters.http.composite.v3.FilterChainConfiguration | null;
/** Wins over typed_config. */
readonly filterChain?: envoy.extensions.filters.http.composite.v3.FilterChainConfiguration | null;
}
}

export declare namespace envoy.extensions.filters.http.fault.v3 {
/** Fails a share of the calls. */
interface FaultAbort {
readonly http_status?: number | `${number}` | null;
readonly httpStatus?: number | `${number}` | null;
readonly grpc_status?: number | `${number}` | null;
readonly grpcStatus?: number | `${number}` | null;
readonly header_abort?: envoy.extensions.filters.http.fault.v3.FaultAbort.HeaderAbort | null;
readonly headerAbort?: envoy.extensions.filters.http.fault.v3.FaultAbort.HeaderAbort | null;
readonly percentage?: envoy.type.v3.FractionalPercent | null;
}
/** Injects delays and failures. */
interface HTTPFault extends Unread<'upstream_cluster' | 'upstreamCluster' | 'headers' | 'downstream_nodes' | 'downstreamNodes' | 'response_rate_limit' | 'responseRateLimit' | 'delay_percent_runtime' | 'delayPercentRuntime' | 'abort_percent_runtime' | 'abortPercentRuntime' | 'delay_duration_runtime' | 'delayDurationRuntime' | 'abort_http_status_runtime' | 'abortHttpStatusRuntime' | 'max_active_faults_runtime' | 'maxActiveFaultsRuntime' | 'response_rate_limit_percent_runtime' | 'responseRateLimitPercentRuntime' | 'abort_grpc_status_runtime' | 'abortGrpcStatusRuntime' | 'disable_downstream_cluster_stats' | 'disableDownstreamClusterStats' | 'filter_metadata' | 'filterMetadata'> {
readonly delay?: envoy.extensions.filters.common.fault.v3.FaultDelay | null;
readonly abort?: envoy.extensions.filters.http.fault.v3.FaultAbort | null;
/** Limit on faults injected at the same time. */
readonly max_active_faults?: number | `${number}` | null;
/** Limit on faults injected at the same time. */
readonly maxActiveFaults?: number | `${number}` | null;
}
namespace FaultAbort {
/** The status is taken from a request header. */
interface HeaderAbort {
}
}
}

export declare namespace envoy.extensions.filters.http.gcp_authn.v3 {
/** Cluster metadata: for whom a token is made out. */
interface Audience {
readonly url?: string | null;
}
/** Size of the token cache. */
interface TokenCacheConfig {
/** Greater than zero; absent means 10. */
readonly cache_size?: number | `${number}` | null;
/** Greater than zero; absent means 10. */
readonly cacheSize?: number | `${number}` | null;
}
/** Adds identity tokens from the metadata server to calls. */
interface GcpAuthnFilterConfig extends Unread<'http_uri' | 'httpUri' | 'retry_policy' | 'retryPolicy' | 'token_header' | 'tokenHeader' | 'cluster' | 'timeout'> {
readonly cache_config?: envoy.extensions.filters.http.gcp_authn.v3.TokenCacheConfig | null;
readonly cacheConfig?: envoy.extensions.filters.http.gcp_authn.v3.TokenCacheConfig | null;
}
}

export declare namespace envoy.extensions.filters.http.rbac.v3 {
/** The filter that authorizes requests. */
interface RBAC extends Unread<'shadow_rules' | 'shadowRules' | 'shadow_rules_stat_prefix' | 'shadowRulesStatPrefix' | 'shadow_matcher' | 'shadowMatcher' | 'rules_stat_prefix' | 'rulesStatPrefix' | 'track_per_rule_stats' | 'trackPerRuleStats'> {
/** Absent means that every request is allowed. */
readonly rules?: envoy.config.rbac.v3.RBAC | null;
/** Rules in the form of a matching tree; not supported by gRPC. */
readonly matcher?: xds.type.matcher.v3.Matcher | null;
}
/** Replaces the config of the filter. */
interface RBACPerRoute {
/** Absent means that the filter does nothing. */
readonly rbac?: envoy.extensions.filters.http.rbac.v3.RBAC | null;
}
}

export declare namespace envoy.extensions.filters.http.router.v3 {
/** The filter that ends the chain. None of its settings is read. */
interface Router extends Unread<'dynamic_stats' | 'dynamicStats' | 'start_child_span' | 'startChildSpan' | 'upstream_log' | 'upstreamLog' | 'suppress_envoy_headers' | 'suppressEnvoyHeaders' | 'strict_check_headers' | 'strictCheckHeaders' | 'respect_expected_rq_timeout' | 'respectExpectedRqTimeout' | 'suppress_grpc_request_failure_code_stats' | 'suppressGrpcRequestFailureCodeStats' | 'upstream_http_filters' | 'upstreamHttpFilters' | 'upstream_log_options' | 'upstreamLogOptions' | 'reject_connect_request_early_data' | 'rejectConnectRequestEarlyData'> {
}
}

export declare namespace envoy.extensions.filters.http.stateful_session.v3 {
/** Keeps a session on its endpoint. */
interface StatefulSession extends Unread<'stat_prefix' | 'statPrefix'> {
/** How the session is carried. */
readonly session_state?: envoy.config.core.v3.TypedExtensionConfig | null;
/** How the session is carried. */
readonly sessionState?: envoy.config.core.v3.TypedExtensionConfig | null;
/** Not read by gRPC clients. */
readonly strict?: boolean | null;
}
/** Replaces the filter's settings for a route. */
interface StatefulSessionPerRoute {
readonly disabled?: boolean | null;
readonly stateful_session?: envoy.extensions.filters.http.stateful_session.v3.StatefulSession | null;
readonly statefulSession?: envoy.extensions.filters.http.stateful_session.v3.StatefulSession | null;
}
}

export declare namespace envoy.extensions.filters.network.http_connection_manager.v3 {
/** Points to a routing table. */
interface Rds {
readonly config_source?: envoy.config.core.v3.ConfigSource | null;
readonly configSource?: envoy.config.core.v3.ConfigSource | null;
readonly route_config_name?: string | null;
readonly routeConfigName?: string | null;
}
/** Chooses a routing table per request; present so that it can be recognised. */
interface ScopedRoutes extends Unread<'scope_key_builder' | 'scopeKeyBuilder' | 'rds_config_source' | 'rdsConfigSource' | 'scoped_route_configurations_list' | 'scopedRouteConfigurationsList' | 'scoped_rds' | 'scopedRds'> {
readonly name?: string | null;
}
/** One filter of the chain. */
interface HttpFilter {
/** Instance name, unique in the chain. */
readonly name?: string | null;
readonly typed_config?: google.protobuf.Any | null;
readonly typedConfig?: google.protobuf.Any | null;
/** Not supported by gRPC clients. */
readonly config_discovery?: envoy.config.core.v3.ExtensionConfigSource | null;
/** Not supported by gRPC clients. */
readonly configDiscovery?: envoy.config.core.v3.ExtensionConfigSource | null;
/** When true an unknown filter is skipped instead of failing the resource. */
readonly is_optional?: boolean | null;
/** When true an unknown filter is skipped instead of failing the resource. */
readonly isOptional?: boolean | null;
/** Off unless a route turns it on. */
readonly disabled?: boolean | null;
}
/** HTTP behaviour of a listener. */
interface HttpConnectionManager extends Unread<'codec_type' | 'codecType' | 'add_user_agent' | 'addUserAgent' | 'tracing' | 'http_protocol_options' | 'httpProtocolOptions' | 'http2_protocol_options' | 'http2ProtocolOptions' | 'server_name' | 'serverName' | 'drain_timeout' | 'drainTimeout' | 'access_log' | 'accessLog' | 'use_remote_address' | 'useRemoteAddress' | 'generate_request_id' | 'generateRequestId' | 'forward_client_cert_details' | 'forwardClientCertDetails' | 'set_current_client_cert_details' | 'setCurrentClientCertDetails' | 'proxy_100_continue' | 'proxy100Continue' | 'represent_ipv4_remote_address_as_ipv4_mapped_ipv6' | 'representIpv4RemoteAddressAsIpv4MappedIpv6' | 'skip_xff_append' | 'skipXffAppend' | 'via' | 'upgrade_configs' | 'upgradeConfigs' | 'stream_idle_timeout' | 'streamIdleTimeout' | 'internal_address_config' | 'internalAddressConfig' | 'delayed_close_timeout' | 'delayedCloseTimeout' | 'request_timeout' | 'requestTimeout' | 'max_request_headers_kb' | 'maxRequestHeadersKb' | 'normalize_path' | 'normalizePath' | 'preserve_external_request_id' | 'preserveExternalRequestId' | 'merge_slashes' | 'mergeSlashes' | 'server_header_transformation' | 'serverHeaderTransformation' | 'request_id_extension' | 'requestIdExtension' | 'always_set_request_id_in_response' | 'alwaysSetRequestIdInResponse' | 'local_reply_config' | 'localReplyConfig' | 'strip_matching_host_port' | 'stripMatchingHostPort' | 'stream_error_on_invalid_http_message' | 'streamErrorOnInvalidHttpMessage' | 'request_headers_timeout' | 'requestHeadersTimeout' | 'strip_any_host_port' | 'stripAnyHostPort' | 'path_normalization_options' | 'pathNormalizationOptions' | 'http3_protocol_options' | 'http3ProtocolOptions' | 'path_with_escaped_slashes_action' | 'pathWithEscapedSlashesAction' | 'strip_trailing_host_dot' | 'stripTrailingHostDot' | 'scheme_header_transformation' | 'schemeHeaderTransformation' | 'proxy_status_config' | 'proxyStatusConfig' | 'typed_header_validation_config' | 'typedHeaderValidationConfig' | 'append_x_forwarded_port' | 'appendXForwardedPort' | 'early_header_mutation_extensions' | 'earlyHeaderMutationExtensions' | 'add_proxy_protocol_connection_state' | 'addProxyProtocolConnectionState' | 'access_log_flush_interval' | 'accessLogFlushInterval' | 'flush_access_log_on_new_request' | 'flushAccessLogOnNewRequest' | 'access_log_options' | 'accessLogOptions' | 'append_local_overload' | 'appendLocalOverload' | 'http1_safe_max_connection_duration' | 'http1SafeMaxConnectionDuration' | 'stream_flush_timeout' | 'streamFlushTimeout' | 'forward_client_cert_matcher' | 'forwardClientCertMatcher' | 'forward_proto_config' | 'forwardProtoConfig'> {
/** Not read by gRPC clients. */
readonly stat_prefix?: string | null;
/** Not read by gRPC clients. */
readonly statPrefix?: string | null;
readonly rds?: envoy.extensions.filters.network.http_connection_manager.v3.Rds | null;
readonly route_config?: envoy.config.route.v3.RouteConfiguration | null;
readonly routeConfig?: envoy.config.route.v3.RouteConfiguration | null;
/** Not supported by gRPC clients. */
readonly scoped_routes?: envoy.extensions.filters.network.http_connection_manager.v3.ScopedRoutes | null;
/** Not supported by gRPC clients. */
readonly scopedRoutes?: envoy.extensions.filters.network.http_connection_manager.v3.ScopedRoutes | null;
/** In the order calls pass them; the router is last. */
readonly http_filters?: readonly (envoy.extensions.filters.network.http_connection_manager.v3.HttpFilter)[] | null;
/** In the order calls pass them; the router is last. */
readonly httpFilters?: readonly (envoy.extensions.filters.network.http_connection_manager.v3.HttpFilter)[] | null;
readonly common_http_protocol_options?: envoy.config.core.v3.HttpProtocolOptions | null;
readonly commonHttpProtocolOptions?: envoy.config.core.v3.HttpProtocolOptions | null;
/** Must be zero. */
readonly xff_num_trusted_hops?: number | `${number}` | null;
/** Must be zero. */
readonly xffNumTrustedHops?: number | `${number}` | null;
/** Must be empty. */
readonly original_ip_detection_extensions?: readonly (envoy.config.core.v3.TypedExtensionConfig)[] | null;
/** Must be empty. */
readonly originalIpDetectionExtensions?: readonly (envoy.config.core.v3.TypedExtensionConfig)[] | null;
}
}

export declare namespace envoy.extensions.http.stateful_session.cookie.v3 {
/** Carries the session in a cookie. */
interface CookieBasedSessionState {
readonly cookie?: envoy.type.http.v3.Cookie | null;
}
}

export declare namespace envoy.extensions.load_balancing_policies.client_side_weighted_round_robin.v3 {
/** Round robin weighted by the load backends report. */
interface ClientSideWeightedRoundRobin {
/** Use reports from a stream of their own instead of those on calls. */
readonly enable_oob_load_report?: boolean | null;
/** Use reports from a stream of their own instead of those on calls. */
readonly enableOobLoadReport?: boolean | null;
/** Default 10 s. */
readonly oob_reporting_period?: `${number}s` | null;
/** Default 10 s. */
readonly oobReportingPeriod?: `${number}s` | null;
/** How long new weights are not trusted. Default 10 s. */
readonly blackout_period?: `${number}s` | null;
/** How long new weights are not trusted. Default 10 s. */
readonly blackoutPeriod?: `${number}s` | null;
/** When a weight is too old to use. Default 3 min. */
readonly weight_expiration_period?: `${number}s` | null;
/** When a weight is too old to use. Default 3 min. */
readonly weightExpirationPeriod?: `${number}s` | null;
/** How often weights are applied. Default 1 s, at least 100 ms. */
readonly weight_update_period?: `${number}s` | null;
/** How often weights are applied. Default 1 s, at least 100 ms. */
readonly weightUpdatePeriod?: `${number}s` | null;
/** How much errors count as load. Default 1.0, not negative. */
readonly error_utilization_penalty?: number | `${number}` | 'NaN' | 'Infinity' | '-Infinity' | null;
/** How much errors count as load. Default 1.0, not negative. */
readonly errorUtilizationPenalty?: number | `${number}` | 'NaN' | 'Infinity' | '-Infinity' | null;
/** Metrics that measure utilization. */
readonly metric_names_for_computing_utilization?: readonly (string)[] | null;
/** Metrics that measure utilization. */
readonly metricNamesForComputingUtilization?: readonly (string)[] | null;
/** Treatment of new endpoints. */
readonly slow_start_config?: envoy.extensions.load_balancing_policies.common.v3.SlowStartConfig | null;
/** Treatment of new endpoints. */
readonly slowStartConfig?: envoy.extensions.load_balancing_policies.common.v3.SlowStartConfig | null;
}
}

export declare namespace envoy.extensions.load_balancing_policies.common.v3 {
/** Raises the traffic to a new endpoint step by step. */
interface SlowStartConfig {
/** Time until an endpoint gets its full share. */
readonly slow_start_window?: `${number}s` | null;
/** Time until an endpoint gets its full share. */
readonly slowStartWindow?: `${number}s` | null;
/** Shape of the rise; 1.0 is linear. */
readonly aggression?: envoy.config.core.v3.RuntimeDouble | null;
/** Share of the weight a new endpoint starts with. */
readonly min_weight_percent?: envoy.type.v3.Percent | null;
/** Share of the weight a new endpoint starts with. */
readonly minWeightPercent?: envoy.type.v3.Percent | null;
}
/** Settings common to hashing policies. */
interface ConsistentHashingLbConfig extends Unread<'hash_policy' | 'hashPolicy'> {
readonly use_hostname_for_hashing?: boolean | null;
readonly useHostnameForHashing?: boolean | null;
readonly hash_balance_factor?: number | `${number}` | null;
readonly hashBalanceFactor?: number | `${number}` | null;
}
/** How localities are balanced. */
interface LocalityLbConfig {
readonly zone_aware_lb_config?: envoy.extensions.load_balancing_policies.common.v3.LocalityLbConfig.ZoneAwareLbConfig | null;
readonly zoneAwareLbConfig?: envoy.extensions.load_balancing_policies.common.v3.LocalityLbConfig.ZoneAwareLbConfig | null;
readonly locality_weighted_lb_config?: envoy.extensions.load_balancing_policies.common.v3.LocalityLbConfig.LocalityWeightedLbConfig | null;
readonly localityWeightedLbConfig?: envoy.extensions.load_balancing_policies.common.v3.LocalityLbConfig.LocalityWeightedLbConfig | null;
}
namespace LocalityLbConfig {
/** Prefer the client's own zone; not read by gRPC clients. */
interface ZoneAwareLbConfig extends Unread<'routing_enabled' | 'routingEnabled' | 'min_cluster_size' | 'minClusterSize' | 'fail_traffic_on_panic' | 'failTrafficOnPanic' | 'force_locality_direct_routing' | 'forceLocalityDirectRouting' | 'force_local_zone' | 'forceLocalZone' | 'locality_basis' | 'localityBasis'> {
}
/** Balance by locality weight. */
interface LocalityWeightedLbConfig {
}
}
}

export declare namespace envoy.extensions.load_balancing_policies.least_request.v3 {
/** The least busy of a few random endpoints. */
interface LeastRequest extends Unread<'enable_full_scan' | 'enableFullScan' | 'selection_method' | 'selectionMethod'> {
/** How many endpoints are compared per pick. */
readonly choice_count?: number | `${number}` | null;
/** How many endpoints are compared per pick. */
readonly choiceCount?: number | `${number}` | null;
/** Not read by gRPC clients. */
readonly active_request_bias?: envoy.config.core.v3.RuntimeDouble | null;
/** Not read by gRPC clients. */
readonly activeRequestBias?: envoy.config.core.v3.RuntimeDouble | null;
/** Not read by gRPC clients. */
readonly slow_start_config?: envoy.extensions.load_balancing_policies.common.v3.SlowStartConfig | null;
/** Not read by gRPC clients. */
readonly slowStartConfig?: envoy.extensions.load_balancing_policies.common.v3.SlowStartConfig | null;
/** Not read by gRPC clients. */
readonly locality_lb_config?: envoy.extensions.load_balancing_policies.common.v3.LocalityLbConfig | null;
/** Not read by gRPC clients. */
readonly localityLbConfig?: envoy.extensions.load_balancing_policies.common.v3.LocalityLbConfig | null;
}
}

export declare namespace envoy.extensions.load_balancing_policies.pick_first.v3 {
/** One endpoint for all calls. */
interface PickFirst {
readonly shuffle_address_list?: boolean | null;
readonly shuffleAddressList?: boolean | null;
}
}

export declare namespace envoy.extensions.load_balancing_policies.random_subsetting.v3 {
/** A stable random subset of the endpoints, balanced by a child policy. */
interface RandomSubsetting {
/** Greater than zero. */
readonly subset_size?: number | `${number}` | null;
/** Greater than zero. */
readonly subsetSize?: number | `${number}` | null;
/** Required. */
readonly child_policy?: envoy.config.cluster.v3.LoadBalancingPolicy | null;
/** Required. */
readonly childPolicy?: envoy.config.cluster.v3.LoadBalancingPolicy | null;
}
}

export declare namespace envoy.extensions.load_balancing_policies.ring_hash.v3 {
/** The same hash goes to the same endpoint. */
interface RingHash {
readonly hash_function?: envoy.extensions.load_balancing_policies.ring_hash.v3.RingHash.HashFunction | null;
readonly hashFunction?: envoy.extensions.load_balancing_policies.ring_hash.v3.RingHash.HashFunction | null;
readonly minimum_ring_size?: number | `${number}` | null;
readonly minimumRingSize?: number | `${number}` | null;
readonly maximum_ring_size?: number | `${number}` | null;
readonly maximumRingSize?: number | `${number}` | null;
/** Not read by gRPC clients. */
readonly use_hostname_for_hashing?: boolean | null;
/** Not read by gRPC clients. */
readonly useHostnameForHashing?: boolean | null;
/** Not read by gRPC clients. */
readonly hash_balance_factor?: number | `${number}` | null;
/** Not read by gRPC clients. */
readonly hashBalanceFactor?: number | `${number}` | null;
/** Not read by gRPC clients. */
readonly consistent_hashing_lb_config?: envoy.extensions.load_balancing_policies.common.v3.ConsistentHashingLbConfig | null;
/** Not read by gRPC clients. */
readonly consistentHashingLbConfig?: envoy.extensions.load_balancing_policies.common.v3.ConsistentHashingLbConfig | null;
/** Not read by gRPC clients. */
readonly locality_weighted_lb_config?: envoy.extensions.load_balancing_policies.common.v3.LocalityLbConfig.LocalityWeightedLbConfig | null;
/** Not read by gRPC clients. */
readonly localityWeightedLbConfig?: envoy.extensions.load_balancing_policies.common.v3.LocalityLbConfig.LocalityWeightedLbConfig | null;
}
namespace RingHash {
/** Hash that places endpoints on the ring. */
type HashFunction = 'DEFAULT_HASH' | 'XX_HASH' | 'MURMUR_HASH_2' | number;
}
}

export declare namespace envoy.extensions.load_balancing_policies.round_robin.v3 {
/** Endpoints in turn. */
interface RoundRobin {
/** Not read by gRPC clients. */
readonly slow_start_config?: envoy.extensions.load_balancing_policies.common.v3.SlowStartConfig | null;
/** Not read by gRPC clients. */
readonly slowStartConfig?: envoy.extensions.load_balancing_policies.common.v3.SlowStartConfig | null;
/** Not read by gRPC clients. */
readonly locality_lb_config?: envoy.extensions.load_balancing_policies.common.v3.LocalityLbConfig | null;
/** Not read by gRPC clients. */
readonly localityLbConfig?: envoy.extensions.load_balancing_policies.common.v3.LocalityLbConfig | null;
}
}

export declare namespace envoy.extensions.load_balancing_policies.wrr_locality.v3 {
/** Localities by weight, then a child policy inside each. */
interface WrrLocality {
readonly endpoint_picking_policy?: envoy.config.cluster.v3.LoadBalancingPolicy | null;
readonly endpointPickingPolicy?: envoy.config.cluster.v3.LoadBalancingPolicy | null;
}
}

export declare namespace envoy.extensions.rbac.audit_loggers.stream.v3 {
/** Writes each decision to the standard output. */
interface StdoutAuditLog {
}
}

export declare namespace envoy.extensions.transport_sockets.http_11_proxy.v3 {
/** Connects through an HTTP CONNECT proxy named in endpoint metadata. */
interface Http11ProxyUpstreamTransport {
/** What runs inside the tunnel. */
readonly transport_socket?: envoy.config.core.v3.TransportSocket | null;
/** What runs inside the tunnel. */
readonly transportSocket?: envoy.config.core.v3.TransportSocket | null;
}
}

export declare namespace envoy.extensions.transport_sockets.tls.v3 {
/** Points to a certificate provider of the bootstrap. */
interface CertificateProviderPluginInstance {
readonly instance_name?: string | null;
readonly instanceName?: string | null;
/** Meaning depends on the provider. */
readonly certificate_name?: string | null;
/** Meaning depends on the provider. */
readonly certificateName?: string | null;
}
/** Condition on one kind of subject alternative name. */
interface SubjectAltNameMatcher extends Unread<'oid'> {
readonly san_type?: envoy.extensions.transport_sockets.tls.v3.SubjectAltNameMatcher.SanType | null;
readonly sanType?: envoy.extensions.transport_sockets.tls.v3.SubjectAltNameMatcher.SanType | null;
readonly matcher?: envoy.type.matcher.v3.StringMatcher | null;
}
/** How the peer's certificate is checked. */
interface CertificateValidationContext extends Unread<'allow_expired_certificate' | 'allowExpiredCertificate' | 'trust_chain_verification' | 'trustChainVerification' | 'watched_directory' | 'watchedDirectory' | 'only_verify_leaf_cert_crl' | 'onlyVerifyLeafCertCrl'> {
/** Read in a secret only. */
readonly trusted_ca?: envoy.config.core.v3.DataSource | null;
/** Read in a secret only. */
readonly trustedCa?: envoy.config.core.v3.DataSource | null;
readonly ca_certificate_provider_instance?: envoy.extensions.transport_sockets.tls.v3.CertificateProviderPluginInstance | null;
readonly caCertificateProviderInstance?: envoy.extensions.transport_sockets.tls.v3.CertificateProviderPluginInstance | null;
/** Trust the roots of the system when no provider is named. */
readonly system_root_certs?: envoy.extensions.transport_sockets.tls.v3.CertificateValidationContext.SystemRootCerts | null;
/** Trust the roots of the system when no provider is named. */
readonly systemRootCerts?: envoy.extensions.transport_sockets.tls.v3.CertificateValidationContext.SystemRootCerts | null;
readonly verify_certificate_spki?: readonly (string)[] | null;
readonly verifyCertificateSpki?: readonly (string)[] | null;
readonly verify_certificate_hash?: readonly (string)[] | null;
readonly verifyCertificateHash?: readonly (string)[] | null;
readonly match_typed_subject_alt_names?: readonly (envoy.extensions.transport_sockets.tls.v3.SubjectAltNameMatcher)[] | null;
readonly matchTypedSubjectAltNames?: readonly (envoy.extensions.transport_sockets.tls.v3.SubjectAltNameMatcher)[] | null;
/** One of these must match a name in the certificate; empty means no check. */
readonly match_subject_alt_names?: readonly (envoy.type.matcher.v3.StringMatcher)[] | null;
/** One of these must match a name in the certificate; empty means no check. */
readonly matchSubjectAltNames?: readonly (envoy.type.matcher.v3.StringMatcher)[] | null;
readonly require_signed_certificate_timestamp?: boolean | null;
readonly requireSignedCertificateTimestamp?: boolean | null;
readonly crl?: envoy.config.core.v3.DataSource | null;
/** Longest chain accepted; its presence is an error for this client. */
readonly max_verify_depth?: number | `${number}` | null;
/** Longest chain accepted; its presence is an error for this client. */
readonly maxVerifyDepth?: number | `${number}` | null;
readonly custom_validator_config?: envoy.config.core.v3.TypedExtensionConfig | null;
readonly customValidatorConfig?: envoy.config.core.v3.TypedExtensionConfig | null;
}
/** Protocol versions and ciphers; its presence is an error for gRPC clients. */
interface TlsParameters extends Unread<'tls_minimum_protocol_version' | 'tlsMinimumProtocolVersion' | 'tls_maximum_protocol_version' | 'tlsMaximumProtocolVersion' | 'cipher_suites' | 'cipherSuites' | 'ecdh_curves' | 'ecdhCurves' | 'signature_algorithms' | 'signatureAlgorithms' | 'compliance_policies' | 'compliancePolicies'> {
}
/** A certificate and its key. In a secret, each is PEM; elsewhere its presence is an error for gRPC clients. */
interface TlsCertificate extends Unread<'password' | 'ocsp_staple' | 'ocspStaple' | 'signed_certificate_timestamp' | 'signedCertificateTimestamp' | 'private_key_provider' | 'privateKeyProvider' | 'watched_directory' | 'watchedDirectory' | 'pkcs12'> {
readonly certificate_chain?: envoy.config.core.v3.DataSource | null;
readonly certificateChain?: envoy.config.core.v3.DataSource | null;
readonly private_key?: envoy.config.core.v3.DataSource | null;
readonly privateKey?: envoy.config.core.v3.DataSource | null;
}
/** Points to a secret fetched separately; its presence is an error for gRPC clients. */
interface SdsSecretConfig extends Unread<'sds_config' | 'sdsConfig'> {
readonly name?: string | null;
}
/** TLS settings of clients and servers. */
interface CommonTlsContext extends Unread<'tls_certificate_certificate_provider' | 'tlsCertificateCertificateProvider' | 'validation_context_certificate_provider' | 'validationContextCertificateProvider' | 'key_log' | 'keyLog' | 'custom_tls_certificate_selector' | 'customTlsCertificateSelector'> {
readonly tls_params?: envoy.extensions.transport_sockets.tls.v3.TlsParameters | null;
readonly tlsParams?: envoy.extensions.transport_sockets.tls.v3.TlsParameters | null;
readonly tls_certificates?: readonly (envoy.extensions.transport_sockets.tls.v3.TlsCertificate)[] | null;
readonly tlsCertificates?: readonly (envoy.extensions.transport_sockets.tls.v3.TlsCertificate)[] | null;
readonly tls_certificate_sds_secret_configs?: readonly (envoy.extensions.transport_sockets.tls.v3.SdsSecretConfig)[] | null;
readonly tlsCertificateSdsSecretConfigs?: readonly (envoy.extensions.transport_sockets.tls.v3.SdsSecretConfig)[] | null;
/** Where the client's own certificate comes from. */
readonly tls_certificate_provider_instance?: envoy.extensions.transport_sockets.tls.v3.CertificateProviderPluginInstance | null;
/** Where the client's own certificate comes from. */
readonly tlsCertificateProviderInstance?: envoy.extensions.transport_sockets.tls.v3.CertificateProviderPluginInstance | null;
/** Older form of tls_certificate_provider_instance. */
readonly tls_certificate_certificate_provider_instance?: envoy.extensions.transport_sockets.tls.v3.CommonTlsContext.CertificateProviderInstance | null;
/** Older form of tls_certificate_provider_instance. */
readonly tlsCertificateCertificateProviderInstance?: envoy.extensions.transport_sockets.tls.v3.CommonTlsContext.CertificateProviderInstance | null;
readonly validation_context?: envoy.extensions.transport_sockets.tls.v3.CertificateValidationContext | null;
readonly validationContext?: envoy.extensions.transport_sockets.tls.v3.CertificateValidationContext | null;
readonly validation_context_sds_secret_config?: envoy.extensions.transport_sockets.tls.v3.SdsSecretConfig | null;
readonly validationContextSdsSecretConfig?: envoy.extensions.transport_sockets.tls.v3.SdsSecretConfig | null;
readonly combined_validation_context?: envoy.extensions.transport_sockets.tls.v3.CommonTlsContext.CombinedCertificateValidationContext | null;
readonly combinedValidationContext?: envoy.extensions.transport_sockets.tls.v3.CommonTlsContext.CombinedCertificateValidationContext | null;
/** Older form of the provider in the validation context. */
readonly validation_context_certificate_provider_instance?: envoy.extensions.transport_sockets.tls.v3.CommonTlsContext.CertificateProviderInstance | null;
/** Older form of the provider in the validation context. */
readonly validationContextCertificateProviderInstance?: envoy.extensions.transport_sockets.tls.v3.CommonTlsContext.CertificateProviderInstance | null;
/** Not read by gRPC clients. */
readonly alpn_protocols?: readonly (string)[] | null;
/** Not read by gRPC clients. */
readonly alpnProtocols?: readonly (string)[] | null;
readonly custom_handshaker?: envoy.config.core.v3.TypedExtensionConfig | null;
readonly customHandshaker?: envoy.config.core.v3.TypedExtensionConfig | null;
}
/** TLS for connections to a server. */
interface DownstreamTlsContext extends Unread<'session_ticket_keys' | 'sessionTicketKeys' | 'session_ticket_keys_sds_secret_config' | 'sessionTicketKeysSdsSecretConfig' | 'session_timeout' | 'sessionTimeout' | 'disable_stateless_session_resumption' | 'disableStatelessSessionResumption' | 'full_scan_certs_on_sni_mismatch' | 'fullScanCertsOnSniMismatch' | 'disable_stateful_session_resumption' | 'disableStatefulSessionResumption' | 'prefer_client_ciphers' | 'preferClientCiphers'> {
readonly common_tls_context?: envoy.extensions.transport_sockets.tls.v3.CommonTlsContext | null;
readonly commonTlsContext?: envoy.extensions.transport_sockets.tls.v3.CommonTlsContext | null;
/** Clients must present a certificate. */
readonly require_client_certificate?: boolean | null;
/** Clients must present a certificate. */
readonly requireClientCertificate?: boolean | null;
/** Must not be true. */
readonly require_sni?: boolean | null;
/** Must not be true. */
readonly requireSni?: boolean | null;
/** Must be LENIENT_STAPLING. */
readonly ocsp_staple_policy?: envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext.OcspStaplePolicy | null;
/** Must be LENIENT_STAPLING. */
readonly ocspStaplePolicy?: envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext.OcspStaplePolicy | null;
}
/** A secret for other purposes than TLS; its presence is an error for this client. */
interface GenericSecret extends Unread<'secret' | 'secrets'> {
}
/** Trusts authorities for the identities of one trust domain each. */
interface SPIFFECertValidatorConfig extends Unread<'trust_bundles' | 'trustBundles'> {
readonly trust_domains?: readonly (envoy.extensions.transport_sockets.tls.v3.SPIFFECertValidatorConfig.TrustDomain)[] | null;
readonly trustDomains?: readonly (envoy.extensions.transport_sockets.tls.v3.SPIFFECertValidatorConfig.TrustDomain)[] | null;
}
/** Keys of a server that resumes sessions; its presence is an error for this client. */
interface TlsSessionTicketKeys extends Unread<'keys'> {
}
/** A certificate with its key, or certificates to trust, from a secret discovery service. */
interface Secret {
readonly name?: string | null;
readonly tls_certificate?: envoy.extensions.transport_sockets.tls.v3.TlsCertificate | null;
readonly tlsCertificate?: envoy.extensions.transport_sockets.tls.v3.TlsCertificate | null;
readonly session_ticket_keys?: envoy.extensions.transport_sockets.tls.v3.TlsSessionTicketKeys | null;
readonly sessionTicketKeys?: envoy.extensions.transport_sockets.tls.v3.TlsSessionTicketKeys | null;
readonly validation_context?: envoy.extensions.transport_sockets.tls.v3.CertificateValidationContext | null;
readonly validationContext?: envoy.extensions.transport_sockets.tls.v3.CertificateValidationContext | null;
readonly generic_secret?: envoy.extensions.transport_sockets.tls.v3.GenericSecret | null;
readonly genericSecret?: envoy.extensions.transport_sockets.tls.v3.GenericSecret | null;
}
/** TLS for connections to a cluster. */
interface UpstreamTlsContext extends Unread<'allow_renegotiation' | 'allowRenegotiation' | 'max_session_keys' | 'maxSessionKeys' | 'enforce_rsa_key_usage' | 'enforceRsaKeyUsage'> {
readonly common_tls_context?: envoy.extensions.transport_sockets.tls.v3.CommonTlsContext | null;
readonly commonTlsContext?: envoy.extensions.transport_sockets.tls.v3.CommonTlsContext | null;
/** Server name to send; at most 255 characters. */
readonly sni?: string | null;
/** Send the endpoint's host name as server name when it is known. */
readonly auto_host_sni?: boolean | null;
/** Send the endpoint's host name as server name when it is known. */
readonly autoHostSni?: boolean | null;
/** Check the certificate against the server name that was sent. */
readonly auto_sni_san_validation?: boolean | null;
/** Check the certificate against the server name that was sent. */
readonly autoSniSanValidation?: boolean | null;
}
namespace CertificateValidationContext {
/** Marks the use of system roots. */
interface SystemRootCerts {
}
}
namespace CommonTlsContext {
/** Older form of CertificateProviderPluginInstance. */
interface CertificateProviderInstance {
readonly instance_name?: string | null;
readonly instanceName?: string | null;
readonly certificate_name?: string | null;
readonly certificateName?: string | null;
}
/** Validation settings partly fetched separately; gRPC reads the default part. */
interface CombinedCertificateValidationContext extends Unread<'validation_context_certificate_provider' | 'validationContextCertificateProvider'> {
readonly default_validation_context?: envoy.extensions.transport_sockets.tls.v3.CertificateValidationContext | null;
readonly defaultValidationContext?: envoy.extensions.transport_sockets.tls.v3.CertificateValidationContext | null;
readonly validation_context_sds_secret_config?: envoy.extensions.transport_sockets.tls.v3.SdsSecretConfig | null;
readonly validationContextSdsSecretConfig?: envoy.extensions.transport_sockets.tls.v3.SdsSecretConfig | null;
/** Older form of the provider in the validation context. */
readonly validation_context_certificate_provider_instance?: envoy.extensions.transport_sockets.tls.v3.CommonTlsContext.CertificateProviderInstance | null;
/** Older form of the provider in the validation context. */
readonly validationContextCertificateProviderInstance?: envoy.extensions.transport_sockets.tls.v3.CommonTlsContext.CertificateProviderInstance | null;
}
}
namespace DownstreamTlsContext {
/** Whether certificates are checked for revocation by stapled responses. */
type OcspStaplePolicy = 'LENIENT_STAPLING' | 'STRICT_STAPLING' | 'MUST_STAPLE' | number;
}
namespace SPIFFECertValidatorConfig {
/** The authorities of one trust domain. */
interface TrustDomain {
/** Without "spiffe://". */
readonly name?: string | null;
readonly trust_bundle?: envoy.config.core.v3.DataSource | null;
readonly trustBundle?: envoy.config.core.v3.DataSource | null;
}
}
namespace SubjectAltNameMatcher {
/** Kind of name. */
type SanType = 'SAN_TYPE_UNSPECIFIED' | 'EMAIL' | 'DNS' | 'URI' | 'IP_ADDRESS' | 'OTHER_NAME' | number;
}
}

export declare namespace envoy.extensions.upstreams.http.v3 {
/** HTTP settings for connections to a cluster. */
interface HttpProtocolOptions extends Unread<'upstream_http_protocol_options' | 'upstreamHttpProtocolOptions' | 'explicit_http_config' | 'explicitHttpConfig' | 'use_downstream_protocol_config' | 'useDownstreamProtocolConfig' | 'auto_config' | 'autoConfig' | 'http_filters' | 'httpFilters' | 'header_validation_config' | 'headerValidationConfig' | 'outlier_detection' | 'outlierDetection' | 'request_mirror_policies' | 'requestMirrorPolicies' | 'hash_policy' | 'hashPolicy' | 'retry_policy' | 'retryPolicy'> {
readonly common_http_protocol_options?: envoy.config.core.v3.HttpProtocolOptions | null;
readonly commonHttpProtocolOptions?: envoy.config.core.v3.HttpProtocolOptions | null;
}
}

export declare namespace envoy.service.discovery.v3 {
/** Names a resource. */
interface ResourceName {
readonly name?: string | null;
}
/** A resource with its name and version. */
interface Resource {
readonly name?: string | null;
readonly resource_name?: envoy.service.discovery.v3.ResourceName | null;
readonly resourceName?: envoy.service.discovery.v3.ResourceName | null;
readonly aliases?: readonly (string)[] | null;
readonly version?: string | null;
/** Absent in a heartbeat that only renews the ttl. */
readonly resource?: google.protobuf.Any | null;
/** When the client must forget the resource unless it is renewed. */
readonly ttl?: `${number}s` | null;
}
}

export declare namespace envoy.type.http.v3 {
/** A cookie the client hands out and later recognises. */
interface Cookie extends Unread<'attributes'> {
/** Must not be empty. */
readonly name?: string | null;
/** Lifetime told to the receiver; zero asks for a session cookie. */
readonly ttl?: `${number}s` | null;
/** Request path for which the cookie counts; empty means all. */
readonly path?: string | null;
}
}

export declare namespace envoy.type.matcher.v3 {
/** A regular expression in RE2 syntax that must match the whole text. */
interface RegexMatcher {
/** Engine choice; only the default engine exists. */
readonly google_re2?: envoy.type.matcher.v3.RegexMatcher.GoogleRE2 | null;
/** Engine choice; only the default engine exists. */
readonly googleRe2?: envoy.type.matcher.v3.RegexMatcher.GoogleRE2 | null;
/** The expression. */
readonly regex?: string | null;
}
/** One way to compare a text. */
interface StringMatcher {
/** The text equals this. */
readonly exact?: string | null;
/** The text starts with this. */
readonly prefix?: string | null;
/** The text ends with this. */
readonly suffix?: string | null;
/** The expression matches the whole text. */
readonly safe_regex?: envoy.type.matcher.v3.RegexMatcher | null;
/** The expression matches the whole text. */
readonly safeRegex?: envoy.type.matcher.v3.RegexMatcher | null;
/** This occurs in the text. */
readonly contains?: string | null;
/** Comparison done by an extension. */
readonly custom?: xds.core.v3.TypedExtensionConfig | null;
/** Compare without regard to case; has no effect on safe_regex. */
readonly ignore_case?: boolean | null;
/** Compare without regard to case; has no effect on safe_regex. */
readonly ignoreCase?: boolean | null;
}
/** Condition on the path of a request. */
interface PathMatcher {
readonly path?: envoy.type.matcher.v3.StringMatcher | null;
}
/** Condition on metadata that other filters of Envoy add to a request. */
interface MetadataMatcher extends Unread<'filter' | 'path' | 'value'> {
/** Negates the outcome. */
readonly invert?: boolean | null;
}
/** Condition on state that other filters of Envoy keep of a request. */
interface FilterStateMatcher extends Unread<'string_match' | 'stringMatch' | 'address_match' | 'addressMatch'> {
readonly key?: string | null;
}
/** Replaces every match of a pattern. */
interface RegexMatchAndSubstitute {
/** What to look for; here a partial match is enough. */
readonly pattern?: envoy.type.matcher.v3.RegexMatcher | null;
/** Replacement text; \\N refers to capture group N. */
readonly substitution?: string | null;
}
/** Matcher input: the value of one request header. */
interface HttpRequestHeaderMatchInput {
readonly header_name?: string | null;
readonly headerName?: string | null;
}
/** Several string matchers; one hit is enough. */
interface ListStringMatcher {
readonly patterns?: readonly (envoy.type.matcher.v3.StringMatcher)[] | null;
}
/** Condition on a client; present so that it can be recognised. */
interface NodeMatcher {
}
namespace RegexMatcher {
/** Marks the RE2 engine. Its size limit is ignored and left out here. */
interface GoogleRE2 extends Unread<'max_program_size' | 'maxProgramSize'> {
}
}
}

export declare namespace envoy.type.v3 {
/** A share given as numerator over a fixed denominator. */
interface FractionalPercent {
readonly numerator?: number | `${number}` | null;
/** Defaults to HUNDRED. */
readonly denominator?: envoy.type.v3.FractionalPercent.DenominatorType | null;
}
/** A version of software. */
interface SemanticVersion {
readonly major_number?: number | `${number}` | null;
readonly majorNumber?: number | `${number}` | null;
readonly minor_number?: number | `${number}` | null;
readonly minorNumber?: number | `${number}` | null;
readonly patch?: number | `${number}` | null;
}
/** Half-open range of integers. */
interface Int64Range {
/** First member. */
readonly start?: number | `${number}` | null;
/** First number past the range. */
readonly end?: number | `${number}` | null;
}
/** Half-open range of integers. */
interface Int32Range {
/** First member. */
readonly start?: number | `${number}` | null;
/** First number past the range. */
readonly end?: number | `${number}` | null;
}
/** A percentage as a floating-point number. */
interface Percent {
/** 0 to 100. */
readonly value?: number | `${number}` | 'NaN' | 'Infinity' | '-Infinity' | null;
}
namespace FractionalPercent {
/** Size of the whole. */
type DenominatorType = 'HUNDRED' | 'TEN_THOUSAND' | 'MILLION' | number;
}
}

export declare namespace google.api.expr.v1alpha1 {
/** An expression; gRPC does not evaluate any. */
interface Expr {
}
/** An expression whose types have been checked; gRPC does not evaluate any. */
interface CheckedExpr {
}
}

export declare namespace google.protobuf {
/** A message with its type. */
type Typed<Url extends string, Message> = { readonly '@type': Url } & Message;
/** A value that is no JSON object, with its type. */
type WithValue<Url extends string, Value> = { readonly '@type': Url; readonly value?: Value };
/** A message of any type that this package knows, told apart by `@type`. */
type Any =
| Typed<'type.googleapis.com/envoy.config.cluster.v3.CircuitBreakers', envoy.config.cluster.v3.CircuitBreakers>
| Typed<'type.googleapis.com/envoy.config.cluster.v3.CircuitBreakers.Thresholds', envoy.config.cluster.v3.CircuitBreakers.Thresholds>
| Typed<'type.googleapis.com/envoy.config.cluster.v3.Cluster', envoy.config.cluster.v3.Cluster>
| Typed<'type.googleapis.com/envoy.config.cluster.v3.Cluster.CommonLbConfig', envoy.config.cluster.v3.Cluster.CommonLbConfig>
| Typed<'type.googleapis.com/envoy.config.cluster.v3.Cluster.CustomClusterType', envoy.config.cluster.v3.Cluster.CustomClusterType>
| Typed<'type.googleapis.com/envoy.config.cluster.v3.Cluster.EdsClusterConfig', envoy.config.cluster.v3.Cluster.EdsClusterConfig>
| Typed<'type.googleapis.com/envoy.config.cluster.v3.Cluster.LeastRequestLbConfig', envoy.config.cluster.v3.Cluster.LeastRequestLbConfig>
| Typed<'type.googleapis.com/envoy.config.cluster.v3.Cluster.RingHashLbConfig', envoy.config.cluster.v3.Cluster.RingHashLbConfig>
| Typed<'type.googleapis.com/envoy.config.cluster.v3.Cluster.RoundRobinLbConfig', envoy.config.cluster.v3.Cluster.RoundRobinLbConfig>
| Typed<'type.googleapis.com/envoy.config.cluster.v3.Cluster.TransportSocketMatch', envoy.config.cluster.v3.Cluster.TransportSocketMatch>
| Typed<'type.googleapis.com/envoy.config.cluster.v3.LoadBalancingPolicy', envoy.config.cluster.v3.LoadBalancingPolicy>
| Typed<'type.googleapis.com/envoy.config.cluster.v3.LoadBalancingPolicy.Policy', envoy.config.cluster.v3.LoadBalancingPolicy.Policy>
| Typed<'type.googleapis.com/envoy.config.cluster.v3.OutlierDetection', envoy.config.cluster.v3.OutlierDetection>
| Typed<'type.googleapis.com/envoy.config.core.v3.Address', envoy.config.core.v3.Address>
| Typed<'type.googleapis.com/envoy.config.core.v3.AggregatedConfigSource', envoy.config.core.v3.AggregatedConfigSource>
| Typed<'type.googleapis.com/envoy.config.core.v3.ApiConfigSource', envoy.config.core.v3.ApiConfigSource>
| Typed<'type.googleapis.com/envoy.config.core.v3.BuildVersion', envoy.config.core.v3.BuildVersion>
| Typed<'type.googleapis.com/envoy.config.core.v3.CidrRange', envoy.config.core.v3.CidrRange>
| Typed<'type.googleapis.com/envoy.config.core.v3.ConfigSource', envoy.config.core.v3.ConfigSource>
| Typed<'type.googleapis.com/envoy.config.core.v3.ControlPlane', envoy.config.core.v3.ControlPlane>
| Typed<'type.googleapis.com/envoy.config.core.v3.DataSource', envoy.config.core.v3.DataSource>
| Typed<'type.googleapis.com/envoy.config.core.v3.EnvoyInternalAddress', envoy.config.core.v3.EnvoyInternalAddress>
| Typed<'type.googleapis.com/envoy.config.core.v3.ExtensionConfigSource', envoy.config.core.v3.ExtensionConfigSource>
| Typed<'type.googleapis.com/envoy.config.core.v3.HealthStatusSet', envoy.config.core.v3.HealthStatusSet>
| Typed<'type.googleapis.com/envoy.config.core.v3.HttpProtocolOptions', envoy.config.core.v3.HttpProtocolOptions>
| Typed<'type.googleapis.com/envoy.config.core.v3.Locality', envoy.config.core.v3.Locality>
| Typed<'type.googleapis.com/envoy.config.core.v3.Metadata', envoy.config.core.v3.Metadata>
| Typed<'type.googleapis.com/envoy.config.core.v3.Node', envoy.config.core.v3.Node>
| Typed<'type.googleapis.com/envoy.config.core.v3.Pipe', envoy.config.core.v3.Pipe>
| Typed<'type.googleapis.com/envoy.config.core.v3.RuntimeDouble', envoy.config.core.v3.RuntimeDouble>
| Typed<'type.googleapis.com/envoy.config.core.v3.RuntimeFractionalPercent', envoy.config.core.v3.RuntimeFractionalPercent>
| Typed<'type.googleapis.com/envoy.config.core.v3.SelfConfigSource', envoy.config.core.v3.SelfConfigSource>
| Typed<'type.googleapis.com/envoy.config.core.v3.SocketAddress', envoy.config.core.v3.SocketAddress>
| Typed<'type.googleapis.com/envoy.config.core.v3.TransportSocket', envoy.config.core.v3.TransportSocket>
| Typed<'type.googleapis.com/envoy.config.core.v3.TypedExtensionConfig', envoy.config.core.v3.TypedExtensionConfig>
| Typed<'type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment', envoy.config.endpoint.v3.ClusterLoadAssignment>
| Typed<'type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment.Policy', envoy.config.endpoint.v3.ClusterLoadAssignment.Policy>
| Typed<'type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment.Policy.DropOverload', envoy.config.endpoint.v3.ClusterLoadAssignment.Policy.DropOverload>
| Typed<'type.googleapis.com/envoy.config.endpoint.v3.ClusterStats', envoy.config.endpoint.v3.ClusterStats>
| Typed<'type.googleapis.com/envoy.config.endpoint.v3.ClusterStats.DroppedRequests', envoy.config.endpoint.v3.ClusterStats.DroppedRequests>
| Typed<'type.googleapis.com/envoy.config.endpoint.v3.Endpoint', envoy.config.endpoint.v3.Endpoint>
| Typed<'type.googleapis.com/envoy.config.endpoint.v3.Endpoint.AdditionalAddress', envoy.config.endpoint.v3.Endpoint.AdditionalAddress>
| Typed<'type.googleapis.com/envoy.config.endpoint.v3.EndpointLoadMetricStats', envoy.config.endpoint.v3.EndpointLoadMetricStats>
| Typed<'type.googleapis.com/envoy.config.endpoint.v3.LbEndpoint', envoy.config.endpoint.v3.LbEndpoint>
| Typed<'type.googleapis.com/envoy.config.endpoint.v3.LbEndpointCollection', envoy.config.endpoint.v3.LbEndpointCollection>
| Typed<'type.googleapis.com/envoy.config.endpoint.v3.LedsClusterLocalityConfig', envoy.config.endpoint.v3.LedsClusterLocalityConfig>
| Typed<'type.googleapis.com/envoy.config.endpoint.v3.LocalityLbEndpoints', envoy.config.endpoint.v3.LocalityLbEndpoints>
| Typed<'type.googleapis.com/envoy.config.endpoint.v3.LocalityLbEndpoints.LbEndpointList', envoy.config.endpoint.v3.LocalityLbEndpoints.LbEndpointList>
| Typed<'type.googleapis.com/envoy.config.endpoint.v3.UnnamedEndpointLoadMetricStats', envoy.config.endpoint.v3.UnnamedEndpointLoadMetricStats>
| Typed<'type.googleapis.com/envoy.config.endpoint.v3.UpstreamLocalityStats', envoy.config.endpoint.v3.UpstreamLocalityStats>
| Typed<'type.googleapis.com/envoy.config.listener.v3.AdditionalAddress', envoy.config.listener.v3.AdditionalAddress>
| Typed<'type.googleapis.com/envoy.config.listener.v3.ApiListener', envoy.config.listener.v3.ApiListener>
| Typed<'type.googleapis.com/envoy.config.listener.v3.Filter', envoy.config.listener.v3.Filter>
| Typed<'type.googleapis.com/envoy.config.listener.v3.FilterChain', envoy.config.listener.v3.FilterChain>
| Typed<'type.googleapis.com/envoy.config.listener.v3.FilterChainMatch', envoy.config.listener.v3.FilterChainMatch>
| Typed<'type.googleapis.com/envoy.config.listener.v3.Listener', envoy.config.listener.v3.Listener>
| Typed<'type.googleapis.com/envoy.config.listener.v3.ListenerFilter', envoy.config.listener.v3.ListenerFilter>
| Typed<'type.googleapis.com/envoy.config.rbac.v3.Permission', envoy.config.rbac.v3.Permission>
| Typed<'type.googleapis.com/envoy.config.rbac.v3.Permission.Set', envoy.config.rbac.v3.Permission.Set>
| Typed<'type.googleapis.com/envoy.config.rbac.v3.Policy', envoy.config.rbac.v3.Policy>
| Typed<'type.googleapis.com/envoy.config.rbac.v3.Principal', envoy.config.rbac.v3.Principal>
| Typed<'type.googleapis.com/envoy.config.rbac.v3.Principal.Authenticated', envoy.config.rbac.v3.Principal.Authenticated>
| Typed<'type.googleapis.com/envoy.config.rbac.v3.Principal.Set', envoy.config.rbac.v3.Principal.Set>
| Typed<'type.googleapis.com/envoy.config.rbac.v3.RBAC', envoy.config.rbac.v3.RBAC>
| Typed<'type.googleapis.com/envoy.config.rbac.v3.RBAC.AuditLoggingOptions', envoy.config.rbac.v3.RBAC.AuditLoggingOptions>
| Typed<'type.googleapis.com/envoy.config.rbac.v3.RBAC.AuditLoggingOptions.AuditLoggerConfig', envoy.config.rbac.v3.RBAC.AuditLoggingOptions.AuditLoggerConfig>
| Typed<'type.googleapis.com/envoy.config.rbac.v3.SourcedMetadata', envoy.config.rbac.v3.SourcedMetadata>
| Typed<'type.googleapis.com/envoy.config.route.v3.ClusterSpecifierPlugin', envoy.config.route.v3.ClusterSpecifierPlugin>
| Typed<'type.googleapis.com/envoy.config.route.v3.DirectResponseAction', envoy.config.route.v3.DirectResponseAction>
| Typed<'type.googleapis.com/envoy.config.route.v3.FilterAction', envoy.config.route.v3.FilterAction>
| Typed<'type.googleapis.com/envoy.config.route.v3.FilterConfig', envoy.config.route.v3.FilterConfig>
| Typed<'type.googleapis.com/envoy.config.route.v3.HeaderMatcher', envoy.config.route.v3.HeaderMatcher>
| Typed<'type.googleapis.com/envoy.config.route.v3.NonForwardingAction', envoy.config.route.v3.NonForwardingAction>
| Typed<'type.googleapis.com/envoy.config.route.v3.QueryParameterMatcher', envoy.config.route.v3.QueryParameterMatcher>
| Typed<'type.googleapis.com/envoy.config.route.v3.RedirectAction', envoy.config.route.v3.RedirectAction>
| Typed<'type.googleapis.com/envoy.config.route.v3.RetryPolicy', envoy.config.route.v3.RetryPolicy>
| Typed<'type.googleapis.com/envoy.config.route.v3.RetryPolicy.RetryBackOff', envoy.config.route.v3.RetryPolicy.RetryBackOff>
| Typed<'type.googleapis.com/envoy.config.route.v3.Route', envoy.config.route.v3.Route>
| Typed<'type.googleapis.com/envoy.config.route.v3.RouteAction', envoy.config.route.v3.RouteAction>
| Typed<'type.googleapis.com/envoy.config.route.v3.RouteAction.HashPolicy', envoy.config.route.v3.RouteAction.HashPolicy>
| Typed<'type.googleapis.com/envoy.config.route.v3.RouteAction.HashPolicy.ConnectionProperties', envoy.config.route.v3.RouteAction.HashPolicy.ConnectionProperties>
| Typed<'type.googleapis.com/envoy.config.route.v3.RouteAction.HashPolicy.Cookie', envoy.config.route.v3.RouteAction.HashPolicy.Cookie>
| Typed<'type.googleapis.com/envoy.config.route.v3.RouteAction.HashPolicy.FilterState', envoy.config.route.v3.RouteAction.HashPolicy.FilterState>
| Typed<'type.googleapis.com/envoy.config.route.v3.RouteAction.HashPolicy.Header', envoy.config.route.v3.RouteAction.HashPolicy.Header>
| Typed<'type.googleapis.com/envoy.config.route.v3.RouteAction.HashPolicy.QueryParameter', envoy.config.route.v3.RouteAction.HashPolicy.QueryParameter>
| Typed<'type.googleapis.com/envoy.config.route.v3.RouteAction.MaxStreamDuration', envoy.config.route.v3.RouteAction.MaxStreamDuration>
| Typed<'type.googleapis.com/envoy.config.route.v3.RouteConfiguration', envoy.config.route.v3.RouteConfiguration>
| Typed<'type.googleapis.com/envoy.config.route.v3.RouteMatch', envoy.config.route.v3.RouteMatch>
| Typed<'type.googleapis.com/envoy.config.route.v3.RouteMatch.ConnectMatcher', envoy.config.route.v3.RouteMatch.ConnectMatcher>
| Typed<'type.googleapis.com/envoy.config.route.v3.VirtualHost', envoy.config.route.v3.VirtualHost>
| Typed<'type.googleapis.com/envoy.config.route.v3.WeightedCluster', envoy.config.route.v3.WeightedCluster>
| Typed<'type.googleapis.com/envoy.config.route.v3.WeightedCluster.ClusterWeight', envoy.config.route.v3.WeightedCluster.ClusterWeight>
| Typed<'type.googleapis.com/envoy.extensions.clusters.aggregate.v3.ClusterConfig', envoy.extensions.clusters.aggregate.v3.ClusterConfig>
| Typed<'type.googleapis.com/envoy.extensions.common.matching.v3.ExtensionWithMatcher', envoy.extensions.common.matching.v3.ExtensionWithMatcher>
| Typed<'type.googleapis.com/envoy.extensions.common.matching.v3.ExtensionWithMatcherPerRoute', envoy.extensions.common.matching.v3.ExtensionWithMatcherPerRoute>
| Typed<'type.googleapis.com/envoy.extensions.filters.common.fault.v3.FaultDelay', envoy.extensions.filters.common.fault.v3.FaultDelay>
| Typed<'type.googleapis.com/envoy.extensions.filters.common.fault.v3.FaultDelay.HeaderDelay', envoy.extensions.filters.common.fault.v3.FaultDelay.HeaderDelay>
| Typed<'type.googleapis.com/envoy.extensions.filters.common.matcher.action.v3.SkipFilter', envoy.extensions.filters.common.matcher.action.v3.SkipFilter>
| Typed<'type.googleapis.com/envoy.extensions.filters.http.composite.v3.Composite', envoy.extensions.filters.http.composite.v3.Composite>
| Typed<'type.googleapis.com/envoy.extensions.filters.http.composite.v3.DynamicConfig', envoy.extensions.filters.http.composite.v3.DynamicConfig>
| Typed<'type.googleapis.com/envoy.extensions.filters.http.composite.v3.ExecuteFilterAction', envoy.extensions.filters.http.composite.v3.ExecuteFilterAction>
| Typed<'type.googleapis.com/envoy.extensions.filters.http.composite.v3.FilterChainConfiguration', envoy.extensions.filters.http.composite.v3.FilterChainConfiguration>
| Typed<'type.googleapis.com/envoy.extensions.filters.http.fault.v3.FaultAbort', envoy.extensions.filters.http.fault.v3.FaultAbort>
| Typed<'type.googleapis.com/envoy.extensions.filters.http.fault.v3.FaultAbort.HeaderAbort', envoy.extensions.filters.http.fault.v3.FaultAbort.HeaderAbort>
| Typed<'type.googleapis.com/envoy.extensions.filters.http.fault.v3.HTTPFault', envoy.extensions.filters.http.fault.v3.HTTPFault>
| Typed<'type.googleapis.com/envoy.extensions.filters.http.gcp_authn.v3.Audience', envoy.extensions.filters.http.gcp_authn.v3.Audience>
| Typed<'type.googleapis.com/envoy.extensions.filters.http.gcp_authn.v3.GcpAuthnFilterConfig', envoy.extensions.filters.http.gcp_authn.v3.GcpAuthnFilterConfig>
| Typed<'type.googleapis.com/envoy.extensions.filters.http.gcp_authn.v3.TokenCacheConfig', envoy.extensions.filters.http.gcp_authn.v3.TokenCacheConfig>
| Typed<'type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC', envoy.extensions.filters.http.rbac.v3.RBAC>
| Typed<'type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBACPerRoute', envoy.extensions.filters.http.rbac.v3.RBACPerRoute>
| Typed<'type.googleapis.com/envoy.extensions.filters.http.router.v3.Router', envoy.extensions.filters.http.router.v3.Router>
| Typed<'type.googleapis.com/envoy.extensions.filters.http.stateful_session.v3.StatefulSession', envoy.extensions.filters.http.stateful_session.v3.StatefulSession>
| Typed<'type.googleapis.com/envoy.extensions.filters.http.stateful_session.v3.StatefulSessionPerRoute', envoy.extensions.filters.http.stateful_session.v3.StatefulSessionPerRoute>
| Typed<'type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager', envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager>
| Typed<'type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpFilter', envoy.extensions.filters.network.http_connection_manager.v3.HttpFilter>
| Typed<'type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.Rds', envoy.extensions.filters.network.http_connection_manager.v3.Rds>
| Typed<'type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.ScopedRoutes', envoy.extensions.filters.network.http_connection_manager.v3.ScopedRoutes>
| Typed<'type.googleapis.com/envoy.extensions.http.stateful_session.cookie.v3.CookieBasedSessionState', envoy.extensions.http.stateful_session.cookie.v3.CookieBasedSessionState>
| Typed<'type.googleapis.com/envoy.extensions.load_balancing_policies.client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin', envoy.extensions.load_balancing_policies.client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin>
| Typed<'type.googleapis.com/envoy.extensions.load_balancing_policies.common.v3.ConsistentHashingLbConfig', envoy.extensions.load_balancing_policies.common.v3.ConsistentHashingLbConfig>
| Typed<'type.googleapis.com/envoy.extensions.load_balancing_policies.common.v3.LocalityLbConfig', envoy.extensions.load_balancing_policies.common.v3.LocalityLbConfig>
| Typed<'type.googleapis.com/envoy.extensions.load_balancing_policies.common.v3.LocalityLbConfig.LocalityWeightedLbConfig', envoy.extensions.load_balancing_policies.common.v3.LocalityLbConfig.LocalityWeightedLbConfig>
| Typed<'type.googleapis.com/envoy.extensions.load_balancing_policies.common.v3.LocalityLbConfig.ZoneAwareLbConfig', envoy.extensions.load_balancing_policies.common.v3.LocalityLbConfig.ZoneAwareLbConfig>
| Typed<'type.googleapis.com/envoy.extensions.load_balancing_policies.common.v3.SlowStartConfig', envoy.extensions.load_balancing_policies.common.v3.SlowStartConfig>
| Typed<'type.googleapis.com/envoy.extensions.load_balancing_policies.least_request.v3.LeastRequest', envoy.extensions.load_balancing_policies.least_request.v3.LeastRequest>
| Typed<'type.googleapis.com/envoy.extensions.load_balancing_policies.pick_first.v3.PickFirst', envoy.extensions.load_balancing_policies.pick_first.v3.PickFirst>
| Typed<'type.googleapis.com/envoy.extensions.load_balancing_policies.random_subsetting.v3.RandomSubsetting', envoy.extensions.load_balancing_policies.random_subsetting.v3.RandomSubsetting>
| Typed<'type.googleapis.com/envoy.extensions.load_balancing_policies.ring_hash.v3.RingHash', envoy.extensions.load_balancing_policies.ring_hash.v3.RingHash>
| Typed<'type.googleapis.com/envoy.extensions.load_balancing_policies.round_robin.v3.RoundRobin', envoy.extensions.load_balancing_policies.round_robin.v3.RoundRobin>
| Typed<'type.googleapis.com/envoy.extensions.load_balancing_policies.wrr_locality.v3.WrrLocality', envoy.extensions.load_balancing_policies.wrr_locality.v3.WrrLocality>
| Typed<'type.googleapis.com/envoy.extensions.rbac.audit_loggers.stream.v3.StdoutAuditLog', envoy.extensions.rbac.audit_loggers.stream.v3.StdoutAuditLog>
| Typed<'type.googleapis.com/envoy.extensions.transport_sockets.http_11_proxy.v3.Http11ProxyUpstreamTransport', envoy.extensions.transport_sockets.http_11_proxy.v3.Http11ProxyUpstreamTransport>
| Typed<'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.CertificateProviderPluginInstance', envoy.extensions.transport_sockets.tls.v3.CertificateProviderPluginInstance>
| Typed<'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.CertificateValidationContext', envoy.extensions.transport_sockets.tls.v3.CertificateValidationContext>
| Typed<'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.CertificateValidationContext.SystemRootCerts', envoy.extensions.transport_sockets.tls.v3.CertificateValidationContext.SystemRootCerts>
| Typed<'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.CommonTlsContext', envoy.extensions.transport_sockets.tls.v3.CommonTlsContext>
| Typed<'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.CommonTlsContext.CertificateProviderInstance', envoy.extensions.transport_sockets.tls.v3.CommonTlsContext.CertificateProviderInstance>
| Typed<'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.CommonTlsContext.CombinedCertificateValidationContext', envoy.extensions.transport_sockets.tls.v3.CommonTlsContext.CombinedCertificateValidationContext>
| Typed<'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext', envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext>
| Typed<'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.GenericSecret', envoy.extensions.transport_sockets.tls.v3.GenericSecret>
| Typed<'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.SPIFFECertValidatorConfig', envoy.extensions.transport_sockets.tls.v3.SPIFFECertValidatorConfig>
| Typed<'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.SPIFFECertValidatorConfig.TrustDomain', envoy.extensions.transport_sockets.tls.v3.SPIFFECertValidatorConfig.TrustDomain>
| Typed<'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.SdsSecretConfig', envoy.extensions.transport_sockets.tls.v3.SdsSecretConfig>
| Typed<'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret', envoy.extensions.transport_sockets.tls.v3.Secret>
| Typed<'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.SubjectAltNameMatcher', envoy.extensions.transport_sockets.tls.v3.SubjectAltNameMatcher>
| Typed<'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.TlsCertificate', envoy.extensions.transport_sockets.tls.v3.TlsCertificate>
| Typed<'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.TlsParameters', envoy.extensions.transport_sockets.tls.v3.TlsParameters>
| Typed<'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.TlsSessionTicketKeys', envoy.extensions.transport_sockets.tls.v3.TlsSessionTicketKeys>
| Typed<'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext', envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext>
| Typed<'type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions', envoy.extensions.upstreams.http.v3.HttpProtocolOptions>
| Typed<'type.googleapis.com/envoy.type.http.v3.Cookie', envoy.type.http.v3.Cookie>
| Typed<'type.googleapis.com/envoy.type.matcher.v3.FilterStateMatcher', envoy.type.matcher.v3.FilterStateMatcher>
| Typed<'type.googleapis.com/envoy.type.matcher.v3.HttpRequestHeaderMatchInput', envoy.type.matcher.v3.HttpRequestHeaderMatchInput>
| Typed<'type.googleapis.com/envoy.type.matcher.v3.ListStringMatcher', envoy.type.matcher.v3.ListStringMatcher>
| Typed<'type.googleapis.com/envoy.type.matcher.v3.MetadataMatcher', envoy.type.matcher.v3.MetadataMatcher>
| Typed<'type.googleapis.com/envoy.type.matcher.v3.NodeMatcher', envoy.type.matcher.v3.NodeMatcher>
| Typed<'type.googleapis.com/envoy.type.matcher.v3.PathMatcher', envoy.type.matcher.v3.PathMatcher>
| Typed<'type.googleapis.com/envoy.type.matcher.v3.RegexMatchAndSubstitute', envoy.type.matcher.v3.RegexMatchAndSubstitute>
| Typed<'type.googleapis.com/envoy.type.matcher.v3.RegexMatcher', envoy.type.matcher.v3.RegexMatcher>
| Typed<'type.googleapis.com/envoy.type.matcher.v3.RegexMatcher.GoogleRE2', envoy.type.matcher.v3.RegexMatcher.GoogleRE2>
| Typed<'type.googleapis.com/envoy.type.matcher.v3.StringMatcher', envoy.type.matcher.v3.StringMatcher>
| Typed<'type.googleapis.com/envoy.type.v3.FractionalPercent', envoy.type.v3.FractionalPercent>
| Typed<'type.googleapis.com/envoy.type.v3.Int32Range', envoy.type.v3.Int32Range>
| Typed<'type.googleapis.com/envoy.type.v3.Int64Range', envoy.type.v3.Int64Range>
| Typed<'type.googleapis.com/envoy.type.v3.Percent', envoy.type.v3.Percent>
| Typed<'type.googleapis.com/envoy.type.v3.SemanticVersion', envoy.type.v3.SemanticVersion>
| WithValue<'type.googleapis.com/google.protobuf.BoolValue', boolean>
| WithValue<'type.googleapis.com/google.protobuf.BytesValue', string>
| WithValue<'type.googleapis.com/google.protobuf.DoubleValue', number | `${number}` | 'NaN' | 'Infinity' | '-Infinity'>
| WithValue<'type.googleapis.com/google.protobuf.Duration', `${number}s`>
| WithValue<'type.googleapis.com/google.protobuf.FloatValue', number | `${number}` | 'NaN' | 'Infinity' | '-Infinity'>
| WithValue<'type.googleapis.com/google.protobuf.Int32Value', number | `${number}`>
| WithValue<'type.googleapis.com/google.protobuf.Int64Value', number | `${number}`>
| WithValue<'type.googleapis.com/google.protobuf.ListValue', readonly unknown[]>
| WithValue<'type.googleapis.com/google.protobuf.StringValue', string>
| WithValue<'type.googleapis.com/google.protobuf.Struct', { readonly [key: string]: unknown }>
| WithValue<'type.googleapis.com/google.protobuf.Timestamp', string>
| WithValue<'type.googleapis.com/google.protobuf.UInt32Value', number | `${number}`>
| WithValue<'type.googleapis.com/google.protobuf.UInt64Value', number | `${number}`>
| WithValue<'type.googleapis.com/google.protobuf.Value', unknown>
| Typed<'type.googleapis.com/udpa.type.v1.TypedStruct', udpa.type.v1.TypedStruct>
| Typed<'type.googleapis.com/xds.core.v3.CollectionEntry', xds.core.v3.CollectionEntry>
| Typed<'type.googleapis.com/xds.core.v3.CollectionEntry.InlineEntry', xds.core.v3.CollectionEntry.InlineEntry>
| Typed<'type.googleapis.com/xds.core.v3.TypedExtensionConfig', xds.core.v3.TypedExtensionConfig>
| Typed<'type.googleapis.com/xds.data.orca.v3.OrcaLoadReport', xds.data.orca.v3.OrcaLoadReport>
| Typed<'type.googleapis.com/xds.service.orca.v3.OrcaLoadReportRequest', xds.service.orca.v3.OrcaLoadReportRequest>
| Typed<'type.googleapis.com/xds.type.matcher.v3.Matcher', xds.type.matcher.v3.Matcher>
| Typed<'type.googleapis.com/xds.type.matcher.v3.Matcher.MatcherList', xds.type.matcher.v3.Matcher.MatcherList>
| Typed<'type.googleapis.com/xds.type.matcher.v3.Matcher.MatcherList.FieldMatcher', xds.type.matcher.v3.Matcher.MatcherList.FieldMatcher>
| Typed<'type.googleapis.com/xds.type.matcher.v3.Matcher.MatcherList.Predicate', xds.type.matcher.v3.Matcher.MatcherList.Predicate>
| Typed<'type.googleapis.com/xds.type.matcher.v3.Matcher.MatcherList.Predicate.PredicateList', xds.type.matcher.v3.Matcher.MatcherList.Predicate.PredicateList>
| Typed<'type.googleapis.com/xds.type.matcher.v3.Matcher.MatcherList.Predicate.SinglePredicate', xds.type.matcher.v3.Matcher.MatcherList.Predicate.SinglePredicate>
| Typed<'type.googleapis.com/xds.type.matcher.v3.Matcher.MatcherTree', xds.type.matcher.v3.Matcher.MatcherTree>
| Typed<'type.googleapis.com/xds.type.matcher.v3.Matcher.MatcherTree.MatchMap', xds.type.matcher.v3.Matcher.MatcherTree.MatchMap>
| Typed<'type.googleapis.com/xds.type.matcher.v3.Matcher.OnMatch', xds.type.matcher.v3.Matcher.OnMatch>
| Typed<'type.googleapis.com/xds.type.matcher.v3.RegexMatcher', xds.type.matcher.v3.RegexMatcher>
| Typed<'type.googleapis.com/xds.type.matcher.v3.RegexMatcher.GoogleRE2', xds.type.matcher.v3.RegexMatcher.GoogleRE2>
| Typed<'type.googleapis.com/xds.type.matcher.v3.StringMatcher', xds.type.matcher.v3.StringMatcher>
| Typed<'type.googleapis.com/xds.type.v3.TypedStruct', xds.type.v3.TypedStruct>;
}

export declare namespace udpa.type.v1 {
/** Older spelling of xds.type.v3.TypedStruct, still in use. */
interface TypedStruct {
/** Type the value stands for. */
readonly type_url?: string | null;
/** Type the value stands for. */
readonly typeUrl?: string | null;
readonly value?: { readonly [key: string]: unknown } | null;
}
}

export declare namespace xds.core.v3 {
/** One member of a list collection. */
interface CollectionEntry extends Unread<'locator'> {
/** The member itself. Reference by locator is not supported and left out. */
readonly inline_entry?: xds.core.v3.CollectionEntry.InlineEntry | null;
/** The member itself. Reference by locator is not supported and left out. */
readonly inlineEntry?: xds.core.v3.CollectionEntry.InlineEntry | null;
}
/** Configuration of an extension, found by its message type. */
interface TypedExtensionConfig {
/** Label for humans. */
readonly name?: string | null;
readonly typed_config?: google.protobuf.Any | null;
readonly typedConfig?: google.protobuf.Any | null;
}
namespace CollectionEntry {
/** A member carried inside its collection. */
interface InlineEntry {
/** Name within the collection. */
readonly name?: string | null;
/** Version of this member. */
readonly version?: string | null;
/** The member. */
readonly resource?: google.protobuf.Any | null;
}
}
}

export declare namespace xds.data.orca.v3 {
/** Load of a backend as it sees it, sent with a call or on a stream of its own. */
interface OrcaLoadReport {
/** 1.0 is the full use of all assigned processors; may exceed 1.0. */
readonly cpu_utilization?: number | `${number}` | 'NaN' | 'Infinity' | '-Infinity' | null;
/** 1.0 is the full use of all assigned processors; may exceed 1.0. */
readonly cpuUtilization?: number | `${number}` | 'NaN' | 'Infinity' | '-Infinity' | null;
/** 0 to 1. */
readonly mem_utilization?: number | `${number}` | 'NaN' | 'Infinity' | '-Infinity' | null;
/** 0 to 1. */
readonly memUtilization?: number | `${number}` | 'NaN' | 'Infinity' | '-Infinity' | null;
/** Replaced by rps_fractional. */
readonly rps?: number | `${number}` | null;
/** Cost of this one request, by kind. */
readonly request_cost?: { readonly [key: string]: number | `${number}` | 'NaN' | 'Infinity' | '-Infinity' } | null;
/** Cost of this one request, by kind. */
readonly requestCost?: { readonly [key: string]: number | `${number}` | 'NaN' | 'Infinity' | '-Infinity' } | null;
/** Use of further resources, 0 to 1, by name. */
readonly utilization?: { readonly [key: string]: number | `${number}` | 'NaN' | 'Infinity' | '-Infinity' } | null;
/** Successful queries per second of the backend. */
readonly rps_fractional?: number | `${number}` | 'NaN' | 'Infinity' | '-Infinity' | null;
/** Successful queries per second of the backend. */
readonly rpsFractional?: number | `${number}` | 'NaN' | 'Infinity' | '-Infinity' | null;
/** Errors per second of the backend. */
readonly eps?: number | `${number}` | 'NaN' | 'Infinity' | '-Infinity' | null;
/** Values only the application can interpret, by name. */
readonly named_metrics?: { readonly [key: string]: number | `${number}` | 'NaN' | 'Infinity' | '-Infinity' } | null;
/** Values only the application can interpret, by name. */
readonly namedMetrics?: { readonly [key: string]: number | `${number}` | 'NaN' | 'Infinity' | '-Infinity' } | null;
/** The application's own measure of its load; may exceed 1.0. */
readonly application_utilization?: number | `${number}` | 'NaN' | 'Infinity' | '-Infinity' | null;
/** The application's own measure of its load; may exceed 1.0. */
readonly applicationUtilization?: number | `${number}` | 'NaN' | 'Infinity' | '-Infinity' | null;
}
}

export declare namespace xds.service.orca.v3 {
/** Opens a stream of reports. */
interface OrcaLoadReportRequest {
/** Wanted time between reports; the server may choose a longer one. */
readonly report_interval?: `${number}s` | null;
/** Wanted time between reports; the server may choose a longer one. */
readonly reportInterval?: `${number}s` | null;
/** Costs the client is interested in; empty means all. */
readonly request_cost_names?: readonly (string)[] | null;
/** Costs the client is interested in; empty means all. */
readonly requestCostNames?: readonly (string)[] | null;
}
}

export declare namespace xds.type.matcher.v3 {
/** A regular expression in RE2 syntax that must match the whole text. */
interface RegexMatcher {
/** Engine choice; only one exists. */
readonly google_re2?: xds.type.matcher.v3.RegexMatcher.GoogleRE2 | null;
/** Engine choice; only one exists. */
readonly googleRe2?: xds.type.matcher.v3.RegexMatcher.GoogleRE2 | null;
/** The expression. */
readonly regex?: string | null;
}
/** One way to compare a text. */
interface StringMatcher {
/** The text equals this. */
readonly exact?: string | null;
/** The text starts with this. */
readonly prefix?: string | null;
/** The text ends with this. */
readonly suffix?: string | null;
/** The expression matches the whole text. */
readonly safe_regex?: xds.type.matcher.v3.RegexMatcher | null;
/** The expression matches the whole text. */
readonly safeRegex?: xds.type.matcher.v3.RegexMatcher | null;
/** This occurs in the text. */
readonly contains?: string | null;
/** Compare without regard to case; has no effect on safe_regex. */
readonly ignore_case?: boolean | null;
/** Compare without regard to case; has no effect on safe_regex. */
readonly ignoreCase?: boolean | null;
}
/** A tree of conditions that ends in an action. */
interface Matcher {
/** Conditions tried in order. */
readonly matcher_list?: xds.type.matcher.v3.Matcher.MatcherList | null;
/** Conditions tried in order. */
readonly matcherList?: xds.type.matcher.v3.Matcher.MatcherList | null;
/** Look-up of one input in a map. */
readonly matcher_tree?: xds.type.matcher.v3.Matcher.MatcherTree | null;
/** Look-up of one input in a map. */
readonly matcherTree?: xds.type.matcher.v3.Matcher.MatcherTree | null;
/** What to do when nothing above matched. */
readonly on_no_match?: xds.type.matcher.v3.Matcher.OnMatch | null;
/** What to do when nothing above matched. */
readonly onNoMatch?: xds.type.matcher.v3.Matcher.OnMatch | null;
}
namespace Matcher {
/** Consequence of a match. */
interface OnMatch {
/** Go on with this nested tree. */
readonly matcher?: xds.type.matcher.v3.Matcher | null;
/** Stop with this action. */
readonly action?: xds.core.v3.TypedExtensionConfig | null;
/** Take the action and still look for further matches. */
readonly keep_matching?: boolean | null;
/** Take the action and still look for further matches. */
readonly keepMatching?: boolean | null;
}
/** Conditions tried in order; the first that holds decides. */
interface MatcherList {
readonly matchers?: readonly (xds.type.matcher.v3.Matcher.MatcherList.FieldMatcher)[] | null;
}
/** Finds the consequence by looking one input up. */
interface MatcherTree {
/** Extension that reads the key. */
readonly input?: xds.core.v3.TypedExtensionConfig | null;
/** Key must be equal. */
readonly exact_match_map?: xds.type.matcher.v3.Matcher.MatcherTree.MatchMap | null;
/** Key must be equal. */
readonly exactMatchMap?: xds.type.matcher.v3.Matcher.MatcherTree.MatchMap | null;
/** Longest key that is a prefix wins. */
readonly prefix_match_map?: xds.type.matcher.v3.Matcher.MatcherTree.MatchMap | null;
/** Longest key that is a prefix wins. */
readonly prefixMatchMap?: xds.type.matcher.v3.Matcher.MatcherTree.MatchMap | null;
/** Look-up done by an extension. */
readonly custom_match?: xds.core.v3.TypedExtensionConfig | null;
/** Look-up done by an extension. */
readonly customMatch?: xds.core.v3.TypedExtensionConfig | null;
}
namespace MatcherList {
/** A condition, simple or composed. */
interface Predicate {
readonly single_predicate?: xds.type.matcher.v3.Matcher.MatcherList.Predicate.SinglePredicate | null;
readonly singlePredicate?: xds.type.matcher.v3.Matcher.MatcherList.Predicate.SinglePredicate | null;
/** Holds when one member holds. */
readonly or_matcher?: xds.type.matcher.v3.Matcher.MatcherList.Predicate.PredicateList | null;
/** Holds when one member holds. */
readonly orMatcher?: xds.type.matcher.v3.Matcher.MatcherList.Predicate.PredicateList | null;
/** Holds when all members hold. */
readonly and_matcher?: xds.type.matcher.v3.Matcher.MatcherList.Predicate.PredicateList | null;
/** Holds when all members hold. */
readonly andMatcher?: xds.type.matcher.v3.Matcher.MatcherList.Predicate.PredicateList | null;
/** Holds when its member does not. */
readonly not_matcher?: xds.type.matcher.v3.Matcher.MatcherList.Predicate | null;
/** Holds when its member does not. */
readonly notMatcher?: xds.type.matcher.v3.Matcher.MatcherList.Predicate | null;
}
/** A condition with its consequence. */
interface FieldMatcher {
readonly predicate?: xds.type.matcher.v3.Matcher.MatcherList.Predicate | null;
readonly on_match?: xds.type.matcher.v3.Matcher.OnMatch | null;
readonly onMatch?: xds.type.matcher.v3.Matcher.OnMatch | null;
}
namespace Predicate {
/** Compares one input. */
interface SinglePredicate {
/** Extension that reads the value to compare. */
readonly input?: xds.core.v3.TypedExtensionConfig | null;
/** Plain text comparison. */
readonly value_match?: xds.type.matcher.v3.StringMatcher | null;
/** Plain text comparison. */
readonly valueMatch?: xds.type.matcher.v3.StringMatcher | null;
/** Comparison done by an extension. */
readonly custom_match?: xds.core.v3.TypedExtensionConfig | null;
/** Comparison done by an extension. */
readonly customMatch?: xds.core.v3.TypedExtensionConfig | null;
}
/** Members of a composed condition. */
interface PredicateList {
readonly predicate?: readonly (xds.type.matcher.v3.Matcher.MatcherList.Predicate)[] | null;
}
}
}
namespace MatcherTree {
/** Consequences by key. */
interface MatchMap {
readonly map?: { readonly [key: string]: xds.type.matcher.v3.Matcher.OnMatch } | null;
}
}
}
namespace RegexMatcher {
/** Marks the RE2 engine. */
interface GoogleRE2 {
}
}
}

export declare namespace xds.type.v3 {
/** Configuration of an extension as loose JSON instead of a compiled message. */
interface TypedStruct {
/** Type the value stands for; gRPC takes the part after the last slash as a name. */
readonly type_url?: string | null;
/** Type the value stands for; gRPC takes the part after the last slash as a name. */
readonly typeUrl?: string | null;
readonly value?: { readonly [key: string]: unknown } | null;
}
}
