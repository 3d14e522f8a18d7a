import type { Metadata } from '../grpc-js';
import { PATH, type MatchMeter } from '../resources/matching/match-meter';
import {
  MatchedText,
  matchesText,
  stepsOf,
  STEPS_PER_MATCHER,
  type StringMatcher,
} from '../resources/matching/string-matcher';
import { assertNever } from '../util/errors';
import { CallHeaders, clientHeaders } from './matched-call';

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

/** The headers of a call, and the steps that matching them takes. */
export interface MatchedHeaders {
  /** Returns the value of a header by its lower-case name; `undefined` if it is absent. */
  get(name: string): MatchedText | undefined;
  /** Spends steps on a header. @returns false if fewer are left. */
  spend(steps: number, name: string, textLength: number): boolean;
}

/**
 * Finds the action for a call. A match whose tree finds no action does not count, and the search continues.
 *
 * @returns `undefined` if nothing matches.
 */
export function findAction<Action extends object>(
  matcher: Matcher<Action>,
  headers: MatchedHeaders,
): Action | undefined {
  const found = findInNode(matcher, headers);
  return found ?? (matcher.onNoMatch && follow(matcher.onNoMatch, headers));
}

function findInNode<Action extends object>(
  node: MatcherNode<Action>,
  headers: MatchedHeaders,
): Action | undefined {
  if (node.kind === 'list') {
    for (const { predicate, onMatch } of node.entries) {
      const found = isSatisfied(predicate, headers) ? follow(onMatch, headers) : undefined;
      if (found !== undefined) return found;
    }
    return undefined;
  }
  const value = headers.get(node.headerName)?.text;
  if (value === undefined) return undefined;
  if (node.kind === 'exact') return followEntry(node.entries, value, headers);
  // The longest prefix is the most specific.
  for (const length of node.keyLengths) {
    if (length > value.length) continue;
    if (!headers.spend(STEPS_PER_MATCHER + length, node.headerName, value.length)) return undefined;
    const found = followEntry(node.entries, value.slice(0, length), headers);
    if (found !== undefined) return found;
  }
  return undefined;
}

function followEntry<Action extends object>(
  entries: ReadonlyMap<string, OnMatch<Action>>,
  key: string,
  headers: MatchedHeaders,
): Action | undefined {
  const onMatch = entries.get(key);
  return onMatch && follow(onMatch, headers);
}

function follow<Action extends object>(
  onMatch: OnMatch<Action>,
  headers: MatchedHeaders,
): Action | undefined {
  return onMatch.kind === 'action' ? onMatch.action : findAction(onMatch.matcher, headers);
}

function isSatisfied(predicate: Predicate, headers: MatchedHeaders): boolean {
  switch (predicate.kind) {
    case 'header': {
      const { name, matcher } = predicate;
      const value = headers.get(name);
      if (value === undefined) return headers.spend(STEPS_PER_MATCHER, name, 0) && false;
      const steps = STEPS_PER_MATCHER + stepsOf(matcher, value);
      return headers.spend(steps, name, value.text.length) && matchesText(matcher, value);
    }
    case 'any':
      return predicate.members.some((member) => isSatisfied(member, headers));
    case 'all':
      return predicate.members.every((member) => isSatisfied(member, headers));
    case 'not':
      return !isSatisfied(predicate.member, headers);
    default:
      return assertNever(predicate);
  }
}

/** The pseudo-headers that are set before the filters run. */
const pseudoHeaders = new Set([PATH, ':method']);
const METHOD = new MatchedText('POST');

/** Whether filters can read the header. The other pseudo-headers are set when the call is sent. */
export function isReadable(headerName: string): boolean {
  return !headerName.startsWith(':') || pseudoHeaders.has(headerName);
}

/** The headers of one call as the filter reads them: those of the application and the pseudo-headers. */
export class ReadableHeaders implements MatchedHeaders {
  private readonly headers: CallHeaders;
  private readonly path: MatchedText;

  /**
   * @param path Such as `/package.Service/Method`.
   * @param meter Default: matching is not limited.
   */
  constructor(
    path: string,
    headers: Metadata,
    private readonly meter?: MatchMeter,
  ) {
    this.path = new MatchedText(path);
    this.headers = new CallHeaders(clientHeaders, headers);
  }

  get(name: string): MatchedText | undefined {
    if (name === PATH) return this.path;
    return name === ':method' ? METHOD : this.headers.get(name);
  }

  spend(steps: number, name: string, textLength: number): boolean {
    return this.meter === undefined || this.meter.spendText(steps, name, textLength);
  }
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
