import { CallerDetails, type Refusal } from '../../authorization/refusal';
import {
  type PeerNames,
  type AuthorizationRequest,
  serverHeaders,
} from '../../authorization/request';
import type { HttpFilterRegistry } from '../../http-filters/registry';
import type { NamedExplanation } from '../../http-filters/server-filter-chain';
import type { FilterChain, SocketListener } from '../../resources/listener/listener';
import type { MatchMeter } from '../../resources/matching/match-meter';
import type { Route, RouteConfigResource } from '../../resources/route-config/route-config';
import { describeMismatch } from '../../routing/describe-mismatch';
import { MatchedCall } from '../../routing/matched-call';
import { firstMismatch } from '../../routing/route-matcher';
import { SanMatchers } from '../../security/peer/san-matcher';
import { describeNames, type SubjectAltName } from '../../security/peer/subject-alt-names';
import type { Result } from '../../util/result';
import { statusName } from '../../util/status-code';
import { joinHostPort, quoteText } from '../../util/text';
import type { IpPort } from '../../util/host-port';
import { findFilterChain } from '../listener/find-filter-chain';
import { describeTls } from '../observation/describe-chain';
import { ServerRouteTable } from '../routes/server-route-table';
import type { RequestExplanation, ServerRouteTrial } from './request-explanation';

/** A request that is not made. */
export interface RequestToExplain extends Pick<
  AuthorizationRequest,
  'path' | 'header' | 'local' | 'remote'
> {
  /** The names in the certificate of the client; `undefined` if it shows none. */
  readonly client: PeerNames | undefined;
}

/** The server of a Listener. */
export interface ExplainedServer {
  readonly listener: SocketListener;
  /** Returns routes that are not in the Listener itself, or why there are none. */
  readonly routesOf: (name: string) => Result<RouteConfigResource, string>;
  readonly registry: HttpFilterRegistry;
  readonly meter: MatchMeter;
}

/** What is known of a request before any step. */
export const UNEXPLAINED: Omit<RequestExplanation, 'outcome' | 'reason'> = {
  status: undefined,
  listener: undefined,
  filterChain: undefined,
  virtualHost: undefined,
  route: undefined,
  routes: [],
  filters: [],
  policy: undefined,
  rule: undefined,
  notes: [],
};

/**
 * Explains what a server with a Listener does with a request: the filter chain of its connection, its route, and the filters that judge
 * it. Nothing is audited or logged.
 */
export function explainRequest(
  server: ExplainedServer,
  request: RequestToExplain,
): RequestExplanation {
  const { listener } = server;
  const base = { ...UNEXPLAINED, listener: listener.name };
  const { local, remote, client } = request;
  const reasons: string[] = [];
  const chain = findFilterChain(listener, local, remote, reasons);
  if (chain === undefined) {
    return { ...base, outcome: 'closed', reason: describeUnmatched(listener, request, reasons) };
  }
  const filterChain = { name: chain.name, tls: describeTls(chain), reasons };
  const ofChain = { ...base, filterChain };
  const refused = findHandshakeProblem(chain, client);
  if (refused !== undefined) return { ...ofChain, outcome: 'closed', reason: refused };
  const isIdentityUnused = chain.tls === undefined && client !== undefined;
  const notes = isIdentityUnused ? [IDENTITY_UNUSED] : [];
  const routes = routesOf(chain, server);
  if (!routes.ok) return { ...ofChain, notes, ...failedWithoutRoutes(routes.error) };
  const tls = chain.tls && { peer: chain.tls.clientValidation && client };
  return { ...ofChain, notes, ...explainRouted(chain, routes.value, server, { ...request, tls }) };
}

const IDENTITY_UNUSED =
  'the filter chain has no TLS, so that the client has no identity, unless the fallback credentials of the server are TLS';

function describeUnmatched(
  { unmatchable }: SocketListener,
  { local, remote }: RequestToExplain,
  reasons: readonly string[],
): string {
  const skipped = unmatchable.map(({ name, criterion }) => `${quoteText(name)} (${criterion})`);
  const last = reasons.at(-1);
  return [
    `no filter chain is for a connection from ${textOf(remote)} to ${textOf(local)}, and there is no default_filter_chain`,
    ...(last === undefined ? [] : [last]),
    ...(skipped.length === 0 ? [] : [`never used by a gRPC server: ${skipped.join(', ')}`]),
  ].join('; ');
}

function textOf({ address, port }: IpPort): string {
  return joinHostPort(address, port);
}

