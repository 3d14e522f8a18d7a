import type { RouteMatch as RouteMatchMessage } from '../../wire/generated/envoy/config/route/v3/route_components';
import { late } from '../../util/late';
import type { Violations } from '../../util/violations';
import type { RegexCompiler } from '../extension-points';
import { parseRuntimeFraction } from '../matching/fraction-parser';
import type * as Uncommon from '../uncommon-parsers';
import type { PathMatcher, RouteMatch } from './route-config';

const loadUncommon = late<typeof Uncommon>(() => require('../uncommon-parsers'));

/**
 * Returns the field of a match that no gRPC call can satisfy: query parameters, or a path that is not of the form
 * `/service/method` (gRFC A28); `undefined` if there is none. A route with such a match is left out and not validated.
 */
export function impossibleField({
  queryParameters,
  pathSpecifier,
}: RouteMatchMessage): 'query_parameters' | 'prefix' | 'path' | undefined {
  if (queryParameters.length > 0) return 'query_parameters';
  if (pathSpecifier?.$case === 'prefix' && !isPathPrefix(pathSpecifier.value)) return 'prefix';
  if (pathSpecifier?.$case === 'path' && !isPath(pathSpecifier.value)) return 'path';
  return undefined;
}

/** Parses the match of a route; `undefined` after adding a violation. */
export function parseRouteMatch(
  message: RouteMatchMessage,
  regexes: RegexCompiler,
  violations: Violations,
): RouteMatch | undefined {
  const path = parsePath(message, regexes, violations);
  const headers = message.headers.map((header, i) =>
    loadUncommon().parseHeaderMatcher(header, regexes, violations.at('headers').index(i)),
  );
  const fractionPerMillion = parseRuntimeFraction(
    message.runtimeFraction,
    violations.at('runtime_fraction'),
  );
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
      const at = violations.at('safe_regex');
      const regex = loadUncommon().parseRegex(pathSpecifier.value, regexes, at);
      return regex && { kind: 'regex', regex };
    }
    default:
      return violations.add('must have prefix, path or safe_regex');
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
