import type {
  HeaderCondition,
  HeaderMatcher,
  PathMatcher,
  RouteMatch,
} from '../resources/route-config/route-config';
import { MILLION } from '../resources/matching/fraction-parser';
import {
  MatchedText,
  matchesText,
  STEPS_PER_MATCHER,
  stepsOf,
} from '../resources/matching/string-matcher';
import { assertNever } from '../util/errors';
import type { MatchedCall } from './matched-call';

const EMPTY = new MatchedText('');

/**
 * Whether a call matches this route (gRFC A28). Draws a random number only if everything else matches. A call that has no
 * steps left counts as matching: it fails, and the route is named.
 */
export function matchesRoute(match: RouteMatch, call: MatchedCall<unknown>): boolean {
  const matches =
    firstMismatch(match, call) === undefined &&
    (match.fractionPerMillion === undefined || call.random() < matchShare(match));
  return matches || call.isExceeded;
}

/** Returns the first matcher that a call does not satisfy; `undefined` if it satisfies all. */
export function firstMismatch(
  match: RouteMatch,
  call: MatchedCall<unknown>,
): PathMatcher | HeaderMatcher | undefined {
  if (!matchesPath(match.path, call)) return match.path;
  for (const matcher of match.headers) if (!matchesHeader(matcher, call)) return matcher;
  return undefined;
}

/** Returns the share of calls with satisfied matchers that a route takes, from 0 to 1. */
export function matchShare({ fractionPerMillion }: RouteMatch): number {
  return (fractionPerMillion ?? MILLION) / MILLION;
}

/** Whether the path, such as `/package.Service/Method`, satisfies the matcher. */
export function matchesPath(matcher: PathMatcher, call: MatchedCall<unknown>): boolean {
  return call.spendOnPath(STEPS_PER_MATCHER) && satisfiesPath(matcher, call);
}

/** The same, without steps. */
export function satisfiesPath(matcher: PathMatcher, call: MatchedCall<unknown>): boolean {
  if (matcher.kind === 'regex') return matcher.regex.matches(call.path);
  const text = matcher.caseSensitive ? call.path : call.lowerPath;
  return matcher.kind === 'path' ? text === matcher.text : text.startsWith(matcher.text);
}

/**
 * Whether the call's headers satisfy the matcher. An absent header satisfies only a presence condition, unless it counts
 * as empty (`treat_missing_header_as_empty`, which Istio sends for `withoutHeaders`).
 */
export function matchesHeader(matcher: HeaderMatcher, call: MatchedCall<unknown>): boolean {
  const { name } = matcher;
  const value = call.get(name);
  const length = value === undefined ? 0 : value.text.length;
  return call.spend(headerSteps(matcher, value), name, length) && matchesValue(matcher, value);
}

/** Whether the value of a header satisfies the matcher. @param value `undefined` if the header is absent. */
function matchesValue(matcher: HeaderMatcher, value: MatchedText | undefined): boolean {
  const { condition, invert } = matcher;
  if (condition.kind === 'present') {
    return ((value !== undefined) === condition.present) !== invert;
  }
  if (value === undefined && !matcher.missingAsEmpty) return false;
  return matchesCondition(condition, value ?? EMPTY) !== invert;
}

/** Returns the steps of matching the value of a header. */
function headerSteps({ condition }: HeaderMatcher, value: MatchedText | undefined): number {
  if (condition.kind !== 'string' || value === undefined) return STEPS_PER_MATCHER;
  return STEPS_PER_MATCHER + stepsOf(condition.matcher, value);
}

function matchesCondition(
  condition: Exclude<HeaderCondition, { kind: 'present' }>,
  value: MatchedText,
): boolean {
  switch (condition.kind) {
    case 'string':
      return matchesText(condition.matcher, value);
    case 'range': {
      const { integer } = value;
      return integer !== undefined && integer >= condition.start && integer < condition.end;
    }
    default:
      return assertNever(condition);
  }
}
