import { Ring } from '../../../src/lb/ring-hash/ring';
import { splitHash } from '../../../src/lb/ring-hash/ring-entries';
import { runSteps } from '../../../src/util/steps';
import { ringEntriesOf, type RingEntry } from '../../support/ring-entries';
import { seededRandom } from '../../support/seeded-random';

function entry(hash: bigint, owner: string, ordinal = 0): RingEntry<string> {
  return { hash, owner, ordinal };
}

function compareOwners(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

function change(
  ring: Ring<string>,
  keeps: (owner: string, ordinal: number) => boolean,
  additions: readonly RingEntry<string>[],
): Ring<string> {
  const kept = ring.owners.filter((owner, position) => keeps(owner, ring.ordinalAt(position)));
  const size = kept.length + additions.length;
  return runSteps(ring.change({ keeps, additions: ringEntriesOf(additions), size, compareOwners }));
}

function add(ring: Ring<string>, ...additions: readonly RingEntry<string>[]): Ring<string> {
  return change(ring, () => true, additions);
}

function keep(ring: Ring<string>, keeps: (owner: string, ordinal: number) => boolean) {
  return change(ring, keeps, []);
}

function ringOf(...entries: readonly RingEntry<string>[]): Ring<string> {
  return add(Ring.empty(), ...entries);
}

const MAX = 2n ** 64n - 1n;
// Near it, hashes differ in their lower halves only.
const NEAR = 2n ** 63n;

describe('Ring', () => {
  it.each([
    [0n, 'a'],
    [10n, 'a'],
    [11n, 'b'],
    [20n, 'b'],
    [MAX - 1n, 'c'],
    [MAX, 'c'],
  ])('finds the entry at or after %s', (hash, owner) => {
    const ring = ringOf(entry(20n, 'b'), entry(MAX, 'c'), entry(10n, 'a'));
    expect(ring.owners[ring.find(hash)]).toBe(owner);
  });

  it('continues at the start after the last entry', () => {
    const ring = ringOf(entry(20n, 'b'), entry(10n, 'a'));
    expect(ring.find(21n)).toBe(0);
    expect(ring.findSplit(splitHash(21n))).toBe(0);
    expect(ring.findSplit(splitHash(15n))).toBe(1);
  });

  it('distinguishes hashes by their lowest bits', () => {
    const ring = ringOf(entry(NEAR + 3n, 'c'), entry(NEAR + 1n, 'a'), entry(NEAR + 2n, 'b'));
    expect(ring.owners).toEqual(['a', 'b', 'c']);
    expect([0n, 1n, 2n, 3n, 4n].map((more) => ring.find(NEAR + more))).toEqual([0, 0, 1, 2, 0]);
    expect(add(ring, entry(NEAR, 'z'), entry(NEAR + 4n, 'd')).owners).toEqual([
      'z',
      'a',
      'b',
      'c',
      'd',
    ]);
  });

  it('orders entries with one hash by their owners, whenever they came', () => {
    const [a, b, c] = [entry(5n, 'a'), entry(5n, 'b'), entry(5n, 'c')];
    expect(ringOf(c, a, b).owners).toEqual(['a', 'b', 'c']);
    expect(add(ringOf(c, a), b).owners).toEqual(['a', 'b', 'c']);
    expect(add(ringOf(b), c, a).owners).toEqual(['a', 'b', 'c']);
    expect(ringOf(c, a, b).find(5n)).toBe(0);
  });

  it('drops what is not kept', () => {
    const ring = ringOf(entry(1n, 'a'), entry(2n, 'b'), entry(3n, 'a', 1), entry(4n, 'c'));
    expect(keep(ring, (owner) => owner !== 'a').owners).toEqual(['b', 'c']);
    expect(keep(ring, (owner, ordinal) => owner !== 'a' || ordinal < 1).owners).toEqual([
      'a',
      'b',
      'c',
    ]);
    expect(keep(ring, () => false).size).toBe(0);
    expect(ring.size).toBe(4);
  });

  it('can be empty', () => {
    expect(Ring.empty().size).toBe(0);
    expect(Ring.empty().find(5n)).toBe(0);
    expect(keep(ringOf(entry(1n, 'a')), () => false).find(1n)).toBe(0);
  });

  it('is the same by many small changes as by a big one', () => {
    const random = seededRandom(3);
    let entries: readonly RingEntry<string>[] = [];
    let ring = Ring.empty<string>();
    for (let round = 0; round < 200; round++) {
      const additions = Array.from({ length: Math.floor(random() * 4) }, (_, i) =>
        // From few values, so that there are equal ones.
        entry(NEAR + BigInt(Math.floor(random() * 300)), `${round}.${i}`),
      );
      const gone = new Set(entries.filter(() => random() < 0.03).map(({ owner }) => owner));
      const keeps = (owner: string) => !gone.has(owner);
      ring = change(ring, keeps, additions);
      entries = [...entries.filter(({ owner }) => !gone.has(owner)), ...additions];
      expect(ring.owners).toEqual(ringOf(...entries).owners);
    }
    expect(ring.size).toBeGreaterThan(20);
  });
});
