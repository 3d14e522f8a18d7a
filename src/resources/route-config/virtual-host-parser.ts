import type { VirtualHost as VirtualHostMessage } from '../../generated/envoy/config/route/v3/route_components';
import type { Violations } from '../../util/violations';
import type { CompiledRegex, RegexCompiler, ParseContext } from '../extension-points';
import { parseFilterOverrides } from '../listener/http-filters-parser';
import { parseRetryPolicy } from './retry-policy-parser';
import type { Route, VirtualHost } from './route-config';
import { parseRoute } from './route-parser';

const NO_REGEXES: readonly CompiledRegex[] = [];

/**
 * Validates one virtual host.
 * @param plugins The names of the cluster specifier plugins that routes may refer to.
 */
export function parseVirtualHost(
  message: VirtualHostMessage,
  plugins: ReadonlySet<string>,
  context: ParseContext,
  violations: Violations,
): VirtualHost {
  const { name, domains, retryPolicy } = message;
  checkDomains(domains, violations.at('domains'));
  const regexes = new Set<CompiledRegex>();
  const collecting = { ...context, regexes: collectRegexes(context.regexes, regexes) };
  const routes = message.routes
    .map((route, i) => parseRoute(route, plugins, collecting, violations.at('routes').index(i)))
    .filter((route) => route !== undefined);
  return {
    name,
    domains,
    routes,
    retryPolicy:
      retryPolicy && parseRetryPolicy(retryPolicy, context, violations.at('retry_policy')),
    filterOverrides: parseFilterOverrides(
      message.typedPerFilterConfig,
      context.extensions.httpFilters,
      violations.at('typed_per_filter_config'),
    ),
    clusters: clustersOf(routes),
    regexes: regexes.size === 0 ? NO_REGEXES : [...regexes],
  };
}

/** Returns the clusters that routes name, in order of appearance. */
export function clustersOf(routes: readonly Route[]): ReadonlySet<string> {
  const names = new Set<string>();
  for (const { action } of routes) {
    if (action.kind !== 'forward') continue;
    if (action.clusters.kind === 'cluster') names.add(action.clusters.name);
    else for (const { name } of action.clusters.clusters) names.add(name);
  }
  return names;
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
        .add(
          `must be a name, possibly with one * at its start or end, not ${JSON.stringify(domain)}`,
        );
    }
  }
}
