import { edsClusterJson, routerFilter, type Json } from '../support/xds-json';
import {
  inlineRoutes,
  rbacFilter,
  rdsRoutes,
  serverChain,
  serverRouteConfig,
  strictTls,
} from '../support/xds-server-world';
import { CLIENT_FAILURES, tlsSocket, type Failure } from './failures';
import type { World } from './world';

/** The failures of an xDS server, as its log and its clients have them. */
const SERVER_FAILURES: readonly Failure[] = [
  {
    name: 'a server without a listener',
    start: (world) => serveServer(world, []),
    // There is no reason yet that it would be notified of.
    bind: (world) => Promise.resolve(void world.bindServer()),
  },
  {
    name: 'a server whose listener has another address',
    start: (world) => serveServer(world, [serverChain()], { host: '127.0.0.9' }),
    bind: (world) => world.bindServer(),
  },
  {
    name: 'a server whose routes are rejected',
    start: (world) => {
      const name = `${world.service}-inbound`;
      const match = { safe_regex: { regex: '(' } };
      const routes = [serverRouteConfig(name, [{ match, non_forwarding_action: {} }])];
      return serveServer(world, [serverChain(rdsRoutes(name))], { routes });
    },
    bind: (world) => world.bindServer(),
  },
  {
    name: 'a server without a route for the method',
    start: (world) => {
      const route = { match: { path: '/other/Method' }, non_forwarding_action: {} };
      return serveServer(world, [serverChain(inlineRoutes([route]))]);
    },
    bind: (world) => world.bindServer(),
  },
  {
    name: 'a server with a route that forwards',
    start: (world) => {
      const route = { match: { prefix: '' }, route: { cluster: world.cluster } };
      return serveServer(world, [serverChain(inlineRoutes([route]))]);
    },
    bind: (world) => world.bindServer(),
  },
  {
    name: 'a server with a policy that denies',
    start: (world) => serveServer(world, [denying('DENY', [{ any: true }])]),
    bind: (world) => world.bindServer(),
  },
  {
    name: 'a server with a policy that does not allow',
    start: (world) => {
      const permissions = [{ url_path: { path: { exact: '/other/Method' } } }];
      return serveServer(world, [denying('ALLOW', permissions)]);
    },
    bind: (world) => world.bindServer(),
  },
  {
    name: 'a server with mutual TLS, and a client in plain text',
    start: (world) => serveServer(world, [serverChain(inlineRoutes(), strictTls())]),
    bind: (world) => world.bindServer(),
  },
  {
    name: 'a server with mutual TLS, and a client without a certificate',
    isSecure: true,
    start: (world) => {
      const transport_socket = tlsSocket('roots', [{ exact: '127.0.0.1' }]);
      const chains = [serverChain(inlineRoutes(), strictTls())];
      return serveServer(world, chains, { cluster: { transport_socket } });
    },
    bind: (world) => world.bindServer(),
  },
];

/** The failures whose texts an operator sees. */
export const FAILURES: readonly Failure[] = [...CLIENT_FAILURES, ...SERVER_FAILURES];

function denying(action: 'ALLOW' | 'DENY', permissions: readonly Json[]): Json {
  const http_filters = [rbacFilter(action, permissions), routerFilter];
  return serverChain({ ...inlineRoutes(), http_filters });
}

/** What is unusual about the resources of a server and of its clients. */
interface Unusual {
  /** The address of the listener. */
  readonly host?: string;
  /** Members of the cluster. */
  readonly cluster?: Json;
  /** The routes of the server by RDS. */
  readonly routes?: readonly Json[];
}

/** Serves the resources of a server and of its clients. @param chains Of its listener; none for no listener. */
async function serveServer(
  world: World,
  chains: readonly Json[],
  { host = '127.0.0.1', cluster = {}, routes = [] }: Unusual = {},
): Promise<object> {
  const { address, port } = await world.reserveServer();
  const resources = world.resources([port]);
  const listener = {
    name: `server/${address}`,
    address: { socket_address: { address: host, port_value: port } },
    filter_chains: chains,
  };
  const bootstrap = await world.serve({
    ...resources,
    listeners: [...resources.listeners, ...(chains.length > 0 ? [listener] : [])],
    routes: [...resources.routes, ...routes],
    clusters: [edsClusterJson(world.cluster, cluster)],
  });
  return {
    ...bootstrap,
    server_listener_resource_name_template: 'server/%s',
    certificate_providers: world.certificateProviders(),
  };
}
