// What istiod tells a proxyless node, in proto3 JSON: names, lists and sizes are as it makes them.

const TYPE = 'type.googleapis.com';
const NAMESPACE = 'shop';
const TRUST = 'cluster.local';

/** `node` of a bootstrap as the agent beside a proxyless workload writes it: metadata of every JSON type, and a lot of it. */
export const istioNode = {
  id: `sidecar~10.1.2.3~caller-6d5f.${NAMESPACE}~${NAMESPACE}.svc.${TRUST}`,
  locality: { region: 'interop', zone: 'zone-0' },
  metadata: {
    GENERATOR: 'grpc',
    NAMESPACE,
    INSTANCE_IPS: '10.1.2.3,fe80::1',
    PILOT_SAN: ['istiod.istio-system.svc'],
    PROXY_CONFIG: { concurrency: 2, statusPort: 15020, tracing: { sampling: 0.5 }, holds: true },
    LABELS: Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`label-${i}`, `v-${i}`])),
    ANNOTATIONS: { 'inject.istio.io/templates': 'grpc-agent', empty: '', nothing: null },
  },
};

/** The certificates that Istio's agent puts into a bootstrap: clients refuse clusters that name others. */
export const istioCertificates = {
  default: {
    plugin_name: 'file_watcher',
    config: {
      certificate_file: '/var/lib/istio/data/cert-chain.pem',
      private_key_file: '/var/lib/istio/data/key.pem',
      ca_certificate_file: '/var/lib/istio/data/root-cert.pem',
      refresh_interval: '900s',
    },
  },
};

export const hostOf = (service) => `${service}.${NAMESPACE}.svc.${TRUST}`;

/** The name of the routes, the cluster and the endpoints of a service. */
const istioName = (service, port, subset = '') => `outbound|${port}|${subset}|${hostOf(service)}`;

const ads = { ads: {}, initial_fetch_timeout: '0s', resource_api_version: 'V3' };

const filter = (name, type) => ({
  name,
  typed_config: { '@type': `${TYPE}/envoy.extensions.filters.http.${type}` },
});

const listener = ({ service, port, address }) => ({
  name: `${hostOf(service)}:${port}`,
  address: { socket_address: { address, port_value: port } },
  additional_addresses: [{ address: { socket_address: { address: 'fd00::7', port_value: port } } }],
  api_listener: {
    api_listener: {
      '@type': `${TYPE}/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager`,
      stat_prefix: 'grpc',
      rds: { config_source: ads, route_config_name: istioName(service, port) },
      http_filters: [
        filter('envoy.filters.http.fault', 'fault.v3.HTTPFault'),
        filter('envoy.filters.http.router', 'router.v3.Router'),
      ],
    },
  },
});

/** A service by all the names it has, each with its port and without. */
const domainsOf = ({ service, port, address }) => {
  const parts = [`.${NAMESPACE}`, '.svc', `.${TRUST}`];
  const short = parts.map((_, i) => service + parts.slice(0, i).join(''));
  const names = [hostOf(service), ...short, address];
  return names.flatMap((name) => [name, `${name}:${port}`]);
};

const virtualHost = (entry) => ({
  name: `${hostOf(entry.service)}:${entry.port}`,
  domains: domainsOf(entry),
  routes: [
    {
      name: 'default',
      match: { prefix: '/' },
      route: {
        cluster: istioName(entry.service, entry.port, entry.subset),
        timeout: '0s',
        retry_policy: {
          retry_on: 'connect-failure,refused-stream,unavailable,cancelled,retriable-status-codes',
          num_retries: 2,
        },
        max_stream_duration: { max_stream_duration: '0s', grpc_timeout_header_max: '0s' },
      },
      metadata: { filter_metadata: { istio: { config: `/apis/networking/${entry.service}` } } },
    },
  ],
});

/** The routes of a service. Older versions put every service of the port into it; here, all do. */
const routeConfig = ({ service, port }, all) => ({
  name: istioName(service, port),
  virtual_hosts: all.filter((other) => other.port === port).map(virtualHost),
});

/** Mutual TLS, with the provider instances in the fields of old and in those that took their place. */
const mutualTls = ({ service, port }) => {
  const instance = { instance_name: 'default', certificate_name: 'default' };
  const root = { instance_name: 'default', certificate_name: 'ROOTCA' };
  const san = { exact: `spiffe://${TRUST}/ns/${NAMESPACE}/sa/${service}` };
  return {
    name: 'envoy.transport_sockets.tls',
    typed_config: {
      '@type': `${TYPE}/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext`,
      common_tls_context: {
        tls_certificate_certificate_provider_instance: instance,
        tls_certificate_provider_instance: instance,
        combined_validation_context: {
          default_validation_context: {
            ca_certificate_provider_instance: root,
            match_subject_alt_names: [san],
          },
          validation_context_certificate_provider_instance: root,
        },
      },
      sni: `outbound_.${port}_._.${hostOf(service)}`,
    },
  };
};

const cluster = (entry) => {
  const name = istioName(entry.service, entry.port, entry.subset);
  const services = [{ host: hostOf(entry.service), name: entry.service, namespace: NAMESPACE }];
  return {
    name,
    type: 'EDS',
    eds_cluster_config: { eds_config: ads, service_name: name },
    connect_timeout: '10s',
    lb_policy: 'LEAST_REQUEST',
    circuit_breakers: { thresholds: [{ max_requests: 4294967295 }] },
    metadata: { filter_metadata: { istio: { services, note: 'x'.repeat(16_384) } } },
    ...(entry.isSecure === true && { transport_socket: mutualTls(entry) }),
  };
};

const endpoint = ({ service }, { port, health = 'HEALTHY' }, index) => {
  const workload = `${service}-${index};${NAMESPACE};${service};v1;Kubernetes`;
  const labels = Array.from({ length: 20 }, (_, i) => [`label-${i}`, 'y'.repeat(60)]);
  return {
    endpoint: { address: { socket_address: { address: '127.0.0.1', port_value: port } } },
    health_status: health,
    load_balancing_weight: 1,
    metadata: { filter_metadata: { istio: { workload, ...Object.fromEntries(labels) } } },
  };
};

const assignment = (entry) => ({
  cluster_name: istioName(entry.service, entry.port, entry.subset),
  endpoints: [
    {
      locality: { region: 'interop', zone: 'zone-0', sub_zone: '' },
      load_balancing_weight: Math.max(1, entry.endpoints.length),
      lb_endpoints: entry.endpoints.map((one, index) => endpoint(entry, one, index)),
    },
  ],
});

/** Every push is of a version of its own, though nothing may have changed. */
const stamped = (resource, push) => ({
  '@type': `${TYPE}/envoy.service.discovery.v3.Resource`,
  version: `2026-01-01T00:00:00Z/${push}`,
  resource,
});

/**
 * The resources of some services.
 * @param services Each `{ service, port, address, endpoints: [{ port, health }], subset, isSecure }`.
 * @param push Its number: with another one, everything is sent again, whether it is the same or not.
 */
export const istioResources = (services, push) => {
  const make = (create) => services.map((entry) => stamped(create(entry, services), push));
  return {
    listeners: make(listener),
    routes: make(routeConfig),
    clusters: make(cluster),
    endpoints: make(assignment),
  };
};
