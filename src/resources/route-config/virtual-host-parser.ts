import {
  Route as RouteMessage,
  VirtualHost as VirtualHostMessage,
} from '../../wire/generated/envoy/config/route/v3/route_components';
import { quoteText } from '../../util/text';
import type { Violations } from '../../util/violations';
import type { CompiledRegex, LbConfig, RegexCompiler, ParseContext } from '../extension-points';
import { parseFilterOverrides } from '../listener/http-filters-parser';
import { readElements, readerOf, type PartReader } from '../encoded/part-reader';
import { decodeMessage, decodePieces, type PieceField } from '../shared/any';
import { parseMirrorPolicies } from './mirror-parser';
import { parseRetryPolicy } from './retry-policy-parser';
import type { Route, VirtualHost } from './route-config';
import { loadHeaderMutations, parseRoute, type DeclaredPlugins } from './route-parser';

const NO_REGEXES: readonly CompiledRegex[] = [];

const ROUTES: PieceField = { number: 3, name: 'routes' };

/**
 * Returns a reader of one virtual host, which it decodes and validates. It finishes with `undefined` after adding a violation.
 * @param plugins What routes may refer to.
 */
export function readVirtualHost(
  bytes: Uint8Array,
  plugins: DeclaredPlugins,
  context: ParseContext,
  violations: Violations,
): PartReader<VirtualHost | undefined> {
  const pieces = decodePieces(VirtualHostMessage, bytes, ROUTES, violations);
  if (pieces === undefined) return readerOf(undefined);
  const { name, domains, retryPolicy, typedPerFilterConfig, requestMirrorPolicies } =
    pieces.message;
  checkDomains(domains, violations.at('domains'));
  const regexes = new Set<CompiledRegex>();
  const parsing = { ...context, regexes: collectRegexes(context.regexes, regexes) };
  const at = violations.at(ROUTES.name);
  const routes: Route[] = [];
  const clusters = new Set<string>();
  const mirrors =
    requestMirrorPolicies.length === 0
      ? undefined
      : parseMirrorPolicies(
          requestMirrorPolicies,
          context.extensions,
          violations.at('request_mirror_policies'),
        );
  for (const { cluster } of mirrors ?? []) clusters.add(cluster);
  const used = new Map<string, LbConfig>();
  /** Each route is within the budget of one message. */
  const decode = (element: Uint8Array, index: number): void => {
    const routeAt = at.index(index);
    routeAt.budget.renew();
    const message = decodeMessage(RouteMessage, element, routeAt);
    const route = message && parseRoute({ index, message }, plugins, parsing, routeAt);
    if (route === undefined) return;
    routes.push(route);
    addClusters(route, clusters);
    const { action } = route;
    if (action.kind !== 'forward' || action.clusters.kind !== 'plugin') return;
    const lbConfig = plugins.get(action.clusters.name);
    if (lbConfig !== undefined) used.set(action.clusters.name, lbConfig);
  };
  return readElements(bytes, pieces.bounds, decode, () => ({
    name,
    domains,
    routes,
    clusters,
    mirrors,
    retryPolicy:
      retryPolicy && parseRetryPolicy(retryPolicy, context, violations.at('retry_policy')),
    filterOverrides: parseFilterOverrides(
      typedPerFilterConfig,
      context,
      violations.at('typed_per_filter_config'),
    ),
    headerMutations:
      context.extensions.envoyFeatures === true
        ? loadHeaderMutations().parseRouteHeaders(pieces.message, violations)
        : undefined,
    regexes: regexes.size === 0 ? NO_REGEXES : [...regexes],
    ...(used.size > 0 && { plugins: used }),
  }));
}

/** Returns the clusters that routes name, in order of appearance. */
export function clustersOf(routes: readonly Route[]): ReadonlySet<string> {
  const names = new Set<string>();
  for (const route of routes) addClusters(route, names);
  return names;
}

function addClusters({ action }: Route, names: Set<string>): void {
  if (action.kind !== 'forward') return;
  const { clusters } = action;
  if (clusters.kind === 'cluster') names.add(clusters.name);
  else if (clusters.kind === 'weighted') for (const { name } of clusters.clusters) names.add(name);
  for (const { cluster } of action.mirrors ?? []) names.add(cluster);
}

/** Creates a compiler that adds what it compiles to a set. */
function collectRegexes(compiler: RegexCompiler, regexes: Set<CompiledRegex>): RegexCompiler {
  return {
    maxSubstitutionLength: compiler.maxSubstitutionLength,
    keep: (regex) => compiler.keep(regex),
    compile(pattern, violations) {
      const regex = compiler.compile(pattern, violations);
      if (regex !== undefined) regexes.add(regex);
      return regex;
    },
  };
}

/** A pattern has at most one star, at one of its ends. */
function checkDomains(domains: readonly string[], violations: Violations): void {
  if (domains.length === 0) violations.add('must not be empty');
  for (const [i, domain] of domains.entries()) {
    const star = domain.indexOf('*');
    const isValid =
      domain !== '' && (star === -1 || star === domain.length - 1 || domain.lastIndexOf('*') === 0);
    if (!isValid) {
      violations
        .index(i)
        .add(`must be a name, possibly with one * at its start or end, not ${quoteText(domain)}`);
    }
  }
}
