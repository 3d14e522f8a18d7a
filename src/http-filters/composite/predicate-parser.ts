import { HttpRequestHeaderMatchInput } from '../../generated/envoy/type/matcher/v3/http_inputs';
import type { TypedExtensionConfig } from '../../generated/xds/core/v3/extension';
import type {
  Matcher_MatcherList_Predicate as PredicateMessage,
  Matcher_MatcherList_Predicate_SinglePredicate as SinglePredicateMessage,
} from '../../generated/xds/type/matcher/v3/matcher';
import type { StringMatcher as StringMatcherMessage } from '../../generated/xds/type/matcher/v3/string';
import { unpackAny, type AnyType } from '../../resources/shared/any';
import { parseTextMatcher } from '../../resources/shared/string-matcher-parser';
import type { StringMatcher } from '../../resources/string-matcher';
import { assertNever } from '../../util/assert-never';
import type { Violations } from '../../util/violations';
import { isReadable } from './header-reader';
import type { Predicate } from './matcher';

const MAX_HEADER_NAME = 16_383;
/** What HTTP allows in a name, and the colon of pseudo-headers before it. */
const HEADER_NAME = /^:?[a-z0-9!#$%&'*+\-.^_`|~]+$/;

const headerInput: AnyType<HttpRequestHeaderMatchInput> = {
  typeName: 'envoy.type.matcher.v3.HttpRequestHeaderMatchInput',
  decoder: HttpRequestHeaderMatchInput,
};

/** Validates a condition on request headers. @returns `undefined` after adding a violation (draft gRFC A106). */
export function parsePredicate(
  message: PredicateMessage | undefined,
  violations: Violations,
): Predicate | undefined {
  const matchType = message?.matchType;
  switch (matchType?.$case) {
    case 'singlePredicate':
      return parseSingle(matchType.value, violations.at('single_predicate'));
    case 'orMatcher':
      return parseMembers('any', matchType.value.predicate, violations.at('or_matcher'));
    case 'andMatcher':
      return parseMembers('all', matchType.value.predicate, violations.at('and_matcher'));
    case 'notMatcher': {
      const member = parsePredicate(matchType.value, violations.at('not_matcher'));
      return member && { kind: 'not', member };
    }
    case undefined:
      violations.add('must have single_predicate, or_matcher, and_matcher or not_matcher');
      return undefined;
    default:
      return assertNever(matchType);
  }
}

function parseMembers(
  kind: 'any' | 'all',
  messages: readonly PredicateMessage[],
  violations: Violations,
): Predicate {
  const at = violations.at('predicate');
  if (messages.length < 2) at.add('must have at least two members');
  const members: Predicate[] = [];
  for (const [i, message] of messages.entries()) {
    const member = parsePredicate(message, at.index(i));
    if (member) members.push(member);
  }
  return { kind, members };
}

function parseSingle(
  { input, matcher }: SinglePredicateMessage,
  violations: Violations,
): Predicate | undefined {
  const name = parseHeaderInput(input, violations.at('input'));
  switch (matcher?.$case) {
    case 'valueMatch': {
      const value = parseValueMatch(matcher.value, violations.at('value_match'));
      return name !== undefined && value ? { kind: 'header', name, matcher: value } : undefined;
    }
    case 'customMatch':
      violations.at('custom_match').add('unsupported: use value_match');
      return undefined;
    case undefined:
      violations.at('value_match').add('field not present');
      return undefined;
    default:
      return assertNever(matcher);
  }
}

function parseValueMatch(
  { matchPattern, ignoreCase }: StringMatcherMessage,
  violations: Violations,
): StringMatcher | undefined {
  switch (matchPattern?.$case) {
    case 'exact':
    case 'prefix':
    case 'suffix':
    case 'contains': {
      const { $case: kind, value } = matchPattern;
      return parseTextMatcher(kind, value, ignoreCase, violations.at(kind));
    }
    case 'safeRegex':
      violations.at('safe_regex').add('unsupported here');
      return undefined;
    case undefined:
      violations.add('must have exact, prefix, suffix or contains');
      return undefined;
    default:
      return assertNever(matchPattern);
  }
}

/** The name of the header to look at, in lower case. @returns `undefined` after adding a violation. */
export function parseHeaderInput(
  input: TypedExtensionConfig | undefined,
  violations: Violations,
): string | undefined {
  const at = violations.at('typed_config');
  const message = unpackAny(input?.typedConfig, headerInput, at);
  if (message === undefined) return undefined;
  const name = message.headerName.toLowerCase();
  const nameAt = at.at('header_name');
  if (name === '' || name.length > MAX_HEADER_NAME || !HEADER_NAME.test(name)) {
    nameAt.add('must be the name of a header');
  } else if (!isReadable(name)) {
    nameAt.add(`${name} is not known to a client's filters`);
  } else return name;
  return undefined;
}
