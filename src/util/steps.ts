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

/** What is done with an item of long work: at once, or in steps of its own. */
export type StepAction<T> = (item: T, index: number) => Steps<void> | void;

function isList<T>(items: Iterable<T>): items is readonly T[] {
  return Array.isArray(items);
}

/** The steps of an item, after which its list goes on. */
interface Interruption {
  readonly next: number;
  readonly steps: Steps<void>;
}

/** Does the same as `inSteps` with items of a list, in a third of the time. */
function* inEqualSteps<T>(items: readonly T[], act: StepAction<T>): Steps<void> {
  for (let index = 0; index < items.length;) {
    if (index > 0) yield;
    const end = Math.min(items.length, index + STEP_SIZE);
    while (index < end) {
      const interruption = actUntil(items, end, act, index);
      if (interruption !== undefined) yield* interruption.steps;
      index = interruption?.next ?? end;
    }
  }
}

/** Acts on items until one has steps of its own. A function, because V8 compiles it sooner than the loop of a generator. */
function actUntil<T>(
  items: readonly T[],
  end: number,
  act: StepAction<T>,
  from: number,
): Interruption | undefined {
  let index = from;
  for (const item of from === 0 && end === items.length ? items : items.slice(from, end)) {
    const steps = act(item, index++);
    if (steps !== undefined) return { next: index, steps };
  }
  return undefined;
}

/**
 * Calls a function with each item, with breaks between them: the form in which all long work is written.
 *
 * @param sizeOf Returns the number of small operations that an item takes. Default: 1.
 */
export function* inSteps<T>(
  items: Iterable<T>,
  act: StepAction<T>,
  sizeOf?: (item: T) => number,
): Steps<void> {
  if (sizeOf === undefined && isList<T>(items)) {
    yield* inEqualSteps(items, act);
    return;
  }
  let index = 0;
  let operations = 0;
  for (const item of items) {
    if (operations >= STEP_SIZE) {
      yield;
      operations = 0;
    }
    operations += sizeOf?.(item) ?? 1;
    const steps = act(item, index++);
    if (steps !== undefined) yield* steps;
  }
}

/**
 * Returns items in order, in steps. Equal items keep their order.
 *
 * @param runSize The number of items that are sorted in one step. Larger runs take less time in all.
 */
export function* sortInSteps<T extends object>(
  items: readonly T[],
  compare: (a: T, b: T) => number,
  runSize = STEP_SIZE,
): Steps<readonly T[]> {
  let runs: (readonly T[])[] = [];
  for (let start = 0; start < items.length; start += runSize) {
    if (start > 0) yield;
    runs.push(items.slice(start, start + runSize).sort(compare));
  }
  while (runs.length > 1) {
    const merged: (readonly T[])[] = [];
    for (let i = 0; i < runs.length; i += 2) {
      yield;
      merged.push(yield* mergeInSteps(runs[i] ?? [], runs[i + 1] ?? [], compare));
    }
    runs = merged;
  }
  return runs[0] ?? [];
}

/**
 * Merges sorted lists, in steps. Of equal items, those of the first list come first. Runs of items from one list cost
 * few comparisons.
 *
 * @param keeps Returns whether an item of the first list is in the result. Default: all are.
 */
export function* mergeInSteps<T extends object>(
  first: readonly T[],
  second: readonly T[],
  compare: (a: T, b: T) => number,
  keeps?: (item: T) => boolean,
): Steps<T[]> {
  // Not longer than needed, in the end: to grow it on the way would copy it several times.
  const merged = new Array<T>(first.length + second.length);
  let count = 0;
  let i = 0;
  let operations = 0;
  for (let next = 0; next <= second.length; next++) {
    const item = second[next];
    const end = item === undefined ? first.length : findEnd(first, i, item, compare);
    while (i < end) {
      const stop = Math.min(end, i + STEP_SIZE);
      count = copyKept(first, { from: i, to: stop }, keeps, { items: merged, at: count });
      operations += stop - i;
      i = stop;
      if (operations < STEP_SIZE) continue;
      yield;
      operations = 0;
    }
    if (item !== undefined) merged[count++] = item;
    operations++;
  }
  merged.length = count;
  return merged;
}

/** Copies the items that are kept. @returns where the next item goes. A function, as `actUntil` is. */
function copyKept<T extends object>(
  items: readonly T[],
  { from, to }: { readonly from: number; readonly to: number },
  keeps: ((item: T) => boolean) | undefined,
  target: { readonly items: T[]; readonly at: number },
): number {
  let { at } = target;
  for (let i = from; i < to; i++) {
    const item = items[i];
    if (item !== undefined && (keeps === undefined || keeps(item))) target.items[at++] = item;
  }
  return at;
}

/** Returns the index after the last of sorted items, from a start on, that is not greater than the given one. */
function findEnd<T>(
  items: readonly T[],
  start: number,
  than: T,
  compare: (a: T, b: T) => number,
): number {
  const isBefore = (index: number) => {
    const item = items[index];
    return item !== undefined && compare(item, than) <= 0;
  };
  let low = start;
  let high = start;
  for (let step = 1; isBefore(high); step *= 2) {
    low = high + 1;
    high += step;
  }
  high = Math.min(high, items.length);
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBefore(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}
