import type { JsonObject } from '@bufbuild/protobuf';
import type { SnapshotInput } from '../../src/control-plane';

const ads = { ads: {}, resource_api_version: 'V3' };
const hcm =
  'type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager';

/** The type URLs of the resources. */
export const LDS = 'type.googleapis.com/envoy.config.listener.v3.Listener';
export const RDS = 'type.googleapis.com/envoy.config.route.v3.RouteConfiguration';
export const CDS = 'type.googleapis.com/envoy.config.cluster.v3.Cluster';
export const EDS = 'type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment';

const shortNames = new Map(
  Object.entries({ LDS, RDS, CDS, EDS }).map(([name, url]) => [url, name]),
);

/** Returns `LDS`, `RDS`, `CDS` or `EDS`; the type URL itself for other types. */
export function shortNameOf(typeUrl: string): string {
  return shortNames.get(typeUrl) ?? typeUrl;
}

/** Returns an API listener with RDS. */
export function listener(name: string, routeConfigName = `${name}-routes`): JsonObject {
  return {
    name,
    api_listener: {
      api_listener: {
        '@type': hcm,
        rds: { config_source: ads, route_config_name: routeConfigName },
        http_filters: [
          {
            name: 'router',
            typed_config: {
              '@type': 'type.googleapis.com/envoy.extensions.filters.http.router.v3.Router',
            },
          },
        ],
      },
    },
  };
}

/** Returns a route configuration with one route, to one cluster. */
export function route(name: string, cluster: string): JsonObject {
  return {
    name,
    virtual_hosts: [
      { name: 'all', domains: ['*'], routes: [{ match: { prefix: '' }, route: { cluster } }] },
    ],
  };
}

/** Returns an EDS cluster whose service name is its own name. */
export function cluster(name: string): JsonObject {
  return { name, type: 'EDS', eds_cluster_config: { eds_config: ads } };
}

/** Returns endpoints on the loopback interface in one locality. */
export function endpoints(clusterName: string, ...ports: readonly number[]): JsonObject {
  return {
    cluster_name: clusterName,
    endpoints: [
      {
        locality: { region: 'here' },
        load_balancing_weight: 1,
        lb_endpoints: ports.map((port) => ({
          endpoint: { address: { socket_address: { address: '127.0.0.1', port_value: port } } },
        })),
      },
    ],
  };
}

/** The resources of one service, from listener to endpoints, all named `echo`. */
export const echo: Required<Omit<SnapshotInput, 'resources' | 'errors'>> = {
  listeners: [listener('echo')],
  routes: [route('echo-routes', 'echo')],
  clusters: [cluster('echo')],
  endpoints: [endpoints('echo', 50051)],
};
