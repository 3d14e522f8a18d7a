import type { RegexMatcher } from '../../wire/generated/envoy/type/matcher/v3/regex';
import type { StringMatcher as StringMatcherMessage } from '../../wire/generated/envoy/type/matcher/v3/string';
import { assertNever } from '../../util/errors';
import type { Violations } from '../../util/violations';
import type { CompiledRegex, RegexCompiler } from '../extension-points';
import type { StringMatcher } from './string-matcher';

/** Parses a regular expression; `undefined` after adding a violation. `engine_type` is ignored (gRFC A28). */
export function parseRegex(
  { regex }: RegexMatcher,
  regexes: RegexCompiler,
  violations: Violations,
): CompiledRegex | undefined {
  const at = violations.at('regex');
  if (regex !== '') return regexes.compile(regex, at);
  // An empty pattern matches empty text only, which is never intended.
  return at.add('must not be empty');
}

/** Creates a comparison with one text; `undefined` after adding a violation. Only `exact` may have an empty one. */
export function parseTextMatcher(
  kind: 'exact' | 'prefix' | 'suffix' | 'contains',
  text: string,
  ignoreCase: boolean,
  violations: Violations,
): StringMatcher | undefined {
  if (text === '' && kind !== 'exact') return violations.add('must not be empty');
  return { kind, text: ignoreCase ? text.toLowerCase() : text, ignoreCase };
}

/**
 * Parses a string matcher; `undefined` after adding a violation (gRFCs A29, A63). `ignore_case` does not apply to
 * regular expressions.
 */
export function parseStringMatcher(
  { matchPattern, ignoreCase }: StringMatcherMessage,
  regexes: RegexCompiler,
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
    case 'safeRegex': {
      const regex = parseRegex(matchPattern.value, regexes, violations.at('safe_regex'));
      return regex && { kind: 'regex', regex };
    }
    case 'custom':
    case undefined:
      return violations.add('must have exact, prefix, suffix, contains or safe_regex');
    default:
      return assertNever(matchPattern);
  }
}
