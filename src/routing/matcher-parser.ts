import { HttpRequestHeaderMatchInput } from '../wire/generated/envoy/type/matcher/v3/http_inputs';
import type { TypedExtensionConfig } from '../wire/generated/xds/core/v3/extension';
import type {
  Matcher as MatcherMessage,
  Matcher_MatcherList as MatcherListMessage,
  Matcher_MatcherTree as MatcherTreeMessage,
  Matcher_OnMatch as OnMatchMessage,
  Matcher_MatcherList_Predicate as PredicateMessage,
  Matcher_MatcherList_Predicate_SinglePredicate as SinglePredicateMessage,
} from '../wire/generated/xds/type/matcher/v3/matcher';
import type { StringMatcher as StringMatcherMessage } from '../wire/generated/xds/type/matcher/v3/string';
import { unpackAny, type AnyType } from '../resources/shared/any';
import { type StringMatcher } from '../resources/matching/string-matcher';
import { parseTextMatcher } from '../resources/matching/string-matcher-parser';
import { assertNever } from '../util/errors';
import type { Violations } from '../util/violations';
import {
  isReadable,
  type Matcher,
  type MatcherListEntry,
  type MatcherNode,
  type OnMatch,
  type Predicate,
} from './matcher';

/** Maximum nesting of trees (draft gRFC A106). */
const MAX_DEPTH = 16;

/** Parses an action. @returns `undefined` after adding a violation. */
type ActionParser<Action extends object> = (
  action: TypedExtensionConfig,
  violations: Violations,
) => Action | undefined;

/**
 * Parses a tree of conditions on request headers (draft gRFC A106). CEL, regular expressions and other extensions are
 * violations.
 *
 * @returns `undefined` after adding a violation.
 */
export function parseMatcher<Action extends object>(
  message: MatcherMessage,
  parseAction: ActionParser<Action>,
  violations: Violations,
): Matcher<Action> | undefined {
  return new MatcherParser(parseAction).parse(message, 1, violations);
}

class MatcherParser<Action extends object> {
  constructor(private readonly parseAction: ActionParser<Action>) {}

  /** @param depth That of this tree; the outermost has 1. */
  parse(
    { matcherType, onNoMatch: otherwise }: MatcherMessage,
    depth: number,
    violations: Violations,
  ): Matcher<Action> | undefined {
    if (depth > MAX_DEPTH)
      return violations.add(`must not be inside more than ${MAX_DEPTH - 1} others`);
    const before = violations.count;
    const node = this.parseNode(matcherType, depth, violations);
    const onNoMatch =
      otherwise && this.parseOnMatch(otherwise, depth, violations.at('on_no_match'));
    return violations.count > before ? undefined : node && { ...node, onNoMatch };
  }

  private parseNode(
    matcherType: MatcherMessage['matcherType'],
    depth: number,
    violations: Violations,
  ): MatcherNode<Action> | undefined {
    switch (matcherType?.$case) {
      case 'matcherList':
        return this.parseList(matcherType.value, depth, violations.at('matcher_list'));
      case 'matcherTree':
        return this.parseTree(matcherType.value, depth, violations.at('matcher_tree'));
      case undefined:
        return violations.add('must have matcher_list or matcher_tree');
      default:
        return assertNever(matcherType);
    }
  }

  private parseOnMatch(
    message: OnMatchMessage | undefined,
    depth: number,
    violations: Violations,
  ): OnMatch<Action> | undefined {
    if (message === undefined) return violations.add('field not present');
    const { onMatch, keepMatching } = message;
    if (keepMatching) violations.at('keep_matching').add('must not be set');
    switch (onMatch?.$case) {
      case 'matcher': {
        const matcher = this.parse(onMatch.value, depth + 1, violations.at('matcher'));
        return matcher && { kind: 'matcher', matcher };
      }
      case 'action': {
        const action = this.parseAction(onMatch.value, violations.at('action'));
        return action && { kind: 'action', action };
      }
      case undefined:
        return violations.add('must have matcher or action');
      default:
        return assertNever(onMatch);
    }
  }

  private parseList(
    { matchers }: MatcherListMessage,
    depth: number,
    violations: Violations,
  ): MatcherNode<Action> {
    const matchersAt = violations.at('matchers');
    if (matchers.length === 0) matchersAt.add('must not be empty');
    const entries: MatcherListEntry<Action>[] = [];
    for (const [i, matcher] of matchers.entries()) {
      const at = matchersAt.index(i);
      const predicate = parsePredicate(matcher.predicate, at.at('predicate'));
      const onMatch = this.parseOnMatch(matcher.onMatch, depth, at.at('on_match'));
      if (predicate && onMatch) entries.push({ predicate, onMatch });
    }
    return { kind: 'list', entries };
  }

  private parseTree(
    { input, treeType }: MatcherTreeMessage,
    depth: number,
    violations: Violations,
  ): MatcherNode<Action> | undefined {
    const headerName = parseHeaderInput(input, violations.at('input'));
    switch (treeType?.$case) {
      case 'exactMatchMap':
      case 'prefixMatchMap': {
        const isExact = treeType.$case === 'exactMatchMap';
        const mapAt = violations.at(isExact ? 'exact_match_map' : 'prefix_match_map').at('map');
        if (treeType.value.map.size === 0) mapAt.add('must not be empty');
        const entries = this.parseMap(treeType.value.map, depth, mapAt);
        if (headerName === undefined) return undefined;
        if (isExact) return { kind: 'exact', headerName, entries };
        const lengths = new Set([...entries.keys()].map((key) => key.length));
        const keyLengths = [...lengths].sort((a, b) => b - a);
        return { kind: 'prefix', headerName, entries, keyLengths };
      }
      case 'customMatch':
        return violations.at('custom_match').add('unsupported');
      case undefined:
        return violations.add('must have exact_match_map or prefix_match_map');
      default:
        return assertNever(treeType);
    }
  }

  private parseMap(
    map: ReadonlyMap<string, OnMatchMessage>,
    depth: number,
    violations: Violations,
  ): ReadonlyMap<string, OnMatch<Action>> {
    const entries = new Map<string, OnMatch<Action>>();
    for (const [key, message] of map) {
      const onMatch = this.parseOnMatch(message, depth, violations.key(key));
      if (onMatch) entries.set(key, onMatch);
    }
    return entries;
  }
}

const MAX_HEADER_NAME = 16_383;
/** A header name of HTTP, or of a pseudo-header. */
const HEADER_NAME = /^:?[a-z0-9!#$%&'*+\-.^_`|~]+$/;

const headerInput: AnyType<HttpRequestHeaderMatchInput> = {
  typeName: 'envoy.type.matcher.v3.HttpRequestHeaderMatchInput',
  decoder: HttpRequestHeaderMatchInput,
};

/** Parses a condition on request headers. @returns `undefined` after adding a violation (draft gRFC A106). */
function parsePredicate(
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
      return violations.add('must have single_predicate, or_matcher, and_matcher or not_matcher');
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
      return violations.at('custom_match').add('unsupported: use value_match');
    case undefined:
      return violations.at('value_match').add('field not present');
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
      return violations.at('safe_regex').add('unsupported here');
    case undefined:
      return violations.add('must have exact, prefix, suffix or contains');
    default:
      return assertNever(matchPattern);
  }
}

/** Parses the name of the header to match, in lower case. @returns `undefined` after adding a violation. */
function parseHeaderInput(
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
