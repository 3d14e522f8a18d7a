import { fieldsOf, repeated, single, unused, type Fields } from './field-table';
import { routeConfiguration } from './unused-route-fields';

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
