import type { Steps } from '../../../src/util/time-slices';

/** Runs all remaining steps without interruption. */
export function runSteps<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** The number of small operations in one step: a yield takes longer than such an operation. */
export const STEP_SIZE = 256;

/**
 * Calls a function with each item, with breaks between them.
 *
 * @param sizeOf Returns the number of small operations that an item takes. Default: 1.
 */
export function* inSteps<T>(
  items: Iterable<T>,
  act: (item: T) => void,
  sizeOf: (item: T) => number = () => 1,
): Steps<void> {
  let operations = 0;
  for (const item of items) {
    if (operations >= STEP_SIZE) {
      yield;
      operations = 0;
    }
    operations += sizeOf(item);
    act(item);
  }
}
