import { SlotIndex } from '../../src/lb/ring-hash/slot-index';
import { seededRandom } from '../support/seeded-random';

describe('an index of slots', () => {
  it('finds the right one among those with the same hash', () => {
    const index = new SlotIndex();
    for (const slot of [0, 1, 2]) index.add(5, slot);
    index.add(5 + 16, 3);
    expect(index.find(5, (slot) => slot === 1)).toBe(1);
    expect(index.find(5, () => false)).toBe(-1);
    expect(index.find(21, () => true)).toBe(3);
    expect(index.find(37, () => true)).toBe(-1);
  });

  it('agrees with a map, whatever happens', () => {
    const random = seededRandom(4);
    const index = new SlotIndex();
    const hashes = new Map<number, number>();
    for (let round = 0; round < 3000; round++) {
      const slot = Math.floor(random() * 200);
      if (hashes.has(slot)) {
        index.delete(slot);
        hashes.delete(slot);
      } else {
        const hash = Math.floor(random() * 50);
        index.add(hash, slot);
        hashes.set(slot, hash);
      }
      if (round % 100 > 0) continue;
      for (let each = 0; each < 200; each++) {
        for (let hash = 0; hash < 50; hash++) {
          const expected = hashes.get(each) === hash ? each : -1;
          if (index.find(hash, (found) => found === each) !== expected) {
            throw new Error(`slot ${each}, hash ${hash}: not ${expected}`);
          }
        }
      }
    }
    expect(hashes.size).toBeGreaterThan(50);
  });
});
