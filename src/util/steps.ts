/** Work that can be interrupted: between two steps other work may run. A step takes about a millisecond at most. */
export type Steps<T> = Generator<undefined, T, undefined>;

/** Runs all steps that are left without a break. */
export function runSteps<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}
