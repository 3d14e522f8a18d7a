/** A line of a comparison: `+` for one that was added, `-` for one that was removed, a space for one that is in both. */
export interface ComparedLine {
  readonly sign: '+' | '-' | ' ';
  readonly text: string;
}

/** Edits that are searched for. Texts that differ in more have their differing part replaced as a whole. */
const MAX_EDITS = 400;

/** Compares two texts by line, with as few lines added and removed as possible (Myers, An O(ND) Difference Algorithm). */
export function diffLines(before: readonly string[], after: readonly string[]): ComparedLine[] {
  const start = commonStart(before, after);
  const end = commonEnd(before.slice(start), after.slice(start));
  const [a, b] = [before.slice(start, before.length - end), after.slice(start, after.length - end)];
  return [
    ...before.slice(0, start).map(same),
    ...(shortestEdit(a, b) ?? [...a.map(removed), ...b.map(added)]),
    ...before.slice(before.length - end).map(same),
  ];
}

const same = (text: string): ComparedLine => ({ sign: ' ', text });
const added = (text: string): ComparedLine => ({ sign: '+', text });
const removed = (text: string): ComparedLine => ({ sign: '-', text });

function commonStart(a: readonly string[], b: readonly string[]): number {
  const length = Math.min(a.length, b.length);
  let count = 0;
  while (count < length && a[count] === b[count]) count++;
  return count;
}

function commonEnd(a: readonly string[], b: readonly string[]): number {
  const length = Math.min(a.length, b.length);
  let count = 0;
  while (count < length && a[a.length - 1 - count] === b[b.length - 1 - count]) count++;
  return count;
}

/** By diagonal, how many lines of the first text the furthest path with a number of edits has passed. */
type Reach = ReadonlyMap<number, number>;

/** @returns `undefined` if there are more edits than are searched for. */
function shortestEdit(
  a: readonly string[],
  b: readonly string[],
): readonly ComparedLine[] | undefined {
  const reaches: Reach[] = [];
  for (let edits = 0; edits <= MAX_EDITS; edits++) {
    const reach = extend(a, b, edits, reaches.at(-1));
    reaches.push(reach);
    if ((reach.get(a.length - b.length) ?? -1) >= a.length) return follow(a, b, reaches);
  }
  return undefined;
}

function extend(
  a: readonly string[],
  b: readonly string[],
  edits: number,
  before: Reach | undefined,
): Reach {
  const reach = new Map<number, number>();
  for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
    let x = before === undefined ? 0 : stepInto(before, diagonal, edits).x;
    while (x < a.length && x - diagonal < b.length && a[x] === b[x - diagonal]) x++;
    reach.set(diagonal, x);
  }
  return reach;
}

/** Returns where a diagonal is entered: by a line that was added, or by one that was removed. */
function stepInto(
  before: Reach,
  diagonal: number,
  edits: number,
): { readonly x: number; readonly from: number } {
  const [below, above] = [before.get(diagonal - 1) ?? -1, before.get(diagonal + 1) ?? -1];
  const isAdded = diagonal === -edits || (diagonal !== edits && below < above);
  return isAdded ? { x: above, from: diagonal + 1 } : { x: below + 1, from: diagonal - 1 };
}

/** Follows the path from its end to its start. */
function follow(
  a: readonly string[],
  b: readonly string[],
  reaches: readonly Reach[],
): readonly ComparedLine[] {
  const lines: ComparedLine[] = [];
  let diagonal = a.length - b.length;
  let x = a.length;
  const passSame = (until: number) => {
    while (x > until) lines.push(same(a[--x] ?? ''));
  };
  for (let edits = reaches.length - 1; edits > 0; edits--) {
    const step = stepInto(reaches[edits - 1] ?? new Map<number, number>(), diagonal, edits);
    passSame(step.x);
    if (step.from > diagonal) lines.push(added(b[x - diagonal - 1] ?? ''));
    else lines.push(removed(a[--x] ?? ''));
    diagonal = step.from;
  }
  passSame(0);
  return lines.reverse();
}
