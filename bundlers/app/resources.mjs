import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const PACKAGE = 'type.googleapis.com/envoy.extensions.filters';

/** The resources of one service with one backend; its route has a regular expression and its cluster hashes. */
export function resourcesFor(name, port) {
  const ads = { ads: {}, resource_api_version: 'V3' };
  const router = { '@type': `${PACKAGE}.http.router.v3.Router` };
  const route = {
    match: { safe_regex: { regex: '/echo[.].*' } },
    route: { cluster: name, hash_policy: [{ header: { header_name: 'user' } }] },
  };
  const socket_address = { address: '127.0.0.1', port_value: port };
  return {
    listeners: [
      {
        name,
        api_listener: {
          api_listener: {
            '@type': `${PACKAGE}.network.http_connection_manager.v3.HttpConnectionManager`,
            rds: { route_config_name: name, config_source: ads },
            http_filters: [{ name: 'router', typed_config: router }],
          },
        },
      },
    ],
    routes: [{ name, virtual_hosts: [{ name, domains: ['*'], routes: [route] }] }],
    clusters: [
      { name, type: 'EDS', eds_cluster_config: { eds_config: ads }, lb_policy: 'RING_HASH' },
    ],
    endpoints: [
      {
        cluster_name: name,
        endpoints: [
          {
            locality: { zone: 'a' },
            load_balancing_weight: 1,
            lb_endpoints: [{ endpoint: { address: { socket_address } } }],
          },
        ],
      },
    ],
  };
}

const TYPES = {
  listeners: 'envoy.config.listener.v3.Listener',
  routes: 'envoy.config.route.v3.RouteConfiguration',
  clusters: 'envoy.config.cluster.v3.Cluster',
  endpoints: 'envoy.config.endpoint.v3.ClusterLoadAssignment',
};

/** Writes the resources into a file, as a server of the scheme `file:` reads it. */
export function writeResourceFile(resources) {
  const folder = mkdtempSync(join(tmpdir(), 'grpc-xds-bundlers-'));
  const path = join(folder, 'resources.yaml');
  const all = Object.entries(resources).flatMap(([kind, list]) =>
    list.map((resource) => ({ '@type': `type.googleapis.com/${TYPES[kind]}`, ...resource })),
  );
  writeFileSync(path, JSON.stringify({ resources: all }));
  return { url: pathToFileURL(path).href, remove: () => rmSync(folder, { recursive: true }) };
}
