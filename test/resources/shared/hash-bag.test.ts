import { HashBag } from '../../../src/resources/endpoints/endpoint-addresses';
import { KeyedHash } from '../../../src/util/hashes';
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

/** FNV-1a and the finalizer of MurmurHash3: a function without a secret, for which collisions can be chosen. */
function hashWithoutKey(text: string, number: number): number {
  let hash = 0x811c9dc5 ^ number;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

describe('a bag of hashes of texts that were chosen for equal lowest bits', () => {
  const chosen: string[] = [];
  for (let i = 0; chosen.length < 256; i++) {
    const address = `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`;
    if ((hashWithoutKey(address, 80) & 0x3ff) === 0) chosen.push(address);
  }
  const triesOf = (hashText: (text: string, number: number) => number) => {
    const bag = new HashBag();
    return chosen.reduce((sum, address) => sum + bag.add(hashText(address, 80)), 0);
  };

  it('tries few places for each with a key', () => {
    expect(triesOf(hashWithoutKey)).toBeGreaterThan((chosen.length * chosen.length) / 4);
    for (const key of [1, 2, 3]) {
      const hash = new KeyedHash([key, 0xf00d]);
      expect(triesOf((text, number) => hash.hashText(text, number))).toBeLessThan(
        3 * chosen.length,
      );
    }
  });
});
