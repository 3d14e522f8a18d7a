/** Interruptible work: other work may run between two steps. A step takes a fraction of a millisecond. */
export type Steps<T> = Generator<undefined, T, undefined>;

/** Runs all remaining steps without interruption. */
export function runSteps<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** Number of small operations in one step: a yield takes longer than such an operation. */
export const STEP_SIZE = 256;

/** Sorts a copy, as `Array.prototype.sort` would, in steps. Few items are sorted in one step. */
export function* sortInSteps<T extends object>(
  items: readonly T[],
  compare: (a: T, b: T) => number,
): Steps<readonly T[]> {
  let runs: (readonly T[])[] = [];
  for (let start = 0; start < items.length; start += STEP_SIZE) {
    if (start > 0) yield;
    runs.push(items.slice(start, start + STEP_SIZE).sort(compare));
  }
  while (runs.length > 1) {
    const longer: (readonly T[])[] = [];
    for (let i = 0; i < runs.length; i += 2) {
      yield;
      longer.push(yield* mergeInSteps(runs[i] ?? [], runs[i + 1] ?? [], compare));
    }
    runs = longer;
  }
  return runs[0] ?? [];
}

function* mergeInSteps<T extends object>(
  a: readonly T[],
  b: readonly T[],
  compare: (a: T, b: T) => number,
): Steps<readonly T[]> {
  const [last, first] = [a.at(-1), b[0]];
  if (last === undefined || first === undefined || compare(last, first) <= 0) return a.concat(b);
  const merged: T[] = [];
  let fromB = 0;
  for (const [fromA, item] of a.entries()) {
    for (let next = b[fromB]; next !== undefined && compare(next, item) < 0; next = b[fromB]) {
      merged.push(next);
      fromB++;
      if ((fromA + fromB) % STEP_SIZE === 0) yield;
    }
    merged.push(item);
    if ((fromA + fromB) % STEP_SIZE === 0) yield;
  }
  return merged.concat(b.slice(fromB));
}
