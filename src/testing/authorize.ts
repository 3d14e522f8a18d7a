import type { AuthorizationPolicy } from '../authorization/authorization-policy';
import {
  BOOLEAN,
  checkArgument,
  checkOptions,
  mapOf,
  optional,
  STRING,
  TEXTS,
  TEXT,
  type MembersOf,
  type Rule,
} from '../util/check-arguments';
import { parseIpPort } from '../util/host-port';
import { lazy } from '../util/lazy';
import type {
  AuthorizationResources,
  AuthorizationResult,
  RequestToAuthorize,
} from './authorization';
import type * as Judging from './judge-request';

/** Loaded for the first request: it has the parsers of all resources. */
const loadJudging = lazy<typeof Judging>(() => require('./judge-request'));

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
  dnsNames: optional(TEXTS),
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
 * Authorizes a request as a server does, without a socket, for unit tests. Uses the engine, the filter chains and the
 * routes of servers, with the filters and audit loggers of this package and of the application; nothing is audited.
 *
 * @param policy The rules: a policy for plain servers (gRFC A43), the config of an RBAC filter (gRFC A41), a Listener of a server
 *   (gRFC A36), resources with Listeners and RouteConfigurations, such as a `Snapshot`; or the path of a file with one of these,
 *   whose name ends in `.json`, `.yaml` or `.yml`.
 * @param request The request. With several Listeners, `address` selects one.
 * @returns whether the request is allowed, the filter chain, virtual host, route and filters that it passes, the policy that decides, and
 * why each policy before it does not match.
 * @throws XdsError for arguments that are not valid; if the policy or file cannot be read, a server would reject it (NACK), or there is no
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
