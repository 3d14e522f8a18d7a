// Resources in proto3 JSON, as a control plane file has them.

const TYPE = 'type.googleapis.com';

export type Json = Record<string, unknown>;

export const routerFilter: Json = {
  name: 'router',
  typed_config: { '@type': `${TYPE}/envoy.extensions.filters.http.router.v3.Router` },
};

/** An API listener that takes its routes from RDS. */
export function listenerJson(
  name: string,
  routeConfigName = `${name}-routes`,
  extra: Json = {},
): Json {
  return { name, api_listener: apiListenerJson(routeConfigName, extra) };
}

function apiListenerJson(routeConfigName: string, extra: Json = {}): Json {
  return {
    api_listener: {
      '@type': `${TYPE}/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager`,
      rds: { route_config_name: routeConfigName, config_source: { ads: {} } },
      http_filters: [routerFilter],
      ...extra,
    },
  };
}

/** A filter chain of a server that takes its routes from RDS. */
export function filterChainJson(
  routeConfigName: string,
  extra: Json = {},
  managerExtra: Json = {},
): Json {
  const { api_listener: manager } = apiListenerJson(routeConfigName, managerExtra);
  return { filters: [{ name: 'manager', typed_config: manager }], ...extra };
}

/** A listener of a server, with these filter chains. */
export function socketListenerJson(
  name: string,
  filter_chains: readonly Json[],
  extra: Json = {},
): Json {
  const address = { socket_address: { address: '10.0.0.1', port_value: 8080 } };
  return { name, address, filter_chains, ...extra };
}

/** A route configuration of one virtual host for every domain. */
export function routeConfigJson(name: string, routes: readonly Json[]): Json {
  return { name, virtual_hosts: [{ name: 'all', domains: ['*'], routes }] };
}

/** A route for every call to one cluster. */
export function routeToCluster(cluster: string, extra: Json = {}): Json {
  return { match: { prefix: '' }, route: { cluster, ...extra } };
}

/** A route for every call, which splits them among clusters by weight. */
export function routeToSplit(weights: Readonly<Record<string, number>>): Json {
  const clusters = Object.entries(weights).map(([name, weight]) => ({ name, weight }));
  return { match: { prefix: '' }, route: { weighted_clusters: { clusters } } };
}

/** A list of one policy of Envoy's, by the end of its type. */
export function lbPolicyJson(type: string, config: Json = {}): Json {
  const at = `type.googleapis.com/envoy.extensions.load_balancing_policies.${type}`;
  const typed_config = { '@type': at, ...config };
  return { policies: [{ typed_extension_config: { name: 'policy', typed_config } }] };
}

/** What a cluster has besides whose policy is pick_first. */
export const PICK_FIRST: Json = {
  load_balancing_policy: lbPolicyJson('pick_first.v3.PickFirst'),
};

export function edsClusterJson(name: string, extra: Json = {}): Json {
  return {
    name,
    type: 'EDS',
    eds_cluster_config: { eds_config: { ads: {} } },
    lb_policy: 'ROUND_ROBIN',
    ...extra,
  };
}

/** An assignment with one locality per list of ports, each of the given priority. */
export function endpointsJson(
  cluster: string,
  localities: readonly { zone: string; priority?: number; ports: readonly number[] }[],
): Json {
  return {
    cluster_name: cluster,
    endpoints: localities.map(({ zone, priority = 0, ports }) => ({
      locality: { region: 'test', zone },
      load_balancing_weight: 1,
      priority,
      lb_endpoints: ports.map((port) => ({
        endpoint: { address: { socket_address: { address: '127.0.0.1', port_value: port } } },
      })),
    })),
  };
}
