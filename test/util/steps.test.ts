import { inSteps, runSteps, STEP_SIZE } from '../../src/util/steps';

/** Counts the breaks of work. */
function breaksOf(steps: Generator<undefined, void, undefined>): number {
  let breaks = 0;
  while (steps.next().done !== true) breaks++;
  return breaks;
}

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index);

describe('inSteps', () => {
  it('visits every item in order, with its index', () => {
    const seen: [string, number][] = [];
    runSteps(inSteps(['a', 'b'], (item, index) => void seen.push([item, index])));
    expect(seen).toEqual([
      ['a', 0],
      ['b', 1],
    ]);
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

  it('breaks where the steps of an item do', () => {
    function* twice(): Generator<undefined, void, undefined> {
      yield;
      yield;
    }
    expect(breaksOf(inSteps(numbers(3), twice))).toBe(6);
  });
});
