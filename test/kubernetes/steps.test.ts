import { inSteps, runSteps, STEP_SIZE } from '../../packages/kubernetes/src/steps';

/** Counts the breaks of work. */
function breaksOf(steps: Generator<undefined, void, undefined>): number {
  let breaks = 0;
  while (steps.next().done !== true) breaks++;
  return breaks;
}

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index);

describe('inSteps', () => {
  it('visits every item in order', () => {
    const seen: string[] = [];
    runSteps(inSteps(['a', 'b'], (item) => void seen.push(item)));
    expect(seen).toEqual(['a', 'b']);
  });

  it.each([
    [0, 0],
    [STEP_SIZE, 0],
    [STEP_SIZE + 1, 1],
    [4 * STEP_SIZE, 3],
  ])('has for %d items %d breaks', (count, breaks) => {
    expect(breaksOf(inSteps(numbers(count), () => undefined))).toBe(breaks);
  });

  it('counts a large item as several', () => {
    const steps = inSteps(
      numbers(10),
      () => undefined,
      () => STEP_SIZE / 2,
    );
    expect(breaksOf(steps)).toBe(4);
  });
});
