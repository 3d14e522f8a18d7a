// Clusters, each a valid one with one change.
import { typed } from '../harness/resources.mjs';

const POLICIES = 'envoy.extensions.load_balancing_policies';

const cluster = (changes) => (name) => ({
  name,
  type: 'EDS',
  eds_cluster_config: { eds_config: { ads: {} } },
  lb_policy: 'ROUND_ROBIN',
  ...changes,
});
const eds = (eds_cluster_config) => cluster({ eds_cluster_config });
const without =
  (field, changes = {}) =>
  (name) => {
    const changed = cluster(changes)(name);
    delete changed[field];
    return changed;
  };
const ring = (ring_hash_lb_config) => cluster({ lb_policy: 'RING_HASH', ring_hash_lb_config });
const outlier = (outlier_detection) => cluster({ outlier_detection });
const policy = (...configs) =>
  cluster({
    load_balancing_policy: {
      policies: configs.map((typed_config) => ({
        typed_extension_config: { name: 'policy', typed_config },
      })),
    },
  });
const lb = (name, type, value) => typed(`${POLICIES}.${name}.v3.${type}`, value);
const roundRobin = lb('round_robin', 'RoundRobin');
const ringHash = (value) => lb('ring_hash', 'RingHash', value);
const leastRequest = (value) => lb('least_request', 'LeastRequest', value);
const wrr = (value) =>
  lb('client_side_weighted_round_robin', 'ClientSideWeightedRoundRobin', value);
const wrrLocality = (...children) =>
  lb('wrr_locality', 'WrrLocality', {
    endpoint_picking_policy: {
      policies: children.map((typed_config) => ({
        typed_extension_config: { name: 'child', typed_config },
      })),
    },
  });
const unknown = typed('interop.test.Unknown');
const struct = (type_url, value = {}) => typed('xds.type.v3.TypedStruct', { type_url, value });
const weightedTarget = struct('type.googleapis.com/weighted_target_experimental', {
  targets: { a: { weight: 1, childPolicy: [{ round_robin: {} }] } },
});
const priority = struct('type.googleapis.com/priority_experimental', {
  children: { a: { config: [{ round_robin: {} }] } },
  priorities: ['a'],
});
const upstream = (upstream_config) => cluster({ upstream_config });
const aggregate = (config, changes = {}) =>
  without('eds_cluster_config', {
    cluster_type: { name: 'envoy.clusters.aggregate', typed_config: config },
    type: undefined,
    ...changes,
  });
const aggregateOf = (clusters) =>
  typed('envoy.extensions.clusters.aggregate.v3.ClusterConfig', { clusters });
const socket = (address, port_value) => ({
  socket_address: { address, ...(port_value !== undefined && { port_value }) },
});
const dns = (endpoints, changes = {}) =>
  without('eds_cluster_config', {
    type: 'LOGICAL_DNS',
    load_assignment: { cluster_name: 'dns', endpoints },
    ...changes,
  });
const endpoint = (address) => ({ endpoint: { address } });
const oneAddress = (address) => dns([{ lb_endpoints: [endpoint(address)] }]);
const thresholds = (...list) => cluster({ circuit_breakers: { thresholds: list } });
const tls = (common_tls_context, changes = {}) =>
  cluster({
    transport_socket: {
      name: 'envoy.transport_sockets.tls',
      typed_config: typed('envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext', {
        ...(common_tls_context && { common_tls_context }),
        ...changes,
      }),
    },
  });
const instance = { instance_name: 'default' };
const roots = { ca_certificate_provider_instance: instance };
const matcher = { exact: 'a.test' };
const typedName = (name) =>
  tls({ validation_context: { ...roots, match_typed_subject_alt_names: [name] } });
const systemRoots = { validation_context: { system_root_certs: {} } };
const validation = (changes) => tls({ validation_context: { system_root_certs: {}, ...changes } });
const httpOptions = (common_http_protocol_options) =>
  cluster({
    typed_extension_protocol_options: {
      'envoy.extensions.upstreams.http.v3.HttpProtocolOptions': typed(
        'envoy.extensions.upstreams.http.v3.HttpProtocolOptions',
        { common_http_protocol_options, explicit_http_config: { http2_protocol_options: {} } },
      ),
    },
  });

const policyNames = [
  'ROUND_ROBIN',
  'LEAST_REQUEST',
  'RING_HASH',
  'RANDOM',
  'MAGLEV',
  'CLUSTER_PROVIDED',
];
const byPolicy = policyNames.map((name) => [`lb_policy ${name}`, cluster({ lb_policy: name })]);
const byType = ['STATIC', 'STRICT_DNS', 'ORIGINAL_DST'].map((type) => [
  `type ${type}`,
  cluster({ type }),
]);

