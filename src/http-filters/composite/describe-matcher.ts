import { assertNever } from '../../util/assert-never';
import type { Matcher, OnMatch, Predicate } from './matcher';

/** The tree as plain JSON for people. */
export function describeMatcher<Action extends object>(
  matcher: Matcher<Action>,
  describeAction: (action: Action) => unknown,
): unknown {
  const describe = (onMatch: OnMatch<Action>): unknown =>
    onMatch.kind === 'action'
      ? describeAction(onMatch.action)
      : describeMatcher(onMatch.matcher, describeAction);
  const otherwise = matcher.onNoMatch && describe(matcher.onNoMatch);
  if (matcher.kind === 'list') {
    const matches = matcher.entries.map(({ predicate, onMatch }) => ({
      when: describePredicate(predicate),
      then: describe(onMatch),
    }));
    return { matches, otherwise };
  }
  const entries = [...matcher.entries].map(([key, onMatch]) => ({
    [matcher.kind]: key,
    then: describe(onMatch),
  }));
  return { header: matcher.headerName, matches: entries, otherwise };
}

function describePredicate(predicate: Predicate): unknown {
  switch (predicate.kind) {
    case 'header': {
      const { name, matcher } = predicate;
      const text = matcher.kind === 'regex' ? matcher.regex.pattern : matcher.text;
      return { header: name, [matcher.kind]: text };
    }
    case 'any':
    case 'all':
      return { [predicate.kind]: predicate.members.map(describePredicate) };
    case 'not':
      return { not: describePredicate(predicate.member) };
    default:
      return assertNever(predicate);
  }
}
