import type { Metadata } from '../../grpc-js';
import { matchesString, type StringMatcher } from '../../resources/shared/string-matcher';
import { assertNever } from '../../util/assert-never';

/** A condition on the headers of a call. */
export type Predicate =
  /** A header that is absent does not satisfy it. */
  | { readonly kind: 'header'; readonly name: string; readonly matcher: StringMatcher }
  | { readonly kind: 'any' | 'all'; readonly members: readonly Predicate[] }
  | { readonly kind: 'not'; readonly member: Predicate };

/** The result of a match: an action, or another tree. */
export type OnMatch<Action extends object> =
  | { readonly kind: 'action'; readonly action: Action }
  | { readonly kind: 'matcher'; readonly matcher: Matcher<Action> };

/** One condition of a list with its result. */
export interface MatcherListEntry<Action extends object> {
  readonly predicate: Predicate;
  readonly onMatch: OnMatch<Action>;
}

/** The conditions of a tree at one level. */
export type MatcherNode<Action extends object> =
  | {
      readonly kind: 'list';
      /** Tried in this order. */
      readonly entries: readonly MatcherListEntry<Action>[];
    }
  /** The value of the header is the key. */
  | {
      readonly kind: 'exact';
      readonly headerName: string;
      readonly entries: ReadonlyMap<string, OnMatch<Action>>;
    }
  /** The value of the header begins with the key. */
  | {
      readonly kind: 'prefix';
      readonly headerName: string;
      readonly entries: ReadonlyMap<string, OnMatch<Action>>;
      /** The distinct lengths of the keys, longest first. */
      readonly keyLengths: readonly number[];
    };

/** A tree of conditions that ends in actions (`xds.type.matcher.v3.Matcher`, draft gRFC A106). */
export type Matcher<Action extends object> = MatcherNode<Action> & {
  readonly onNoMatch: OnMatch<Action> | undefined;
};

/** Returns the value of a header by its lower-case name; `undefined` if it is absent. */
type HeaderReader = (name: string) => string | undefined;

/**
 * Finds the action for a call. A match whose tree finds no action does not count, and the search continues.
 *
 * @returns `undefined` if nothing matches.
 */
export function findAction<Action extends object>(
  matcher: Matcher<Action>,
  read: HeaderReader,
): Action | undefined {
  const found = findInNode(matcher, read);
  return found ?? (matcher.onNoMatch && follow(matcher.onNoMatch, read));
}

function findInNode<Action extends object>(
  node: MatcherNode<Action>,
  read: HeaderReader,
): Action | undefined {
  if (node.kind === 'list') {
    for (const { predicate, onMatch } of node.entries) {
      const found = isSatisfied(predicate, read) ? follow(onMatch, read) : undefined;
      if (found !== undefined) return found;
    }
    return undefined;
  }
  const value = read(node.headerName);
  if (value === undefined) return undefined;
  if (node.kind === 'exact') return followEntry(node.entries, value, read);
  // The longest prefix is the most specific.
  for (const length of node.keyLengths) {
    if (length > value.length) continue;
    const found = followEntry(node.entries, value.slice(0, length), read);
    if (found !== undefined) return found;
  }
  return undefined;
}

function followEntry<Action extends object>(
  entries: ReadonlyMap<string, OnMatch<Action>>,
  key: string,
  read: HeaderReader,
): Action | undefined {
  const onMatch = entries.get(key);
  return onMatch && follow(onMatch, read);
}

function follow<Action extends object>(
  onMatch: OnMatch<Action>,
  read: HeaderReader,
): Action | undefined {
  return onMatch.kind === 'action' ? onMatch.action : findAction(onMatch.matcher, read);
}

function isSatisfied(predicate: Predicate, read: HeaderReader): boolean {
  switch (predicate.kind) {
    case 'header': {
      const value = read(predicate.name);
      return value !== undefined && matchesString(predicate.matcher, value);
    }
    case 'any':
      return predicate.members.some((member) => isSatisfied(member, read));
    case 'all':
      return predicate.members.every((member) => isSatisfied(member, read));
    case 'not':
      return !isSatisfied(predicate.member, read);
    default:
      return assertNever(predicate);
  }
}

/** The pseudo-headers that are set before the filters run. */
const pseudoHeaders = new Set([':path', ':method']);

/** Whether filters can read the header. The other pseudo-headers are set when the call is sent. */
export function isReadable(headerName: string): boolean {
  return !headerName.startsWith(':') || pseudoHeaders.has(headerName);
}

/**
 * Creates a reader of a call's headers with the rules of routing (gRFC A28): repeated values joined, binary headers
 * absent, and the content type present before it is added.
 *
 * @param path Such as `/package.Service/Method`.
 */
export function createHeaderReader(path: string, headers: Metadata): HeaderReader {
  return (name) => {
    if (name === ':path') return path;
    if (name === ':method') return 'POST';
    if (name.endsWith('-bin')) return undefined;
    const values = headers.get(name);
    if (values.length > 0) return values.join(',');
    return name === 'content-type' ? 'application/grpc' : undefined;
  };
}

/** Describes the tree as plain JSON. */
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
