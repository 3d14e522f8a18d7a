import { chooseLeastLoaded, type Loads } from '../../../src/lb/least-request/picker';
import type { Random } from '../../../src/util/random';
import { seededRandom } from '../../support/seeded-random';

function loadsOf(...loads: number[]): Loads {
  return { size: loads.length, loadAt: (index) => loads[index] ?? NaN };
}

/** Draws the indexes, out of so many. */
function drawing(size: number, ...indexes: number[]): Random {
  let next = 0;
  return () => (indexes[next++] ?? 0) / size;
}

/** How often each index is chosen, in 30,000 draws. */
function distribution(loads: Loads, choiceCount: number): number[] {
  const random = seededRandom(17);
  const counts = Array.from({ length: loads.size }, () => 0);
  for (let i = 0; i < 30_000; i++) {
    const index = chooseLeastLoaded(loads, choiceCount, random);
    counts[index] = (counts[index] ?? 0) + 1;
  }
  return counts;
}

describe('the least loaded of a few', () => {
  it.each([
    ['the less busy of two', [5, 3, 4], [0, 1], 1],
    ['whichever is drawn first of equally busy ones', [5, 3, 3], [2, 1], 2],
    ['only among those that are drawn', [5, 3, 0], [0, 1], 1],
    ['the least of many', [5, 3, 0, 9], [0, 1, 3, 2, 1], 2],
    ['the one that is drawn each time', [5, 0], [0, 0], 0],
  ])('is %s', (_case, loads, drawn, expected) => {
    const random = drawing(loads.length, ...drawn);
    expect(chooseLeastLoaded(loadsOf(...loads), drawn.length, random)).toBe(expected);
  });

  it('is the only one', () => {
    expect(chooseLeastLoaded(loadsOf(9), 10, drawing(1))).toBe(0);
    expect(chooseLeastLoaded(loadsOf(), 10, drawing(1))).toBe(0);
  });

  it('is any of equally busy ones', () => {
    // 6,000 each, with a standard deviation of 69.
    for (const count of distribution(loadsOf(1, 1, 1, 1, 1), 2)) {
      expect(Math.abs(count - 6000)).toBeLessThan(350);
    }
  });

  it.each([2, 3, 10])('is a busy one if it is drawn all of %s times', (choiceCount) => {
    const [busy = 0] = distribution(loadsOf(9, 1, 1), choiceCount);
    const expected = 30_000 / 3 ** choiceCount;
    // Drawn with replacement: without, it would never be chosen.
    expect(Math.abs(busy - expected)).toBeLessThan(5 * Math.sqrt(expected) + 1);
  });
});
