import {
  mapOf,
  objectOf,
  oneOf,
  optional,
  type MembersOf,
  type Rule,
} from '../../util/check-arguments';
import { parseIpPort, type IpPort } from '../../util/host-port';
import { joinHostPort } from '../../util/text';
import type { envoy } from '../../wire/generated/resource-json';
import { ISTIO_POLICIES, translatePolicies, type IstioAuthorizationPolicy } from './istio-policy';
import type { ListenerJson } from './resource-input';
import { SnapshotError, type SnapshotProblem } from './snapshot-builder';

/** What a mesh configures of one server. */
export interface ServerSecurity {
  /**
   * The mode of mutual TLS, as in Istio's PeerAuthentication. With `STRICT`, clients must have a certificate that the provider
   * `default` of the server's bootstrap verifies. `DISABLE` is plain text, and so is `PERMISSIVE`: istiod sends gRPC servers no chain that
   * serves both.
   */
  readonly mtls: 'STRICT' | 'PERMISSIVE' | 'DISABLE';
  /** A request is denied if one with `DENY` matches, or if there are some with `ALLOW` and none of them matches. Default: none. */
  readonly policies?: readonly IstioAuthorizationPolicy[];
}

/** Servers by the addresses at which they listen, `IP:port`, such as `127.0.0.1:50051` or `[::]:50051`. */
export type Servers = Readonly<Record<string, ServerSecurity>>;

/** Options of the Listeners of servers. */
export interface ServerListenerOptions {
  /**
   * Names the Listener of an address, which replaces `%s`: `server_listener_resource_name_template` of the server's bootstrap. Default:
   * that of Istio, `xds.istio.io/grpc/lds/inbound/%s`, which a bootstrap of `ControlPlane.start()` has.
   */
  readonly nameTemplate?: string;
}

const SERVER: MembersOf<ServerSecurity> = {
  mtls: oneOf('STRICT', 'PERMISSIVE', 'DISABLE'),
  policies: optional(ISTIO_POLICIES),
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
 * Returns the Listeners of servers, field by field as istiod sends them: one filter chain with inline routes, in which the filters of
 * `DENY` are before those of `ALLOW`.
 *
 * @throws `SnapshotError` for addresses and policies that cannot be used.
 */
export function listenersOfServers(
  servers: Servers,
  { nameTemplate = SERVER_LISTENER_TEMPLATE }: ServerListenerOptions = {},
): readonly ListenerJson[] {
  const problems: SnapshotProblem[] = [];
  const listeners = Object.entries(servers).flatMap(([text, security]) => {
    const address = parseIpPort(text);
    const add = (problem: Pick<SnapshotProblem, 'path' | 'reason'>) =>
      problems.push({ list: 'servers', name: text, ...problem });
    if (address === undefined) {
      add({ path: [], reason: 'must be an IP address with a port, such as 127.0.0.1:50051' });
      return [];
    }
    const filters = createFilters(security.policies ?? [], add);
    const chain = createChain(security.mtls, filters);
    return createListener(nameOf(nameTemplate, address), address, chain);
  });
  if (problems.length > 0) throw new SnapshotError(problems);
  return listeners;
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

type FilterChainJson = envoy.config.listener.v3.FilterChain;
type HttpFilterJson = envoy.extensions.filters.network.http_connection_manager.v3.HttpFilter;

function createListener(
  name: string,
  { address, port }: IpPort,
  chain: FilterChainJson,
): ListenerJson {
  const socket_address = { address, port_value: port };
  return { name, address: { socket_address }, filter_chains: [chain] };
}

function createChain(
  mode: ServerSecurity['mtls'],
  filters: readonly HttpFilterJson[],
): FilterChainJson {
  const isTls = mode === 'STRICT';
  const suffix = isTls ? 'mtls' : 'plaintext';
  const routes = [{ match: { prefix: '/' }, non_forwarding_action: {} }];
  const manager = {
    '@type': `${TYPES}.filters.network.http_connection_manager.v3.HttpConnectionManager`,
    route_config: { name: 'inbound', virtual_hosts: [{ domains: ['*'], routes }] },
    http_filters: filters,
  } as const;
  const chain = {
    name: `inbound-${suffix}`,
    filters: [{ name: `inbound-hcm${suffix}`, typed_config: manager }],
  };
  return isTls ? { ...chain, transport_socket: MUTUAL_TLS } : chain;
}

const ROOTS = { instance_name: 'default', certificate_name: 'ROOTCA' } as const;
const IDENTITY = { instance_name: 'default', certificate_name: 'default' } as const;

/** With the fields of before and after gRFC A29: istiod sends both. */
const MUTUAL_TLS: envoy.config.core.v3.TransportSocket = {
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

/** Creates the filters of a chain: one for each action that has rules, and the router. */
function createFilters(
  policies: readonly IstioAuthorizationPolicy[],
  onProblem: (problem: Pick<SnapshotProblem, 'path' | 'reason'>) => void,
): readonly HttpFilterJson[] {
  const rbac = { '@type': `${TYPES}.filters.http.rbac.v3.RBAC` } as const;
  const denied = translatePolicies(policies, 'DENY', onProblem);
  const allowed = translatePolicies(policies, 'ALLOW', onProblem);
  const filters: HttpFilterJson[] = [];
  if (denied !== undefined) {
    const rules = { action: 'DENY', policies: denied } as const;
    filters.push({ name: 'envoy.filters.http.rbac.DENY', typed_config: { ...rbac, rules } });
  }
  if (allowed !== undefined) {
    filters.push({
      name: 'envoy.filters.http.rbac',
      typed_config: { ...rbac, rules: { policies: allowed } },
    });
  }
  const router = { '@type': `${TYPES}.filters.http.router.v3.Router` } as const;
  return [...filters, { name: 'envoy.filters.http.router', typed_config: router }];
}
