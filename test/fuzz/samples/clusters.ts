import { edsClusterJson, endpointsJson, type Json } from '../../support/xds-json';
import { proxyAddress } from './assignments';
import { HTTP, LB, TYPE } from './type-urls';

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
  balancing(policy('maglev.v3.Maglev', { table_size: 101 }), policy('round_robin.v3.RoundRobin')),
  balancing(
    policy('random_subsetting.v3.RandomSubsetting', {
      subset_size: 5,
      child_policy: balancing(policy('least_request.v3.LeastRequest', { choice_count: 3 })),
    }),
  ),
  balancing(policy('pick_first.v3.PickFirst', { shuffle_address_list: true })),
];

const instance: Json = { instance_name: 'mesh', certificate_name: 'ROOTCA' };
const TLS = `${TYPE}/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext`;
const secured = (common_tls_context: Json, extra: Json = {}): Json => ({
  transport_socket: {
    name: 'envoy.transport_sockets.tls',
    typed_config: { '@type': TLS, common_tls_context, ...extra },
  },
});

/** Clusters with TLS, in newer and in older fields. */
const securedClusters: readonly Json[] = [
  secured(
    {
      tls_certificate_provider_instance: instance,
      validation_context: {
        ca_certificate_provider_instance: instance,
        match_subject_alt_names: [{ exact: 'spiffe://td/a' }, { prefix: 'a.', ignore_case: true }],
        match_typed_subject_alt_names: [
          { san_type: 'DNS', matcher: { safe_regex: { regex: 'a.*' } } },
        ],
      },
    },
    { sni: 'a.example', auto_host_sni: true, auto_sni_san_validation: true },
  ),
  secured({
    tls_certificate_certificate_provider_instance: instance,
    combined_validation_context: {
      default_validation_context: { system_root_certs: {}, match_subject_alt_names: [] },
      validation_context_certificate_provider_instance: instance,
    },
  }),
].map((extra, index) => edsClusterJson(`tls-${index}`, extra));

/** A cluster of each type, of each load-balancing policy, and with TLS. */
export const clusters: readonly Json[] = [
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
  edsClusterJson('proxied', {
    transport_socket: {
      name: 'envoy.transport_sockets.http_11_proxy',
      typed_config: {
        '@type': `${TYPE}/envoy.extensions.transport_sockets.http_11_proxy.v3.Http11ProxyUpstreamTransport`,
      },
    },
    metadata: {
      typed_filter_metadata: {
        authn: { '@type': `${HTTP}.gcp_authn.v3.Audience`, url: 'https://a.example' },
        proxy: proxyAddress,
      },
      filter_metadata: { other: { n: 1.5, l: [true, null, { s: 'x' }] } },
    },
  }),
  ...securedClusters,
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
