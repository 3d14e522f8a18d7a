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
