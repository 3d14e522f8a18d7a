import {
  edsClusterJson,
  listenerJson,
  routeConfigJson,
  routeToCluster,
  type Json,
} from '../support/xds-json';
import type { MeshResources } from '../support/mesh';
import type { ClusterSettings } from './tls-case';

const TYPE = 'type.googleapis.com/envoy';
const PROXY_ADDRESS_KEY = 'envoy.http11_proxy_transport_socket.proxy_address';

/** The name of a service of a case: `0` is its first one. */
export function serviceName(caseId: string, index = 0): string {
  return `${caseId}-${index}.matrix.test`;
}

/** All resources of a case whose server has this port. */
export function resourcesOf(
  caseId: string,
  settings: ClusterSettings,
  port: number,
): MeshResources {
  const { others = [] } = settings;
  const first = socketOf(settings);
  const sockets = [first, ...others.map((tls) => tls && tlsSocket(tls))];
  const services = sockets.map((socket, index) => ({ socket, name: serviceName(caseId, index) }));
  return {
    listeners: services.map(({ name }) => listenerJson(name)),
    routes: services.map(({ name }) => routeConfigJson(`${name}-routes`, [routeToCluster(name)])),
    clusters: services.map(({ name, socket }) =>
      edsClusterJson(name, socket === undefined ? {} : { transport_socket: socket }),
    ),
    endpoints: services.map(({ name }) => assignment(name, settings, port)),
  };
}

function socketOf({ tls, socket, isProxied = false }: ClusterSettings): Json | undefined {
  const inner = socket ?? (tls && tlsSocket(tls));
  if (!isProxied) return inner;
  const type = 'extensions.transport_sockets.http_11_proxy.v3.Http11ProxyUpstreamTransport';
  return {
    name: 'envoy.transport_sockets.http_11_proxy',
    typed_config: { '@type': `${TYPE}.${type}`, ...(inner && { transport_socket: inner }) },
  };
}

function tlsSocket(tls: Json): Json {
  return {
    name: 'envoy.transport_sockets.tls',
    typed_config: {
      '@type': `${TYPE}.extensions.transport_sockets.tls.v3.UpstreamTlsContext`,
      ...tls,
    },
  };
}

function assignment(name: string, { hostname, isProxied }: ClusterSettings, port: number): Json {
  const address = { socket_address: { address: '127.0.0.1', port_value: port } };
  const proxy = { [PROXY_ADDRESS_KEY]: { '@type': `${TYPE}.config.core.v3.Address`, ...address } };
  const endpoint = {
    endpoint: { address, ...(hostname !== undefined && { hostname }) },
    ...(isProxied === true && { metadata: { typed_filter_metadata: proxy } }),
  };
  const locality = { region: 'test', zone: 'a' };
  const endpoints = [{ locality, load_balancing_weight: 1, lb_endpoints: [endpoint] }];
  return { cluster_name: name, endpoints };
}
