import type { PathMatcher } from '../resources/route-config/route-config';
import { PrefixTree, type Positions } from './prefix-tree';

const SERVICE_PREFIX = /^\/[^/]+\/$/;

/** A matcher of a text, which the whole path or its beginning must be. */
type TextMatcher = Exclude<PathMatcher, { readonly kind: 'regex' }>;

/**
 * Whether the route at a position, whose path matches, is that of the call.
 * @param lists The number of lists that were compared to find the position.
 */
type Accepts<Call> = (position: number, call: Call, lists: number) => boolean;

/**
 * Finds the routes that a path may match, in the order of the routes: exact paths by hash, prefixes by a radix tree, and
 * all regular expressions.
 */
export class PathIndex {
  private readonly exact = new Map<string, Positions>();
  /** Prefixes that are a service, such as `/package.Service/`, found by one look-up. */
  private readonly services = new Map<string, Positions>();
  private readonly exactLower = new Map<string, Positions>();
  private readonly prefixes = new PrefixTree();
  private readonly prefixesLower = new PrefixTree();
  /** Routes that are candidates for every path. */
  private readonly always: number[] = [];
  private hasLower = false;
  /** The first position that is neither in `exact` nor in `services`. */
  private firstOther = Infinity;

  /**
   * Returns the first position, in ascending order, for which `accepts` is true. It is called only for regular
   * expressions and positions whose matcher matches the path.
   *
   * A position that is found by one look-up, before all prefixes and expressions, is tried without allocating anything:
   * calls of most tables match such a one.
   *
   * @param call Passed to `accepts`, so that it can be the same function for all calls.
   */
  findFirst<Call>(path: string, accepts: Accepts<Call>, call: Call): number | undefined {
    const exact = this.exact.get(path);
    const service = this.services.size > 0 ? this.services.get(servicePrefix(path)) : undefined;
    const only = exact === undefined || service === undefined ? (exact ?? service) : undefined;
    const areFirst = only !== undefined && lastOf(only) < this.firstOther;
    const found = areFirst ? firstOf(only, accepts, call) : undefined;
    if (found !== undefined) return found;
    if (this.firstOther === Infinity && (areFirst || exact === undefined)) return undefined;
    const others = this.otherCandidates(path);
    if (!areFirst) {
      if (exact !== undefined) others.push(toList(exact));
      if (service !== undefined) others.push(toList(service));
    }
    return firstOfMerged(others, accepts, call);
  }

  /** Adds a matcher. @param position Greater than those before. */
  add(matcher: PathMatcher, position: number): void {
    if (matcher.kind !== 'regex' && this.addToMaps(matcher, position)) return;
    this.firstOther = Math.min(this.firstOther, position);
    if (matcher.kind === 'regex') {
      this.always.push(position);
      return;
    }
    const { kind, caseSensitive, text } = matcher;
    if (!caseSensitive) this.hasLower = true;
    if (kind === 'path') append(this.exactLower, text, position);
    else (caseSensitive ? this.prefixes : this.prefixesLower).add(text, position);
  }

  /** @returns Whether the path of a call leads to the matcher by one look-up. */
  private addToMaps({ kind, text, caseSensitive }: TextMatcher, position: number): boolean {
    if (!caseSensitive || (kind === 'prefix' && !SERVICE_PREFIX.test(text))) return false;
    append(kind === 'path' ? this.exact : this.services, text, position);
    return true;
  }

  /** Returns the positions besides those that are found by one look-up. */
  private otherCandidates(path: string): (readonly number[])[] {
    const lists: (readonly number[])[] = [];
    const add = (positions: Positions | undefined) => {
      if (positions !== undefined) lists.push(toList(positions));
    };
    this.prefixes.visit(path, add);
    if (this.always.length > 0) lists.push(this.always);
    if (this.hasLower) {
      const lower = path.toLowerCase();
      add(this.exactLower.get(lower));
      this.prefixesLower.visit(lower, add);
    }
    return lists;
  }
}

/** `/package.Service/` of `/package.Service/Method`. */
function servicePrefix(path: string): string {
  return path.slice(0, path.indexOf('/', 1) + 1);
}

function append(positions: Map<string, Positions>, key: string, position: number): void {
  const known = positions.get(key);
  if (typeof known === 'object') known.push(position);
  else positions.set(key, known === undefined ? position : [known, position]);
}

function lastOf(positions: Positions): number {
  return typeof positions === 'number' ? positions : (positions[positions.length - 1] ?? 0);
}

function toList(positions: Positions): readonly number[] {
  return typeof positions === 'number' ? [positions] : positions;
}

function firstOf<Call>(
  positions: Positions,
  accepts: Accepts<Call>,
  call: Call,
): number | undefined {
  if (typeof positions === 'number') return accepts(positions, call, 1) ? positions : undefined;
  for (const position of positions) if (accepts(position, call, 1)) return position;
  return undefined;
}

/** Merges ascending lists as far as needed: one per stored prefix of the path, and four others. */
function firstOfMerged<Call>(
  lists: readonly (readonly number[])[],
  accepts: Accepts<Call>,
  call: Call,
): number | undefined {
  const cursors = new Array<number>(lists.length).fill(0);
  for (;;) {
    let next = -1;
    let position = Infinity;
    for (let i = 0; i < lists.length; i++) {
      const candidate = lists[i]?.[cursors[i] ?? 0];
      if (candidate !== undefined && candidate < position) {
        position = candidate;
        next = i;
      }
    }
    if (next < 0) return undefined;
    if (accepts(position, call, lists.length)) return position;
    cursors[next] = (cursors[next] ?? 0) + 1;
  }
}
