import type { Steps } from '../../src/util/time-slices';

/** Runs all remaining steps without interruption. */
export function runSteps<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}
