import { matchesString, type StringMatcher } from '../../resources/string-matcher';
import { assertNever } from '../../util/assert-never';

/** A condition on the headers of a call. */
export type Predicate =
  /** A header that is absent does not satisfy it. */
  | { readonly kind: 'header'; readonly name: string; readonly matcher: StringMatcher }
  | { readonly kind: 'any' | 'all'; readonly members: readonly Predicate[] }
  | { readonly kind: 'not'; readonly member: Predicate };

/** What a match leads to. */
export type OnMatch<Action extends object> =
  | { readonly kind: 'action'; readonly action: Action }
  | { readonly kind: 'matcher'; readonly matcher: Matcher<Action> };

/** One condition of a list and what it leads to. */
export interface MatcherListEntry<Action extends object> {
  readonly predicate: Predicate;
  readonly onMatch: OnMatch<Action>;
}

/** The conditions of a tree at one level. */
export type MatcherNode<Action extends object> =
  | {
      readonly kind: 'list';
      /** In the order in which they are tried. */
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

/** Gives the value of a header by its lower-case name; `undefined` if it is absent. */
export type HeaderReader = (name: string) => string | undefined;

/**
 * The action for a call. A match whose own tree finds nothing counts as none, and the search goes on.
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
      const found = holds(predicate, read) ? follow(onMatch, read) : undefined;
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

function holds(predicate: Predicate, read: HeaderReader): boolean {
  switch (predicate.kind) {
    case 'header': {
      const value = read(predicate.name);
      return value !== undefined && matchesString(predicate.matcher, value);
    }
    case 'any':
      return predicate.members.some((member) => holds(member, read));
    case 'all':
      return predicate.members.every((member) => holds(member, read));
    case 'not':
      return !holds(predicate.member, read);
    default:
      return assertNever(predicate);
  }
}