export const clusterVariants = {
  'as it should be': cluster({}),
  ...Object.fromEntries([...byPolicy, ...byType]),
  'LOAD_BALANCING_POLICY_CONFIG without a policy': cluster({
    lb_policy: 'LOAD_BALANCING_POLICY_CONFIG',
  }),
  'no type': without('type'),
  'EDS from self': eds({ eds_config: { self: {} } }),
  'EDS without a source': eds({}),
  'EDS without a configuration': without('eds_cluster_config'),
  'EDS with an empty source': eds({ eds_config: {} }),
  'EDS from a path': eds({ eds_config: { path: '/tmp/x' } }),
  'EDS with a service name': eds({ eds_config: { ads: {} }, service_name: 'other' }),
  'EDS without a service name, for an xdstp name': eds({
    eds_config: { ads: {} },
    service_name: 'xdstp://a.test/envoy.config.endpoint.v3.ClusterLoadAssignment/x',
  }),
  'an aggregate': aggregate(aggregateOf(['a', 'b']), { lb_policy: 'CLUSTER_PROVIDED' }),
  'an aggregate of lb_policy ROUND_ROBIN': aggregate(aggregateOf(['a', 'b'])),
  'an aggregate of nothing': aggregate(aggregateOf([])),
  'an aggregate with a cluster twice': aggregate(aggregateOf(['a', 'a'])),
  'an aggregate with an empty name': aggregate(aggregateOf([''])),
  'an aggregate without configuration': aggregate(undefined),
  'a cluster type that is not known': aggregate(unknown),
  'an aggregate of another name': aggregate(aggregateOf(['a']), {
    cluster_type: { name: 'aggregate', typed_config: aggregateOf(['a']) },
  }),
  'an aggregate with an xdstp name in capitals': aggregate(
    aggregateOf(['XDSTP://a.test/envoy.config.cluster.v3.Cluster/x']),
  ),
  DNS: oneAddress(socket('a.test', 80)),
  'DNS: port 0': oneAddress(socket('a.test', 0)),
  'DNS: port 70000': oneAddress(socket('a.test', 70_000)),
  'DNS: no endpoints': dns([]),
  'DNS: two localities': dns([
    { lb_endpoints: [endpoint(socket('a.test', 80))] },
    { lb_endpoints: [endpoint(socket('b.test', 80))] },
  ]),
  'DNS: two addresses': dns([
    { lb_endpoints: [endpoint(socket('a.test', 80)), endpoint(socket('b.test', 80))] },
  ]),
  'DNS: no address': dns([{ lb_endpoints: [] }]),
  'DNS: an endpoint without an address': dns([{ lb_endpoints: [{ endpoint: {} }] }]),
  'DNS: no port': oneAddress(socket('a.test')),
  'DNS: an empty name': oneAddress(socket('', 80)),
  'DNS: an IP address': oneAddress(socket('127.0.0.1', 80)),
  'DNS: a pipe': oneAddress({ pipe: { path: '/tmp/x' } }),
  'DNS: a resolver': oneAddress({
    socket_address: { address: 'a.test', port_value: 80, resolver_name: 'r' },
  }),
  'DNS: no assignment': without('eds_cluster_config', { type: 'LOGICAL_DNS' }),
  'LRS to self': cluster({ lrs_server: { self: {} } }),
  'LRS to ADS': cluster({ lrs_server: { ads: {} } }),
  'LRS to nothing': cluster({ lrs_server: {} }),
  'ring: sizes': ring({ minimum_ring_size: 10, maximum_ring_size: 100 }),
  'ring: smallest above largest': ring({ minimum_ring_size: 100, maximum_ring_size: 10 }),
  'ring: smallest of 0': ring({ minimum_ring_size: 0 }),
  'ring: largest of 0': ring({ maximum_ring_size: 0 }),
  'ring: largest of 8 388 608': ring({ maximum_ring_size: 8388608 }),
  'ring: largest above 8 388 608': ring({ maximum_ring_size: 8388609 }),
  'ring: smallest above 8 388 608': ring({ minimum_ring_size: 8388609 }),
  'ring: smallest above the usual largest': ring({ minimum_ring_size: 8388608 }),
  'ring: another hash': ring({ hash_function: 'MURMUR_HASH_2' }),
  'least request: 2 choices': cluster({
    lb_policy: 'LEAST_REQUEST',
    least_request_lb_config: { choice_count: 2 },
  }),
  'least request: 1 choice': cluster({
    lb_policy: 'LEAST_REQUEST',
    least_request_lb_config: { choice_count: 1 },
  }),
  'no limits': thresholds(),
  'a limit of calls': thresholds({ max_requests: 5 }),
  'a limit of no calls': thresholds({ max_requests: 0 }),
  'a limit for another priority': thresholds({ priority: 'HIGH', max_requests: 5 }),
  'HTTP options of another type': upstream({ name: 'x', typed_config: unknown }),
  'HTTP options that are empty': upstream({}),
  'two limits': thresholds({ max_requests: 5 }, { max_requests: 6 }),
  outliers: outlier({}),
  'outliers: interval': outlier({ interval: '5s' }),
  'outliers: interval of 0': outlier({ interval: '0s' }),
  'outliers: negative interval': outlier({ interval: '-1s' }),
  'outliers: negative base': outlier({ base_ejection_time: '-1s' }),
  'outliers: negative longest': outlier({ max_ejection_time: '-1s' }),
  'outliers: longest below base': outlier({ base_ejection_time: '10s', max_ejection_time: '1s' }),
  'outliers: 100 of 100': outlier({ max_ejection_percent: 100 }),
  'outliers: 101 of 100': outlier({ max_ejection_percent: 101 }),
  'outliers: success rate enforced in 101 of 100': outlier({ enforcing_success_rate: 101 }),
  'outliers: success rate not enforced': outlier({ enforcing_success_rate: 0 }),
  'outliers: failures enforced in 101 of 100': outlier({ enforcing_failure_percentage: 101 }),
  'outliers: threshold of 101': outlier({
    enforcing_failure_percentage: 100,
    failure_percentage_threshold: 101,
  }),
  'outliers: threshold of 101, not enforced': outlier({ failure_percentage_threshold: 101 }),
  'outliers: many hosts': outlier({
    success_rate_minimum_hosts: 10,
    success_rate_request_volume: 10,
    success_rate_stdev_factor: 1900,
  }),
  'policy: round_robin': policy(roundRobin),
  'policy: round_robin that warms up': policy(
    lb('round_robin', 'RoundRobin', { slow_start_config: { slow_start_window: '10s' } }),
  ),
  'policy: none': cluster({ load_balancing_policy: {} }),
  'policy: unknown': policy(unknown),
  'policy: unknown, then known': policy(unknown, roundRobin),
  'policy: a struct of an unknown type': policy(struct('type.googleapis.com/interop.Unknown')),
  'policy: a struct of an unknown type, then known': policy(
    struct('type.googleapis.com/interop.Unknown'),
    roundRobin,
  ),
  'policy: a struct named as a policy': policy(struct('type.googleapis.com/round_robin')),
  'policy: weighted_target': policy(weightedTarget),
  'policy: weighted_target, then round_robin': policy(weightedTarget, roundRobin),
  'policy: priority': policy(priority),
  'policy: priority, then round_robin': policy(priority, roundRobin),
  'policy: weighted_target without targets': policy(
    struct('type.googleapis.com/weighted_target_experimental'),
  ),
  'policy: without a configuration': cluster({
    load_balancing_policy: { policies: [{ typed_extension_config: { name: 'x' } }] },
  }),
  'policy: nothing': cluster({ load_balancing_policy: { policies: [{}] } }),
  'policy: beside lb_policy MAGLEV': (name) => ({
    ...policy(roundRobin)(name),
    lb_policy: 'MAGLEV',
  }),
  'policy: ring_hash': policy(ringHash({ minimum_ring_size: 10, hash_function: 'XX_HASH' })),
  'policy: ring_hash without a hash': policy(ringHash({})),
  'policy: ring_hash with another hash': policy(ringHash({ hash_function: 'MURMUR_HASH_2' })),
  'policy: ring_hash, smallest above largest': policy(
    ringHash({ minimum_ring_size: 100, maximum_ring_size: 10, hash_function: 'XX_HASH' }),
  ),
  'policy: ring_hash, largest too large': policy(
    ringHash({ maximum_ring_size: 8388609, hash_function: 'XX_HASH' }),
  ),
  'policy: least_request': policy(leastRequest({ choice_count: 3 })),
  'policy: least_request with 1 choice': policy(leastRequest({ choice_count: 1 })),
  'policy: pick_first': policy(lb('pick_first', 'PickFirst')),
  'policy: wrr_locality': policy(wrrLocality(roundRobin)),
  'policy: wrr_locality of nothing': policy(wrrLocality()),
  'policy: wrr_locality of something unknown': policy(wrrLocality(unknown)),
  'policy: wrr_locality of something unknown, then known': policy(wrrLocality(unknown, roundRobin)),
  'policy: wrr_locality of wrr_locality': policy(wrrLocality(wrrLocality(roundRobin))),
  'policy: wrr_locality without a child': policy(lb('wrr_locality', 'WrrLocality', {})),
  'policy: weighted round robin': policy(wrr({})),
  'policy: weighted round robin, negative penalty': policy(wrr({ error_utilization_penalty: -1 })),
  'policy: weighted round robin, negative blackout': policy(wrr({ blackout_period: '-1s' })),
  'policy: weighted round robin, negative update period': policy(
    wrr({ weight_update_period: '-1s' }),
  ),
  'policy: weighted round robin with reports': policy(
    wrr({ enable_oob_load_report: true, oob_reporting_period: '1s' }),
  ),
  'policy: round_robin, then something wrong': policy(
    roundRobin,
    ringHash({ maximum_ring_size: 8388609 }),
  ),
  'TLS that is empty': tls(),
  'TLS without authorities': tls({}),
  'TLS with an unknown provider': tls({
    validation_context: { ca_certificate_provider_instance: { instance_name: 'missing' } },
  }),
  'TLS with certificates in files': tls({
    tls_certificates: [{ certificate_chain: { filename: '/tmp/x' } }],
  }),
  'TLS with an identity alone': tls({ tls_certificate_provider_instance: instance }),
  'TLS with the older field of an identity alone': tls({
    tls_certificate_certificate_provider_instance: instance,
  }),
  'TLS with the older field of roots alone': tls({
    validation_context_certificate_provider_instance: instance,
  }),
  'TLS with the older field of combined roots alone': tls({
    combined_validation_context: { validation_context_certificate_provider_instance: instance },
  }),
  'TLS with roots alone': tls({ validation_context: roots }),
  'TLS with a name of type OTHER_NAME': typedName({ san_type: 'OTHER_NAME', matcher }),
  'TLS with a name of no type': typedName({ matcher }),
  'TLS with a name without a matcher': typedName({ san_type: 'DNS' }),
  'TLS with SDS': tls({ validation_context_sds_secret_config: { name: 'x' } }),
  'TLS with the roots of the system': tls(systemRoots),
  'TLS with the roots of the system and a default context': tls({
    combined_validation_context: { default_validation_context: { system_root_certs: {} } },
  }),
  'TLS with parameters': tls({ ...systemRoots, tls_params: {} }),
  'TLS with a handshaker': tls({ ...systemRoots, custom_handshaker: { name: 'x' } }),
  'TLS with a hash of certificates': validation({ verify_certificate_hash: ['00'] }),
  'TLS with a list of revoked certificates': validation({ crl: { filename: '/tmp/x' } }),
  'TLS with a depth of verification': validation({ max_verify_depth: 1 }),
  'TLS with names': validation({ match_subject_alt_names: [{ exact: 'a.test' }] }),
  'TLS with an unknown identity': tls({
    ...systemRoots,
    tls_certificate_provider_instance: { instance_name: 'missing' },
  }),
  'TLS with a server name': tls(systemRoots, { sni: 'a.test' }),
  'TLS with a server name of 256 characters': tls(systemRoots, { sni: 'a'.repeat(256) }),
  'TLS by another name': cluster({
    transport_socket: { ...tls(systemRoots)('x').transport_socket, name: 'tls' },
  }),
  'a transport that is no TLS': cluster({
    transport_socket: {
      name: 'raw',
      typed_config: typed('envoy.extensions.transport_sockets.raw_buffer.v3.RawBuffer'),
    },
  }),
  'a transport that is not known': cluster({
    transport_socket: { name: 'envoy.transport_sockets.tls', typed_config: unknown },
  }),
  'a transport without a configuration': cluster({
    transport_socket: { name: 'envoy.transport_sockets.tls' },
  }),
  'transports by match': cluster({
    transport_socket_matches: [
      { name: 'x', transport_socket: { name: 'y', typed_config: unknown } },
    ],
  }),
  'an idle time of connections': httpOptions({ idle_timeout: '5s' }),
  'a negative idle time of connections': httpOptions({ idle_timeout: '-5s' }),
  'a connection timeout': cluster({ connect_timeout: '5s' }),
  metadata: cluster({ metadata: { filter_metadata: { x: { y: 1 } } } }),
  'another name for statistics': cluster({ alt_stat_name: 'x' }),
  'health checks': cluster({
    health_checks: [
      { timeout: '1s', interval: '1s', unhealthy_threshold: 1, healthy_threshold: 1 },
    ],
  }),
};
