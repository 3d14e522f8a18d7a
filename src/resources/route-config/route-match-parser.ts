import type {
  RouteMatch as RouteMatchMessage,
  HeaderMatcher as HeaderMatcherMessage,
} from '../../wire/generated/envoy/config/route/v3/route_components';
import type { Int64Range } from '../../wire/generated/envoy/type/v3/range';
import { assertNever } from '../../util/errors';
import type { Violations } from '../../util/violations';
import type { RegexCompiler } from '../extension-points';
import { parseRuntimeFraction } from '../matching/fraction-parser';
import { type StringMatcher } from '../matching/string-matcher';
import {
  parseRegex,
  parseStringMatcher,
  parseTextMatcher,
} from '../matching/string-matcher-parser';
import type { PathMatcher, RouteMatch, HeaderCondition, HeaderMatcher } from './route-config';

/** The kinds of the header matchers that compare with a text. */
const textMatches = {
  exactMatch: 'exact',
  prefixMatch: 'prefix',
  suffixMatch: 'suffix',
  containsMatch: 'contains',
} as const;

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
    parseHeaderMatcher(header, regexes, violations.at('headers').index(i)),
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
      const regex = parseRegex(pathSpecifier.value, regexes, violations.at('safe_regex'));
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

/** Parses a header matcher; `undefined` after adding a violation (gRFCs A28, A63). */
export function parseHeaderMatcher(
  message: HeaderMatcherMessage,
  regexes: RegexCompiler,
  violations: Violations,
): HeaderMatcher | undefined {
  if (message.name === '') violations.at('name').add('must not be empty');
  const condition = parseCondition(message.headerMatchSpecifier, regexes, violations);
  if (condition === undefined) return undefined;
  return {
    name: message.name.toLowerCase(),
    condition,
    invert: message.invertMatch,
    missingAsEmpty: message.treatMissingHeaderAsEmpty,
  };
}

function parseCondition(
  specifier: HeaderMatcherMessage['headerMatchSpecifier'],
  regexes: RegexCompiler,
  violations: Violations,
): HeaderCondition | undefined {
  switch (specifier?.$case) {
    case 'exactMatch':
    case 'prefixMatch':
    case 'suffixMatch':
    case 'containsMatch': {
      const kind = textMatches[specifier.$case];
      const at = violations.at(`${kind}_match`);
      return stringCondition(parseTextMatcher(kind, specifier.value, false, at));
    }
    case 'safeRegexMatch': {
      const regex = parseRegex(specifier.value, regexes, violations.at('safe_regex_match'));
      return stringCondition(regex && { kind: 'regex', regex });
    }
    case 'stringMatch':
      return stringCondition(
        parseStringMatcher(specifier.value, regexes, violations.at('string_match')),
      );
    case 'rangeMatch':
      return parseRange(specifier.value, violations.at('range_match'));
    case 'presentMatch':
      return { kind: 'present', present: specifier.value };
    case undefined:
      return violations.add(
        'must have exact_match, safe_regex_match, range_match, present_match, prefix_match, ' +
          'suffix_match, contains_match or string_match',
      );
    default:
      return assertNever(specifier);
  }
}

function stringCondition(matcher: StringMatcher | undefined): HeaderCondition | undefined {
  return matcher && { kind: 'string', matcher };
}

function parseRange(
  { start, end }: Int64Range,
  violations: Violations,
): HeaderCondition | undefined {
  if (end >= start) return { kind: 'range', start, end };
  return violations.add(`end ${end.toString()} must not be less than start ${start.toString()}`);
}
