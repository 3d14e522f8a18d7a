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
 * Returns the indices of items in the order of the items, in steps. Equal items keep their order. Few are sorted in one
 * step.
 *
 * @param compare Compares the items at two indices, as in a sort.
 */
export function* sortInSteps(
  count: number,
  compare: (a: number, b: number) => number,
): Steps<Uint32Array> {
  let sorted = new Uint32Array(count);
  for (let start = 0; start < count; start += STEP_SIZE) {
    if (start > 0) yield;
    const run = sorted.subarray(start, start + STEP_SIZE);
    for (let i = 0; i < run.length; i++) run[i] = start + i;
    run.sort(compare);
  }
  if (count <= STEP_SIZE) return sorted;
  let merged = new Uint32Array(count);
  for (let width = STEP_SIZE; width < count; width *= 2) {
    for (let start = 0; start < count; start += 2 * width) {
      yield;
      yield* mergeInSteps(sorted, merged, { start, width }, compare);
    }
    [sorted, merged] = [merged, sorted];
  }
  return sorted;
}

/** Merges two runs of the same width, of which the second may be cut off, into the same place of `target`. */
function* mergeInSteps(
  source: Uint32Array,
  target: Uint32Array,
  { start, width }: { readonly start: number; readonly width: number },
  compare: (a: number, b: number) => number,
): Steps<void> {
  const middle = Math.min(source.length, start + width);
  const end = Math.min(source.length, middle + width);
  let a = start;
  let b = middle;
  for (let place = start; place < end; place++) {
    const [fromA, fromB] = [source[a] ?? 0, source[b] ?? 0];
    if (b === end || (a < middle && compare(fromA, fromB) <= 0)) {
      target[place] = fromA;
      a++;
    } else {
      target[place] = fromB;
      b++;
    }
    if (place % STEP_SIZE === STEP_SIZE - 1) yield;
  }
}
