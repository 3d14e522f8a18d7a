import {
  listOf,
  mapOf,
  objectOf,
  oneOf,
  isRecord,
  optional,
  type MembersOf,
  type Rule,
} from '../../util/check-arguments';
import { parseIpPort, type IpPort } from '../../util/host-port';
import { joinHostPort } from '../../util/text';
import { valueAt } from '../../util/value-at';
import type { ResourceJson } from './resource-input';
import { SnapshotError, type SnapshotProblem } from './snapshot-builder';

/** The configuration of one server by a mesh. */
export interface ServerSecurity {
  /**
   * The mode of mutual TLS, as in Istio's PeerAuthentication. With `STRICT`, clients must have a certificate that the provider
   * `default` of the server's bootstrap verifies. `DISABLE` is plain text, and so is `PERMISSIVE`: istiod sends gRPC servers no chain that
   * serves both.
   */
  readonly mtls: 'STRICT' | 'PERMISSIVE' | 'DISABLE';
  /** HTTP filters as proto3 JSON in their order, such as RBAC; the router follows them. Default: none. */
  readonly httpFilters?: readonly ResourceJson[];
}

/** Servers by the addresses at which they listen, `IP:port`, such as `127.0.0.1:50051` or `[::]:50051`. */
export type Servers = Readonly<Record<string, ServerSecurity>>;

/** Options of the Listeners of servers. */
export interface ServerListenerOptions {
  /**
   * Names the Listener of an address, which replaces `%s`: `server_listener_resource_name_template` of the server's bootstrap.
   * Default: Istio's template, `xds.istio.io/grpc/lds/inbound/%s`, which a bootstrap of `ControlPlane.start()` has.
   */
  readonly nameTemplate?: string;
}

const SERVER: MembersOf<ServerSecurity> = {
  mtls: oneOf('STRICT', 'PERMISSIVE', 'DISABLE'),
  httpFilters: optional(
    listOf('a list of HTTP filters', { legal: 'an HTTP filter', accepts: isRecord }),
  ),
};

export const SERVERS: Rule = mapOf('an object of servers by their IP:port', objectOf(SERVER));

export const SERVER_OPTIONS: MembersOf<ServerListenerOptions> = {
  nameTemplate: optional({
    legal: 'a text with %s for the address',
    accepts: (value) => typeof value === 'string' && value.includes('%s'),
  }),
};

/** The template of the names of Listeners for servers that istiod serves. */
export const SERVER_LISTENER_TEMPLATE = 'xds.istio.io/grpc/lds/inbound/%s';

const TYPES = 'type.googleapis.com/envoy.extensions';

/**
 * Returns the Listeners of servers, field by field as istiod sends them: one filter chain with inline routes.
 *
 * @throws `SnapshotError` for addresses that cannot be used, and for filters that every server rejects.
 */
export function listenersOfServers(
  servers: Servers,
  { nameTemplate = SERVER_LISTENER_TEMPLATE }: ServerListenerOptions = {},
): readonly ResourceJson[] {
  const problems: SnapshotProblem[] = [];
  const listeners = Object.entries(servers).flatMap(([text, security]) => {
    const address = parseIpPort(text);
    if (address === undefined) {
      const reason = 'must be an IP address with a port, such as 127.0.0.1:50051';
      problems.push({ list: 'servers', name: text, path: [], reason });
      return [];
    }
    for (const [i, filter] of (security.httpFilters ?? []).entries()) {
      const reason = findFilterProblem(filter);
      if (reason !== undefined) {
        problems.push({ list: 'servers', name: text, path: ['httpFilters', i], reason });
      }
    }
    const chain = createChain(security);
    return createListener(nameOf(nameTemplate, address), address, chain);
  });
  if (problems.length > 0) throw new SnapshotError(problems);
  return listeners;
}

const ROUTER_TYPE = `${TYPES}.filters.http.router.v3.Router`;

/** The filters that only clients have (gRFCs A33, A55 and A83): a server rejects a Listener with one that is not optional. */
const CLIENT_FILTERS: ReadonlySet<unknown> = new Set([
  `${TYPES}.filters.http.fault.v3.HTTPFault`,
  `${TYPES}.filters.http.stateful_session.v3.StatefulSession`,
  `${TYPES}.filters.http.gcp_authn.v3.GcpAuthnFilterConfig`,
]);

/** Returns why every server rejects a Listener with an HTTP filter before the router; `undefined` if one may accept it. */
function findFilterProblem(filter: ResourceJson): string | undefined {
  const config = valueAt(filter, 'typed_config') ?? valueAt(filter, 'typedConfig');
  const type = valueAt(config, '@type');
  if (type === ROUTER_TYPE) return 'the router follows the filters given here: leave it out';
  const isOptional = valueAt(filter, 'is_optional') ?? valueAt(filter, 'isOptional');
  if (isOptional === true || !CLIENT_FILTERS.has(type)) return undefined;
  return `${String(type)} is a filter of clients, which servers reject`;
}

/** Names a Listener as servers read their template (gRFC A36): with every `%s`, and an IPv6 address in its shortest form. */
function nameOf(template: string, { address, port }: IpPort): string {
  const isShortened = address.includes(':') && !/[%.]/.test(address);
  const host = isShortened ? new URL(`http://[${address}]`).hostname.slice(1, -1) : address;
  const text = joinHostPort(host, port);
  // The path of a URI has no brackets (gRFC A47).
  const name = template.startsWith('xdstp:') ? text.replace(/[[\]%]/g, encodeURIComponent) : text;
  return template.replaceAll('%s', () => name);
}

function createListener(
  name: string,
  { address, port }: IpPort,
  chain: ResourceJson,
): ResourceJson {
  const socket_address = { address, port_value: port };
  return { name, address: { socket_address }, filter_chains: [chain] };
}

function createChain({ mtls, httpFilters = [] }: ServerSecurity): ResourceJson {
  const isTls = mtls === 'STRICT';
  const suffix = isTls ? 'mtls' : 'plaintext';
  const routes = [{ match: { prefix: '/' }, non_forwarding_action: {} }];
  const manager = {
    '@type': `${TYPES}.filters.network.http_connection_manager.v3.HttpConnectionManager`,
    route_config: { name: 'inbound', virtual_hosts: [{ domains: ['*'], routes }] },
    http_filters: [...httpFilters, ROUTER],
  };
  const chain = {
    name: `inbound-${suffix}`,
    filters: [{ name: `inbound-hcm${suffix}`, typed_config: manager }],
  };
  return isTls ? { ...chain, transport_socket: MUTUAL_TLS } : chain;
}

const ROUTER: ResourceJson = {
  name: 'envoy.filters.http.router',
  typed_config: { '@type': ROUTER_TYPE },
};

const ROOTS = { instance_name: 'default', certificate_name: 'ROOTCA' };
const IDENTITY = { instance_name: 'default', certificate_name: 'default' };

/** With the fields of before and after gRFC A29: istiod sends both. */
const MUTUAL_TLS: ResourceJson = {
  name: 'envoy.transport_sockets.tls',
  typed_config: {
    '@type': `${TYPES}.transport_sockets.tls.v3.DownstreamTlsContext`,
    common_tls_context: {
      tls_certificate_certificate_provider_instance: IDENTITY,
      tls_certificate_provider_instance: IDENTITY,
      combined_validation_context: {
        default_validation_context: { ca_certificate_provider_instance: ROOTS },
        validation_context_certificate_provider_instance: ROOTS,
      },
    },
    require_client_certificate: true,
  },
};