/** Returns why a handshake with a client fails, apart from who signed its certificate; `undefined` if it succeeds. */
function findHandshakeProblem(
  { name, tls }: FilterChain,
  client: PeerNames | undefined,
): string | undefined {
  if (tls === undefined) return undefined;
  const subject = `filter chain ${quoteText(name)}`;
  if (client === undefined) {
    return tls.requireClientCertificate
      ? `${subject} requires a client certificate, and the client presents none`
      : undefined;
  }
  const { sanMatchers = [] } = tls.clientValidation ?? {};
  if (sanMatchers.length === 0) return undefined;
  const names: SubjectAltName[] = [
    ...client.uriSans.map((value) => ({ type: 'uri', value }) as const),
    ...client.dnsSans.map((value) => ({ type: 'dns', value }) as const),
  ];
  const match = SanMatchers.of(sanMatchers).match(names.filter(({ value }) => value !== ''));
  if (match.ok && match.value) return undefined;
  return `${subject}: ${describeNames(names)} satisfy none of the matchers of the listener`;
}

function routesOf(
  { httpConnectionManager: { routes } }: FilterChain,
  server: ExplainedServer,
): Result<RouteConfigResource, string> {
  return routes.kind === 'inline'
    ? { ok: true, value: routes.routeConfig }
    : server.routesOf(routes.routeConfigName);
}

type Outcome = Pick<RequestExplanation, 'outcome' | 'reason' | 'status'>;

function failedWithoutRoutes(reason: string): Outcome {
  return {
    outcome: 'failed',
    reason,
    status: { code: 'UNAVAILABLE', details: CallerDetails.NO_ROUTES },
  };
}

/** Explains a request by the routes of its chain. */
function explainRouted(
  chain: FilterChain,
  routeConfig: RouteConfigResource,
  { registry, meter }: ExplainedServer,
  request: AuthorizationRequest,
): Outcome & Partial<RequestExplanation> {
  const { httpFilters } = chain.httpConnectionManager;
  const table = new ServerRouteTable({
    origin: 'the given resources',
    random: () => 0,
    meter,
    routeConfig,
    httpFilters,
    registry,
  });
  const { virtualHost, route, filters, refusal } = table.explain(request);
  const routes = virtualHost?.routes ?? [];
  const tried = route === undefined ? routes : routes.slice(0, routes.indexOf(route) + 1);
  return {
    virtualHost: virtualHost?.name,
    route: route?.index,
    routes: tryRoutes(tried, request),
    ...explainFiltered(filters, refusal),
  };
}

function tryRoutes(
  routes: readonly Route[],
  request: AuthorizationRequest,
): readonly ServerRouteTrial[] {
  const call = new MatchedCall(() => 0, serverHeaders);
  call.begin(request.path, request);
  return routes.map(({ index, name, match }) => {
    const failing = firstMismatch(match, call);
    const mismatch = failing && describeMismatch(failing, (header) => call.get(header)?.text);
    return { index, name, mismatch };
  });
}

/** The members of an explanation that follow from what the filters and the route decide. */
export function explainFiltered(
  filters: readonly NamedExplanation[],
  refusal: Refusal | undefined,
): Outcome & Pick<RequestExplanation, 'filters' | 'policy' | 'rule'> {
  const trials = filters.map(({ name, action, rules, refusal: own }) => ({
    name,
    action,
    rules,
    isPassed: own === undefined,
  }));
  const denying = filters.find((each) => each.refusal !== undefined);
  if (refusal !== undefined) {
    const { code, details, reason, policy } = refusal;
    const status = { code: statusName(code), details };
    const outcome = denying === undefined ? 'failed' : 'denied';
    return { outcome, reason, status, filters: trials, policy: denying?.name, rule: policy };
  }
  const allowing = filters.findLast(({ action }) => action === 'allow');
  const rule = allowing?.rules.find(({ mismatch }) => mismatch === undefined)?.name;
  const reason =
    allowing === undefined || rule === undefined
      ? describeUnrestricted(filters)
      : `${quoteText(allowing.name)} allows it: it matches the policy ${quoteText(rule)}`;
  const status = undefined;
  return { outcome: 'allowed', reason, status, filters: trials, policy: allowing?.name, rule };
}

function describeUnrestricted(filters: readonly NamedExplanation[]): string {
  const names = filters.map(({ name }) => quoteText(name)).join(', ');
  if (filters.length === 0) return 'no filter restricts who may make which calls';
  return `${names} ${filters.length === 1 ? 'passes' : 'pass'} it on, and no filter has policies that allow`;
}
