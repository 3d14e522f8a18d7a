import type { StringMatcher } from '../resources/matching/string-matcher';
import type { HeaderMatcher, PathMatcher } from '../resources/route-config/route-config';
import { isHiddenHeader } from '../util/secrets';
import { quoteText, REDACTED } from '../util/text';

/** Returns the value of a header by its lower-case name; `undefined` if it is absent. */
type ReadHeader = (name: string) => string | undefined;

/** Describes why a call does not satisfy a matcher of a route. */
export function describeMismatch(
  matcher: PathMatcher | HeaderMatcher,
  headers: ReadHeader,
): string {
  if ('condition' in matcher) return describeHeaderMismatch(matcher, headers);
  const text = matcher.kind === 'regex' ? matcher.regex.pattern : matcher.text;
  return `path is not ${matcher.kind} ${text}`;
}

/** Describes why a header does not satisfy its matcher, without the values of headers that may hold secrets. */
export function describeHeaderMismatch(matcher: HeaderMatcher, headers: ReadHeader): string {
  const value = headers(matcher.name);
  const absent = matcher.missingAsEmpty ? 'absent, which counts as empty' : 'absent';
  const shown = isHiddenHeader(matcher.name) ? REDACTED : quoteText(value ?? '');
  const found = value === undefined ? absent : shown;
  return `header ${matcher.name} is ${found}, which does not satisfy ${describeHeaderMatcher(matcher)}`;
}

/** Describes what a matcher demands of its header. */
export function describeHeaderMatcher(matcher: HeaderMatcher): string {
  return `${describeCondition(matcher)}${matcher.invert ? ', inverted' : ''}`;
}

function describeCondition({ name, condition }: HeaderMatcher): string {
  if (condition.kind !== 'present' && isHiddenHeader(name)) return REDACTED;
  switch (condition.kind) {
    case 'present':
      return condition.present ? 'present' : 'absent';
    case 'range':
      return `range [${condition.start}, ${condition.end})`;
    case 'string':
      return describeStringMatcher(condition.matcher);
  }
}

/** Describes what a matcher demands of a text, such as `prefix "/shop."`. */
export function describeStringMatcher(matcher: StringMatcher): string {
  if (matcher.kind === 'regex') return `regex ${matcher.regex.pattern}`;
  const insensitive = matcher.ignoreCase ? ', ignoring case' : '';
  return `${matcher.kind} ${quoteText(matcher.text)}${insensitive}`;
}
