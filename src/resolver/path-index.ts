import type { PathMatcher } from '../resources/route-config';
import { PrefixTree } from './prefix-tree';

const SERVICE_PREFIX = /^\/[^/]+\/$/;

/**
 * Which routes a path may match, without looking at the others: exact paths by hash, prefixes by a radix
 * tree, and regular expressions always. Candidates come in the order of the routes.
 */
export class PathIndex {
  private readonly exact = new Map<string, number[]>();
  /** Prefixes that are a service, such as `/package.Service/`: most are, and one look-up finds them. */
  private readonly services = new Map<string, number[]>();
  private readonly exactLower = new Map<string, number[]>();
  private readonly prefixes = new PrefixTree();
  private readonly prefixesLower = new PrefixTree();
  /** Routes that every path must be tried against. */
  private readonly always: number[] = [];
  private hasLower = false;

  constructor(matchers: readonly PathMatcher[]) {
    matchers.forEach((matcher, position) => this.add(matcher, position));
  }

  /**
   * The first position, in ascending order, for which `accepts` is true. It is asked only about positions
   * whose matcher may match the path: for all but regular expressions, whose matcher does.
   */
  findFirst(path: string, accepts: (position: number) => boolean): number | undefined {
    const lists = this.candidates(path);
    const [only] = lists;
    if (lists.length > 1 || only === undefined) return firstOfMerged(lists, accepts);
    for (const position of only) if (accepts(position)) return position;
    return undefined;
  }

  private add(matcher: PathMatcher, position: number): void {
    if (matcher.kind === 'regex') {
      this.always.push(position);
      return;
    }
    const { caseSensitive, text } = matcher;
    if (!caseSensitive) this.hasLower = true;
    if (matcher.kind === 'path') {
      append(caseSensitive ? this.exact : this.exactLower, text, position);
    } else if (caseSensitive && SERVICE_PREFIX.test(text)) {
      append(this.services, text, position);
    } else {
      (caseSensitive ? this.prefixes : this.prefixesLower).add(text, position);
    }
  }

  private candidates(path: string): (readonly number[])[] {
    const lists: (readonly number[])[] = [];
    const add = (positions: readonly number[] | undefined) => {
      if (positions !== undefined && positions.length > 0) lists.push(positions);
    };
    add(this.exact.get(path));
    if (this.services.size > 0) add(this.services.get(servicePrefix(path)));
    this.prefixes.visit(path, add);
    add(this.always);
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

function append(positions: Map<string, number[]>, key: string, position: number): void {
  const known = positions.get(key);
  if (known === undefined) positions.set(key, [position]);
  else known.push(position);
}

/** Merges ascending lists as far as needed. The lists are few: one per stored prefix of the path, and three. */
function firstOfMerged(
  lists: readonly (readonly number[])[],
  accepts: (position: number) => boolean,
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
    if (accepts(position)) return position;
    cursors[next] = (cursors[next] ?? 0) + 1;
  }
}
