import { ColumnPool } from '../../../src/lb/ring-hash/column-pool';
import { RingSectors } from '../../../src/lb/ring-hash/ring-sectors';
import { seededRandom } from '../../support/seeded-random';

const RANGE = 2 ** 32;
const MAX = RANGE / 2 - 1;
const MIN = -RANGE / 2;
const random = seededRandom(6);

/** Whether every hash is in the sector it is said to be in, and all others are before or after it. */
function checkAll(hashes: readonly number[]): void {
  const sorted = Int32Array.from(hashes).sort();
  const sectors = new RingSectors(new ColumnPool(), sorted);
  for (const hash of [...sorted, MIN, 0, MAX]) {
    const sector = sectors.indexOf(hash);
    const [start, end] = [sectors.startOf(sector), sectors.startOf(sector + 1)];
    expect(start).toBeLessThanOrEqual(end);
    const position = sorted.findIndex((other) => other >= hash);
    const expected = position === -1 ? sorted.length : position;
    expect(expected).toBeGreaterThanOrEqual(start);
    expect(expected).toBeLessThanOrEqual(end);
  }
}

describe('the sectors of a ring', () => {
  it.each([
    ['none', []],
    ['one', [RANGE / 3]],
    ['the lowest and the highest', [MIN, MAX]],
    ['many', Array.from({ length: 200 }, () => (random() - 0.5) * RANGE)],
    ['many in one place', Array.from({ length: 200 }, () => RANGE / 3)],
    ['many at the end', Array.from({ length: 200 }, (_, i) => MAX - i * 1000)],
  ])('contain the entries that a search has to look at: %s', (_case, hashes) => {
    checkAll(hashes);
  });

  it('are short where hashes are evenly spread', () => {
    const hashes = Array.from({ length: 4096 }, () => (random() - 0.5) * RANGE);
    const sectors = new RingSectors(new ColumnPool(), Int32Array.from(hashes).sort());
    const lengths = Array.from(
      { length: 4096 },
      (_, i) => sectors.startOf(i + 1) - sectors.startOf(i),
    );
    expect(Math.max(...lengths)).toBeLessThan(12);
  });
});
