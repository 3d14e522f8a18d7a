import type { HeaderMatcher as HeaderMatcherMessage } from '../../wire/generated/envoy/config/route/v3/route_components';
import type { Int64Range } from '../../wire/generated/envoy/type/v3/range';
import { assertNever } from '../../util/errors';
import type { Violations } from '../../util/violations';
import type { RegexCompiler } from '../extension-points';
import type { StringMatcher } from '../matching/string-matcher';
import {
  parseRegex,
  parseStringMatcher,
  parseTextMatcher,
} from '../matching/string-matcher-parser';
import type { HeaderCondition, HeaderMatcher } from './route-config';

/** The kinds of the header matchers that compare with a text. */
const textMatches = {
  exactMatch: 'exact',
  prefixMatch: 'prefix',
  suffixMatch: 'suffix',
  containsMatch: 'contains',
} as const;

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
