import { LayeredMap } from '../../src/util/layered-map';
import { seededRandom } from '../support/seeded-random';

describe('a layered map', () => {
  it('has the content of a plain map after each of many changes, and every earlier one keeps its own', () => {
    const random = seededRandom(7);
    const pick = (count: number) => Math.floor(random() * count);
    const plain = new Map<string, { readonly step: number }>();
    const copies: (readonly [LayeredMap<{ readonly step: number }>, typeof plain])[] = [];
    let map = LayeredMap.empty<{ readonly step: number }>();
    for (let step = 0; step < 2000; step++) {
      const changes = Array.from({ length: 1 + pick(4) }, () => {
        const value = random() < 0.3 ? undefined : { step };
        return [`key-${pick(300)}`, value] as const;
      });
      map = map.with(changes);
      for (const [key, value] of changes) {
        if (value === undefined) plain.delete(key);
        else plain.set(key, value);
      }
      if (step % 100 === 0) copies.push([map, new Map(plain)]);
    }
    copies.push([map, plain]);
    for (const [layered, expected] of copies) {
      expect(new Map(layered)).toEqual(expected);
      expect(new Set(layered.keys())).toEqual(new Set(expected.keys()));
      expect(layered.size).toBe(expected.size);
      for (let i = 0; i < 300; i++) {
        const key = `key-${i}`;
        expect(layered.get(key)).toBe(expected.get(key));
        expect(layered.has(key)).toBe(expected.has(key));
      }
    }
  });

  it('is the same object when nothing differs', () => {
    const value = {};
    const map = LayeredMap.empty<object>().with([['a', value]]);
    expect(map.with([['a', value]])).toBe(map);
    expect(map.with([['b', undefined]])).toBe(map);
    expect(map.with([])).toBe(map);
  });
});
