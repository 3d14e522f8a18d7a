import { HashBag, hashText } from '../../../src/resources/shared/hash-bag';
import { seededRandom } from '../../support/seeded-random';

describe('a bag of hashes', () => {
  it('counts the occurrences of a hash', () => {
    const bag = new HashBag();
    for (const hash of [7, 7, 0, 4_294_967_295]) bag.add(hash);
    expect([7, 0, 4_294_967_295, 8].map((hash) => bag.countOf(hash))).toEqual([2, 1, 1, 0]);
    bag.delete(7);
    bag.delete(8);
    expect([bag.countOf(7), bag.size]).toEqual([1, 3]);
  });

  it('is independent of its copy', () => {
    const bag = new HashBag();
    for (let hash = 1; hash <= 20; hash++) bag.add(hash);
    const copy = bag.copy();
    copy.add(3);
    bag.delete(4);
    expect([bag, copy].map((each) => each.size)).toEqual([19, 21]);
    expect([bag, copy].map((each) => [each.countOf(3), each.countOf(4)])).toEqual([
      [1, 0],
      [2, 1],
    ]);
  });

  it('agrees with a map after random operations', () => {
    const random = seededRandom(3);
    // Few different ones with the same lowest bits, so that they are in each other's way, and wrap around.
    const hashes = Array.from({ length: 60 }, (_, i) => ((i % 5) + 13 + 1024 * i) >>> 0);
    const bag = new HashBag();
    const expected = new Map<number, number>();
    for (let round = 0; round < 5000; round++) {
      const hash = hashes[Math.floor(random() * hashes.length)] ?? 0;
      const count = expected.get(hash) ?? 0;
      if (random() < (round < 2500 ? 0.6 : 0.4)) {
        bag.add(hash);
        expected.set(hash, count + 1);
      } else {
        bag.delete(hash);
        expected.set(hash, Math.max(0, count - 1));
      }
      if (round % 50 > 0) continue;
      for (const each of hashes) expect(bag.countOf(each)).toBe(expected.get(each) ?? 0);
    }
    expect(bag.size).toBe([...expected.values()].reduce((sum, count) => sum + count, 0));
  });
});

describe('the hash of a text', () => {
  it('depends only on the text and the seed', () => {
    expect(hashText('10.0.0.1', 80)).toBe(hashText('10.0.0.1', 80));
    expect(hashText('10.0.0.1', 80)).not.toBe(hashText('10.0.0.1', 81));
    expect(hashText('10.0.0.1', 80)).not.toBe(hashText('10.0.0.2', 80));
    expect(hashText('')).toBe(hashText('', 0));
  });

  it('is evenly distributed in its upper and its lower bits', () => {
    const [upper, lower] = [new Array<number>(16).fill(0), new Array<number>(16).fill(0)];
    for (let i = 0; i < 16_000; i++) {
      const hash = hashText(`10.${i >> 8}.0.${i & 255}`, 80);
      expect(hash).toBe(hash >>> 0);
      upper[hash >>> 28] = (upper[hash >>> 28] ?? 0) + 1;
      lower[hash & 15] = (lower[hash & 15] ?? 0) + 1;
    }
    // 1,000 each, give or take five standard deviations.
    for (const count of [...upper, ...lower]) expect(Math.abs(count - 1000)).toBeLessThan(160);
  });
});
