import { runSteps, sortInSteps, STEP_SIZE } from '../../src/util/steps';
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

/** Compares items at two indices, which must be those of items. */
function comparing(items: readonly Item[]) {
  return (a: number, b: number) => {
    const [itemA, itemB] = [items[a], items[b]];
    if (itemA === undefined || itemB === undefined) throw new Error(`No item at ${a} or ${b}`);
    return compare(itemA, itemB);
  };
}

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
    const order = runSteps(sortInSteps(items.length, comparing(items)));
    expect(Array.from(order, (index) => items[index])).toEqual([...items].sort(compare));
  });

  it('does not yield for few items, and yields after few operations for many', () => {
    const count = (length: number) => {
      let comparisons = 0;
      let most = 0;
      let steps = 0;
      const compareItems = comparing(makeItems(length, 1e9, 1));
      const sorting = sortInSteps(length, (a, b) => {
        comparisons++;
        return compareItems(a, b);
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
