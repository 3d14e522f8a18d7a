import { PATH, type MatchMeter } from '../resources/matching/match-meter';
import type { PathMatcher } from '../resources/route-config/route-config';
import { PathIndex } from '../routing/path-index';
import type { EvaluatedRequest } from './evaluated-request';
import type { Condition, Policy } from './rules';

/** Something that a request must have for a condition to be true: its path, or a name of its peer. */
type Key = { readonly path: PathMatcher } | { readonly name: string };

/**
 * Finds the first policy that matches a request, without trying those that name other paths or peers. It leaves out only policies
 * that cannot match: below a `not`, and for every other condition, nothing is concluded.
 */
export class PolicyIndex {
  private readonly paths = new PathIndex();
  private readonly names = new Map<string, number[]>();
  /** The policies that are tried for every request. */
  private readonly always: number[] = [];
  private hasPaths = false;
  /** The first position that has been found to match so far. */
  private first = Infinity;
  private readonly acceptsPath = (
    position: number,
    request: EvaluatedRequest,
    lists: number,
  ): boolean => {
    // Nothing after it is of interest; a request without steps left is denied.
    const { path } = request.request;
    if (position >= this.first || !this.meter.spendText(lists, PATH, path.length)) return true;
    return this.accepts(position, request);
  };

  /** @param meter Counts the look-ups, too. */
  constructor(
    private readonly policies: readonly Policy[],
    private readonly meter: MatchMeter,
  ) {
    policies.forEach(({ permissions, principals }, position) => {
      const keys = fewest([keysOf(permissions), keysOf(principals)]);
      if (keys === undefined) this.always.push(position);
      else for (const key of keys) this.add(key, position);
    });
  }

  /** Returns the first policy that matches; `undefined` if none does. */
  findFirst(request: EvaluatedRequest): Policy | undefined {
    this.first = Infinity;
    this.tryList(this.always, request);
    if (this.hasPaths) {
      const found = this.paths.findFirst(request.request.path, this.acceptsPath, request);
      if (found !== undefined && found < this.first) this.first = found;
    }
    if (this.names.size > 0) {
      for (const name of request.peerNames) {
        this.tryList(this.names.get(name.text) ?? [], request);
      }
    }
    return this.policies[this.first];
  }

  private tryList(positions: readonly number[], request: EvaluatedRequest): void {
    for (const position of positions) {
      if (position >= this.first) return;
      if (this.accepts(position, request)) this.first = position;
    }
  }

  private accepts(position: number, request: EvaluatedRequest): boolean {
    const policy = this.policies[position];
    return policy !== undefined && request.satisfiesPolicy(policy);
  }

  private add(key: Key, position: number): void {
    if ('path' in key) {
      this.hasPaths = true;
      this.paths.add(key.path, position);
      return;
    }
    const known = this.names.get(key.name);
    if (known === undefined) this.names.set(key.name, [position]);
    else known.push(position);
  }
}

/** Returns keys of which each request that satisfies the condition has at least one; `undefined` if there are no such keys. */
function keysOf(condition: Condition): readonly Key[] | undefined {
  switch (condition.kind) {
    case 'constant':
      return condition.value ? undefined : [];
    case 'and':
      return fewest(condition.of.map(keysOf));
    case 'or': {
      const lists = condition.of.map(keysOf);
      return lists.includes(undefined) ? undefined : lists.flatMap((keys) => keys ?? []);
    }
    case 'path':
      return pathKeysOf(condition);
    case 'authenticated': {
      const { name } = condition;
      return name?.kind === 'exact' && !name.ignoreCase ? [{ name: name.text }] : undefined;
    }
    default:
      return undefined;
  }
}

function pathKeysOf({ matcher }: Extract<Condition, { kind: 'path' }>): readonly Key[] | undefined {
  if (matcher.kind !== 'exact' && matcher.kind !== 'prefix') return undefined;
  const { text, ignoreCase } = matcher;
  const kind = matcher.kind === 'exact' ? 'path' : 'prefix';
  return [{ path: { kind, text, caseSensitive: !ignoreCase } }];
}

/** Of conditions that must all be true, the keys of one are enough. */
function fewest(lists: readonly (readonly Key[] | undefined)[]): readonly Key[] | undefined {
  const known = lists.filter((keys) => keys !== undefined);
  return known.sort((a, b) => a.length - b.length)[0];
}
