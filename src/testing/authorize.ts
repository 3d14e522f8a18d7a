import type { AuthorizationPolicy } from '../http-filters/rbac/authorization-policy';
import type { RequestExplanation } from '../server/explain/request-explanation';
import {
  BOOLEAN,
  checkArgument,
  checkOptions,
  mapOf,
  optional,
  STRING,
  STRINGS,
  TEXT,
  type MembersOf,
  type Rule,
} from '../util/check-arguments';
import { parseIpPort } from '../util/host-port';
import { late } from '../util/late';
import type * as Judging from './judge-request';

/** Loaded for the first request: it has the parsers of all resources. */
const loadJudging = late<typeof Judging>(() => require('./judge-request'));

/** The request that `authorize` judges. */
export interface RequestToAuthorize {
  /** Such as `/pkg.Service/Method`. */
  readonly path: string;
  /** The SPIFFE id of the client, or another URI in its certificate. Default: none. */
  readonly from?: string;
  /** DNS names in the certificate of the client. Default: none. */
  readonly dnsNames?: readonly string[];
  /** The subject of the certificate of the client, in the text of RFC 2253. Default: empty. */
  readonly subject?: string;
  /**
   * Whether the connection is TLS: for a policy or filter alone, since a Listener says it. Default: whether `from`, `dnsNames` or `subject`
   * is given; with `true` and none of these, the client has no certificate.
   */
  readonly tls?: boolean;
  /** Headers by their names, also `:authority`, which is the address of the server by default. Default: none. */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Where the client has connected to, `IP:port`. Default: the address of the Listener, or `127.0.0.1:50051`; `127.0.0.1` or `::1` for one on
   * all addresses.
   */
  readonly address?: string;
  /** Where the client has connected from, `IP:port`. Default: `127.0.0.1:40000`. */
  readonly remote?: string;
}

/**
 * Resources of servers: a Listener, or a file or an object of resources, or the `Snapshot` of an embedded control plane. In JSON their
 * fields are those of the protos.
 */
export type AuthorizationResources = object;

/** The result of `authorize`: what becomes of the request, and why. */
export interface AuthorizationResult extends RequestExplanation {
  /** Whether the handler would be called. */
  readonly allowed: boolean;
  /** Returns the explanation as text, in several lines. */
  toString(): string;
}

const IP_PORT: Rule = {
  legal: 'an IP address with a port, such as 127.0.0.1:50051 or [::1]:50051',
  accepts: (value) => typeof value === 'string' && parseIpPort(value) !== undefined,
};

const REQUEST: MembersOf<RequestToAuthorize> = {
  path: {
    legal: 'the path of a method, such as /pkg.Service/Method',
    accepts: (value) => typeof value === 'string' && value.startsWith('/'),
  },
  from: optional(TEXT),
  dnsNames: optional(STRINGS),
  subject: optional(STRING),
  tls: optional(BOOLEAN),
  headers: optional(mapOf('an object of headers', STRING)),
  address: optional(IP_PORT),
  remote: optional(IP_PORT),
};

const POLICY: Rule = {
  legal: 'an authorization policy, an RBAC filter, a Listener, resources, or the path of a file',
  accepts: (value) =>
    (typeof value === 'object' && value !== null) || (typeof value === 'string' && value !== ''),
};

/**
 * Judges a request as a server does, without a socket: for unit tests of an authorization. Uses the engine, the filter chains and the
 * routes of servers, with the filters and audit loggers of this package and of the application; nothing is audited.
 *
 * @param policy What authorizes: a policy for plain servers (gRFC A43), the config of an RBAC filter (gRFC A41), a Listener of a server
 * (gRFC A36), resources with Listeners and RouteConfigurations, such as a `Snapshot`; or the path of a file with one of these, whose name
 * ends in `.json`, `.yaml` or `.yml`.
 * @param request The request. With several Listeners, `address` selects one.
 * @returns whether the request is allowed, the filter chain, virtual host, route and filters that it passes, the policy that decides, and
 * why each policy before it does not match.
 * @throws TypeError for arguments that are not valid; Error if the policy or file cannot be read, a server would reject it (NACK), or there is no
 * Listener for the address.
 *
 * @example
 * ```ts
 * import { authorize } from 'grpc-xds/testing';
 *
 * const result = authorize('/etc/shop/authorization.json', {
 *   path: '/shop.Cart/Get',
 *   from: 'spiffe://example.org/ns/default/sa/web',
 * });
 * console.log(result.allowed, String(result));
 * ```
 */
export function authorize(
  policy: AuthorizationPolicy | AuthorizationResources | string,
  request: RequestToAuthorize,
): AuthorizationResult {
  checkArgument('authorize()', 'policy', policy, POLICY);
  checkOptions('authorize()', request, REQUEST);
  return loadJudging().judgeRequest(policy, request);
}
