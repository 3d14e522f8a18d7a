import type { Metadata } from '../grpc-js';
import type {
  HeaderCondition,
  HeaderMatcher,
  PathMatcher,
  RouteMatch,
} from '../resources/route-config/route-config';
import { matchesString } from '../resources/shared/string-matcher';
import { assertNever } from '../util/assert-never';
import type { Random } from '../util/random';

const DECIMAL_INTEGER = /^[+-]?\d+$/;
const MILLION = 1_000_000;

/** Whether a call matches this route (gRFC A28). Draws a random number only if everything else matches. */
export function matchesRoute(
  match: RouteMatch,
  path: string,
  metadata: Metadata,
  random: Random,
): boolean {
  return (
    firstMismatch(match, path, metadata) === undefined &&
    (match.fractionPerMillion === undefined || random() < matchShare(match))
  );
}

/** Returns the first matcher that a call does not satisfy; `undefined` if it satisfies all. */
export function firstMismatch(
  match: RouteMatch,
  path: string,
  metadata: Metadata,
): PathMatcher | HeaderMatcher | undefined {
  if (!matchesPath(match.path, path)) return match.path;
  for (const matcher of match.headers) if (!matchesHeader(matcher, metadata)) return matcher;
  return undefined;
}

/** Returns the share of calls with satisfied matchers that a route takes, from 0 to 1. */
export function matchShare({ fractionPerMillion }: RouteMatch): number {
  return (fractionPerMillion ?? MILLION) / MILLION;
}

/** Whether the path, such as `/package.Service/Method`, satisfies the matcher. */
export function matchesPath(matcher: PathMatcher, path: string): boolean {
  if (matcher.kind === 'regex') return matcher.regex.matches(path);
  const text = matcher.caseSensitive ? path : path.toLowerCase();
  return matcher.kind === 'path' ? text === matcher.text : text.startsWith(matcher.text);
}

/**
 * Whether the call's headers satisfy the matcher. An absent header satisfies only a presence condition, unless it counts
 * as empty (`treat_missing_header_as_empty`, which Istio sends for `withoutHeaders`).
 */
export function matchesHeader(matcher: HeaderMatcher, metadata: Metadata): boolean {
  const value = headerValue(matcher.name, metadata);
  const { condition, invert } = matcher;
  if (condition.kind === 'present') {
    return ((value !== undefined) === condition.present) !== invert;
  }
  if (value === undefined && !matcher.missingAsEmpty) return false;
  return matchesCondition(condition, value ?? '') !== invert;
}

/**
 * Returns a header with the rules of routing (gRFC A28): repeated values joined, binary headers absent, and the content
 * type present before it is added.
 */
export function headerValue(name: string, metadata: Metadata): string | undefined {
  if (name.endsWith('-bin')) return undefined;
  const values = metadata.get(name);
  if (values.length > 0) return values.join(',');
  return name === 'content-type' ? 'application/grpc' : undefined;
}

function matchesCondition(
  condition: Exclude<HeaderCondition, { kind: 'present' }>,
  value: string,
): boolean {
  switch (condition.kind) {
    case 'string':
      return matchesString(condition.matcher, value);
    case 'range': {
      if (!DECIMAL_INTEGER.test(value)) return false;
      const number = BigInt(value.startsWith('+') ? value.slice(1) : value);
      return number >= condition.start && number < condition.end;
    }
    default:
      return assertNever(condition);
  }
}
