import type { RouteMatch as RouteMatchMessage } from '../generated/envoy/config/route/v3/route_components';
import type { Violations } from '../util/violations';
import type { RegexCompiler } from './extension-points';
import { parseHeaderMatcher } from './header-matcher-parser';
import type { PathMatcher, RouteMatch } from './route-config';
import { parseFraction } from './shared/fraction-parser';
import { parseRegex } from './shared/string-matcher-parser';

/**
 * Whether no gRPC call can satisfy the match. Such a route is left out and not looked at further: one that
 * asks for query parameters, or for a path that is not of the form `/service/method` (gRFC A28).
 */
export function canNeverMatch({ queryParameters, pathSpecifier }: RouteMatchMessage): boolean {
  if (queryParameters.length > 0) return true;
  if (pathSpecifier?.$case === 'prefix') return !isPathPrefix(pathSpecifier.value);
  return pathSpecifier?.$case === 'path' && !isPath(pathSpecifier.value);
}

/** `undefined` after adding a violation. */
export function parseRouteMatch(
  message: RouteMatchMessage,
  regexes: RegexCompiler,
  violations: Violations,
): RouteMatch | undefined {
  const path = parsePath(message, regexes, violations);
  const headers = message.headers.map((header, i) =>
    parseHeaderMatcher(header, regexes, violations.at('headers').index(i)),
  );
  const fraction = message.runtimeFraction?.defaultValue;
  const fractionPerMillion =
    fraction && parseFraction(fraction, violations.at('runtime_fraction').at('default_value'));
  return (
    path && {
      path,
      headers: headers.filter((header) => header !== undefined),
      fractionPerMillion,
    }
  );
}

function parsePath(
  { pathSpecifier, caseSensitive = true }: RouteMatchMessage,
  regexes: RegexCompiler,
  violations: Violations,
): PathMatcher | undefined {
  switch (pathSpecifier?.$case) {
    case 'prefix':
    case 'path': {
      const { $case: kind, value } = pathSpecifier;
      return { kind, text: caseSensitive ? value : value.toLowerCase(), caseSensitive };
    }
    case 'safeRegex': {
      const regex = parseRegex(pathSpecifier.value, regexes, violations.at('safe_regex'));
      return regex && { kind: 'regex', regex };
    }
    default:
      violations.add('must have prefix, path or safe_regex');
      return undefined;
  }
}

function isPathPrefix(prefix: string): boolean {
  if (prefix === '') return true;
  const [beforeSlash, service, ...rest] = prefix.split('/');
  return beforeSlash === '' && rest.length <= 1 && (service !== '' || rest.length === 0);
}

function isPath(path: string): boolean {
  const [beforeSlash, service, method, ...rest] = path.split('/');
  return beforeSlash === '' && !!service && !!method && rest.length === 0;
}
