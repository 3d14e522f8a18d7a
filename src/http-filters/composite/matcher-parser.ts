import type { TypedExtensionConfig } from '../../generated/xds/core/v3/extension';
import type {
  Matcher as MatcherMessage,
  Matcher_MatcherList as MatcherListMessage,
  Matcher_MatcherTree as MatcherTreeMessage,
  Matcher_OnMatch as OnMatchMessage,
} from '../../generated/xds/type/matcher/v3/matcher';
import { assertNever } from '../../util/assert-never';
import type { Violations } from '../../util/violations';
import type { Matcher, MatcherListEntry, MatcherNode, OnMatch } from './matcher';
import { parseHeaderInput, parsePredicate } from './predicate-parser';

/** How many trees may be inside one another (draft gRFC A106). */
const MAX_DEPTH = 16;

/** Validates the action a tree ends in. @returns `undefined` after adding a violation. */
export type ActionParser<Action extends object> = (
  action: TypedExtensionConfig,
  violations: Violations,
) => Action | undefined;

/**
 * Validates a tree of conditions on request headers (draft gRFC A106). CEL, regular expressions and extensions of
 * any other kind are refused.
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
    if (depth > MAX_DEPTH) {
      violations.add(`must not be inside more than ${MAX_DEPTH - 1} others`);
      return undefined;
    }
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
        violations.add('must have matcher_list or matcher_tree');
        return undefined;
      default:
        return assertNever(matcherType);
    }
  }

  private parseOnMatch(
    message: OnMatchMessage | undefined,
    depth: number,
    violations: Violations,
  ): OnMatch<Action> | undefined {
    if (message === undefined) {
      violations.add('field not present');
      return undefined;
    }
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
        violations.add('must have matcher or action');
        return undefined;
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
        violations.at('custom_match').add('unsupported');
        return undefined;
      case undefined:
        violations.add('must have exact_match_map or prefix_match_map');
        return undefined;
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
