import { inSteps, mergeInSteps, runSteps, sortInSteps, STEP_SIZE } from '../../src/util/steps';
import { seededRandom } from '../support/seeded-random';

interface Item {
  readonly key: number;
  readonly index: number;
}

function makeItems(count: number, keys: number, seed: number): Item[] {
  const random = seededRandom(seed);
  return Array.from({ length: count }, (_, index) => ({
    key: Math.floor(random() * keys),
    index,
  }));
}

const compare = (a: Item, b: Item) => a.key - b.key;

describe('sorting in steps', () => {
  it.each([
    [0, 1],
    [1, 1],
    [STEP_SIZE, 10],
    [STEP_SIZE + 1, 1e9],
    [3 * STEP_SIZE, 1],
    [5 * STEP_SIZE + 7, 3],
    [10_000, 1e9],
    [20_000, 100],
  ])('comes to what Array.prototype.sort does: %s items of %s keys', (count, keys) => {
    const items = makeItems(count, keys, count);
    expect(runSteps(sortInSteps(items, compare))).toEqual([...items].sort(compare));
  });

  it('does not yield for few items, and yields after few operations for many', () => {
    const count = (length: number) => {
      let comparisons = 0;
      let most = 0;
      let steps = 0;
      const sorting = sortInSteps(makeItems(length, 1e9, 1), (a, b) => {
        comparisons++;
        return compare(a, b);
      });
      for (; sorting.next().done !== true; steps++) {
        most = Math.max(most, comparisons);
        comparisons = 0;
      }
      return { steps, most };
    };
    expect(count(STEP_SIZE).steps).toBe(0);
    const { steps, most } = count(20_000);
    expect(steps).toBeGreaterThan(80);
    // A run of so many items is sorted in one step.
    expect(most).toBeLessThan(STEP_SIZE * Math.log2(STEP_SIZE));
  });
});

describe('merging in steps', () => {
  const sorted = (count: number, keys: number, seed: number) =>
    makeItems(count, keys, seed).sort(compare);

  it.each([
    [0, 0, 1],
    [0, 10, 5],
    [10, 0, 5],
    [1000, 1, 50],
    [1, 1000, 50],
    [1000, 1000, 1],
    [3000, 500, 1e9],
  ])('comes to what a sort of both lists does: %s and %s items of %s keys', (a, b, keys) => {
    const [first, second] = [sorted(a, keys, 1), sorted(b, keys, 2)];
    expect(runSteps(mergeInSteps(first, second, compare))).toEqual(
      [...first, ...second].sort(compare),
    );
    const keeps = ({ index }: Item) => index % 3 > 0;
    expect(runSteps(mergeInSteps(first, second, compare, keeps))).toEqual(
      [...first.filter(keeps), ...second].sort(compare),
    );
  });

  it('compares few items of a long run, and yields within it', () => {
    let comparisons = 0;
    let steps = 0;
    const counting = (a: Item, b: Item) => {
      comparisons++;
      return compare(a, b);
    };
    const merging = mergeInSteps(sorted(10_000, 1e9, 1), sorted(1, 1e9, 2), counting);
    for (; merging.next().done !== true; steps++);
    expect(comparisons).toBeLessThan(30);
    expect(steps).toBeGreaterThan(30);
  });
});

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
