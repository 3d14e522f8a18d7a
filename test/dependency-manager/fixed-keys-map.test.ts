import { FixedKeysMap } from '../../src/dependency-manager/fixed-keys-map';
import { seededRandom } from '../support/seeded-random';

interface Box {
  readonly of: number;
}

const box = (of: number): Box => ({ of });

describe('FixedKeysMap', () => {
  it('has its initial values, in the order of the keys', () => {
    const map = FixedKeysMap.of(
      ['b', 'a', 'c'],
      new Map([
        ['a', box(1)],
        ['b', box(2)],
      ]),
    );
    expect([...map]).toEqual([
      ['b', box(2)],
      ['a', box(1)],
    ]);
    expect([...map.keys()]).toEqual(['b', 'a']);
    expect([...map.values()]).toEqual([box(2), box(1)]);
    expect([map.size, map.has('a'), map.has('c'), map.get('c')]).toEqual([
      2,
      true,
      false,
      undefined,
    ]);
  });

  it('is unchanged when values are set in another map', () => {
    const before = FixedKeysMap.of(['a', 'b'], new Map([['a', box(1)]]));
    const after = before.with(
      new Map([
        ['a', box(2)],
        ['b', box(3)],
      ]),
    );
    expect([...before]).toEqual([['a', box(1)]]);
    expect([...after]).toEqual([
      ['a', box(2)],
      ['b', box(3)],
    ]);
    expect([before.size, after.size]).toEqual([1, 2]);
  });

  it('rejects other keys', () => {
    const map = FixedKeysMap.of(['a'], new Map<string, Box>());
    expect(() => map.with(new Map([['b', box(1)]]))).toThrow('not made for this key');
    expect(map.get('b')).toBeUndefined();
  });

  it('calls back for each entry', () => {
    const map = FixedKeysMap.of(['a', 'b'], new Map([['b', box(1)]]));
    const seen: unknown[] = [];
    map.forEach((value, key, of) => seen.push([key, value, of === map]));
    expect(seen).toEqual([['b', box(1), true]]);
  });

  it('equals a plain map after any number of changes', () => {
    const random = seededRandom(1);
    const keys = Array.from({ length: 100 }, (_, i) => `key ${i}`);
    const plain = new Map<string, Box>();
    let map = FixedKeysMap.of(keys, plain);
    for (let i = 0; i < 300; i++) {
      const changes = new Map<string, Box>();
      for (let n = random() * 4; n > 0; n--) {
        changes.set(keys[Math.floor(random() * keys.length)] ?? '', box(i));
      }
      map = map.with(changes);
      for (const [key, value] of changes) plain.set(key, value);
      expect(map.size).toBe(plain.size);
      expect(new Map(map)).toEqual(plain);
    }
  });
});
