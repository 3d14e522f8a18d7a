// The resources of the five services, as a function of what a step of the story changes.

import { Snapshot } from 'grpc-xds/control-plane';
import { spiffeId } from './certificates.mjs';

const TYPE = 'type.googleapis.com';

/** The services, each with those that it calls before it answers. */
export const CALLS = {
  web: ['catalog', 'cart'],
  catalog: ['stock'],
  stock: [],
  cart: ['payment'],
  payment: [],
};

/** The clusters, each with the number of its backends in every zone. */
export const CLUSTERS = {
  web: { a: 1, b: 1 },
  catalog: { a: 2, b: 1 },
  stock: { a: 2, b: 2 },
  'cart-v1': { a: 2, b: 1 },
  'cart-v2': { a: 1, b: 1 },
  payment: { a: 2, b: 1 },
};

/** The clusters whose zone b is not used while zone a can be reached. */
const WITH_PRIORITIES = ['payment'];

/** What the control plane serves while nothing is wrong. A step changes some of it. */
export const HEALTHY = {
  /** The share of cart-v2, the canary, of the calls of the service cart. */
  canaryPercent: 0,
  /** The weight of the locality eu/b of the cluster stock. */
  stockWeightOfB: 2,
  /** The load-balancing policy of the cluster catalog. */
  catalogPolicy: 'ROUND_ROBIN',
  /** The zone whose endpoints the control plane has found to be unhealthy. */
  unhealthyZone: undefined,
};

/** Returns the names of the backends of a cluster in a zone, such as `stock-b2`. */
export function backendNames(cluster, zone) {
  return Array.from({ length: CLUSTERS[cluster][zone] }, (_, i) => `${cluster}-${zone}${i + 1}`);
}

/** Returns the service of a cluster, or of a backend, such as `cart` of `cart-v2-a1`. */
export const serviceOf = (name) => name.split('-')[0];

/** Mutual TLS with the certificates of the instance `default`, to a server that is the service. */
const mutualTls = (service) => ({
  name: 'envoy.transport_sockets.tls',
  typed_config: {
    '@type': `${TYPE}/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext`,
    common_tls_context: {
      tls_certificate_provider_instance: { instance_name: 'default' },
      combined_validation_context: {
        default_validation_context: {
          ca_certificate_provider_instance: { instance_name: 'default' },
          match_subject_alt_names: [{ exact: spiffeId(service) }],
        },
      },
    },
  },
});

const listener = (service) => ({
  name: service,
  api_listener: {
    api_listener: {
      '@type': `${TYPE}/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager`,
      rds: { route_config_name: `${service}-routes`, config_source: { ads: {} } },
      http_filters: [
        {
          name: 'router',
          typed_config: { '@type': `${TYPE}/envoy.extensions.filters.http.router.v3.Router` },
        },
      ],
    },
  },
});

/** A backend that is lost may have had a call already: another one takes it. */
const retry_policy = { retry_on: 'unavailable,cancelled', num_retries: 3 };

const routeConfig = (service, action) => ({
  name: `${service}-routes`,
  virtual_hosts: [
    {
      name: service,
      domains: ['*'],
      routes: [{ name: 'all', match: { prefix: '' }, route: { ...action, retry_policy } }],
    },
  ],
});

const cluster = (name, extra = {}) => ({
  name,
  type: 'EDS',
  eds_cluster_config: { eds_config: { ads: {} } },
  lb_policy: 'ROUND_ROBIN',
  transport_socket: mutualTls(serviceOf(name)),
  ...extra,
});

/** Ejects a backend for 3 s when half of its calls of a second fail. */
const outlier_detection = {
  interval: '1s',
  base_ejection_time: '3s',
  max_ejection_time: '3s',
  max_ejection_percent: 50,
  enforcing_success_rate: 0,
  enforcing_failure_percentage: 100,
  failure_percentage_threshold: 50,
  failure_percentage_minimum_hosts: 3,
  failure_percentage_request_volume: 3,
};

/** @param ports Those of the backends, by their names. */
function assignment(name, ports, { stockWeightOfB, unhealthyZone }) {
  const zones = Object.entries(CLUSTERS[name]);
  return {
    cluster_name: name,
    endpoints: zones.map(([zone, count]) => ({
      locality: { region: 'eu', zone },
      priority: zone === 'b' && WITH_PRIORITIES.includes(name) ? 1 : 0,
      load_balancing_weight: name === 'stock' && zone === 'b' ? stockWeightOfB : count,
      lb_endpoints: backendNames(name, zone).map((backend) => ({
        endpoint: {
          address: { socket_address: { address: '127.0.0.1', port_value: ports.get(backend) } },
        },
        health_status: zone === unhealthyZone ? 'UNHEALTHY' : 'HEALTHY',
      })),
    })),
  };
}

/** Returns the resources of the mesh. @param ports Those of the backends, by their names. */
export function meshSnapshot(ports, settings) {
  const servers = [...ports.values()].map((port) => [`127.0.0.1:${port}`, { mtls: 'STRICT' }]);
  return Snapshot.forServers(Object.fromEntries(servers)).merge(clientResources(ports, settings));
}

function clientResources(ports, settings) {
  const { canaryPercent, catalogPolicy } = settings;
  return {
    listeners: Object.keys(CALLS).map(listener),
    routes: [
      ...['web', 'catalog', 'stock', 'payment'].map((name) => routeConfig(name, { cluster: name })),
      routeConfig('cart', {
        weighted_clusters: {
          clusters: [
            { name: 'cart-v1', weight: 100 - canaryPercent },
            { name: 'cart-v2', weight: canaryPercent },
          ],
        },
      }),
    ],
    clusters: Object.keys(CLUSTERS).map((name) => {
      if (name === 'catalog') return cluster(name, { lb_policy: catalogPolicy });
      return cluster(name, name === 'stock' ? { outlier_detection } : {});
    }),
    endpoints: Object.keys(CLUSTERS).map((name) => assignment(name, ports, settings)),
  };
}
