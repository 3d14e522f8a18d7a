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
  balancing(
    policy('random_subsetting.v3.RandomSubsetting', {
      subset_size: 5,
      child_policy: balancing(policy('least_request.v3.LeastRequest', { choice_count: 3 })),
    }),
  ),
  balancing(policy('pick_first.v3.PickFirst', { shuffle_address_list: true })),
];

/** A cluster of each type and of each load-balancing policy. */
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
