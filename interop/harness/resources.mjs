// Resources in proto3 JSON, as the cases serve them.

const TYPE = 'type.googleapis.com';

/** A message in an Any. */
export const typed = (type, value = {}) => ({ '@type': `${TYPE}/${type}`, ...value });

/** The name that clients call. */
export const SERVICE = 'psm.test:8000';

const MANAGER = 'envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager';
const TLS = 'envoy.extensions.transport_sockets.tls.v3';

const ROUTER = {
  name: 'router',
  typed_config: typed('envoy.extensions.filters.http.router.v3.Router'),
};

/** A listener that takes its routes by RDS. */
export const listener = ({ name = SERVICE, routes = 'routes', filters = [] } = {}) => ({
  name,
  api_listener: {
    api_listener: typed(MANAGER, {
      rds: { route_config_name: routes, config_source: { ads: {} } },
      http_filters: [...filters, ROUTER],
    }),
  },
});

const tlsSocket = (kind, context) =>
  context === undefined
    ? {}
    : {
        transport_socket: {
          name: 'envoy.transport_sockets.tls',
          typed_config: typed(`${TLS}.${kind}`, context),
        },
      };

/** The TLS of a cluster, to be put into it; without a context there is none. */
export const upstreamTls = (context) => tlsSocket('UpstreamTlsContext', context);

/** Accepts all requests of a server, with overrides of its filters. */
export const servingRoute = (match = { prefix: '' }, overrides = {}) => ({
  match,
  non_forwarding_action: {},
  typed_per_filter_config: overrides,
});

/**
 * A Listener of a server (gRFC A36).
 * @param at The name of the Listener, and the address that it is for.
 * @param options.context The TLS of its connections; plain text without one.
 * @param options.filters Before the router.
 * @param options.routes The name of routes of RDS; without one, all requests are accepted.
 */
export const serverListener = ({ name, host, port }, { context, filters = [], routes } = {}) => {
  const rds = { route_config_name: routes, config_source: { ads: {} } };
  const manager = typed(MANAGER, {
    ...(routes === undefined ? { route_config: routeConfig([servingRoute()], 'inline') } : { rds }),
    http_filters: [...filters, ROUTER],
  });
  return {
    name,
    address: socketAddress(host, port),
    filter_chains: [
      {
        filters: [{ name: 'manager', typed_config: manager }],
        ...tlsSocket('DownstreamTlsContext', context),
      },
    ],
  };
};

/** A filter of authorization for servers (gRFC A41), with a policy for each name. */
export const rbac = (action, policies, name = 'rbac') => ({
  name,
  typed_config: typed('envoy.extensions.filters.http.rbac.v3.RBAC', {
    rules: { action, policies },
  }),
});

export const routeConfig = (routes, name = 'routes') => ({
  name,
  virtual_hosts: [{ name: 'all', domains: ['*'], routes }],
});

/** A route to a cluster: `action` goes into the route action, the rest beside it. */
export const route = (match, cluster, { action = {}, ...extra } = {}) => ({
  match,
  route: { cluster, ...action },
  ...extra,
});

/** The route for everything. */
export const anyRoute = (cluster, extra) => route({ prefix: '' }, cluster, extra);

export const cluster = (name, extra = {}) => ({
  name,
  type: 'EDS',
  eds_cluster_config: { eds_config: { ads: {} } },
  lb_policy: 'ROUND_ROBIN',
  ...extra,
});

const socketAddress = (address, port) => ({ socket_address: { address, port_value: port } });

/** One endpoint; `addresses` other than 127.0.0.1 make it a dual-stack one. */
const endpoint = ({ port }, { addresses = ['127.0.0.1'], ...extra } = {}) => {
  const [first, ...others] = addresses.map((address) => socketAddress(address, port));
  const additional = others.map((address) => ({ address }));
  const more = additional.length === 0 ? {} : { additional_addresses: additional };
  return { endpoint: { address: first, ...more }, ...extra };
};

/**
 * The endpoints of a cluster.
 * @param groups Each a locality: `{ servers, zone, priority, weight }`, or `{ endpoints, … }`.
 */
export const assignment = (name, ...groups) => ({
  cluster_name: name,
  endpoints: groups.map(({ servers = [], endpoints, zone, priority = 0, weight = 1 }, index) => ({
    locality: { region: 'interop', zone: zone ?? `zone-${index}` },
    load_balancing_weight: weight,
    priority,
    lb_endpoints: endpoints ?? servers.map((server) => endpoint(server)),
  })),
});

/** Everything for one cluster; what is given replaces what is made up. */
export const oneCluster = (groups, { clusterExtra, filters, routes } = {}) => ({
  listeners: [listener({ filters })],
  routes: [routeConfig(routes ?? [anyRoute('main')])],
  clusters: [cluster('main', clusterExtra)],
  endpoints: [assignment('main', ...groups)],
});

/** Everything for clusters of some servers each, with these routes to them. */
export const clustersOf = (serversByName, routes, { filters, clusterExtra = {} } = {}) => ({
  listeners: [listener({ filters })],
  routes: [routeConfig(routes)],
  clusters: Object.keys(serversByName).map((name) => cluster(name, clusterExtra[name])),
  endpoints: Object.entries(serversByName).map(([name, servers]) => assignment(name, { servers })),
});
