import { ColumnPool } from '../../../src/lb/ring-hash/column-pool';
import { Ring } from '../../../src/lb/ring-hash/ring';
import { splitHash } from '../../../src/lb/ring-hash/ring-entries';
import { runSteps } from '../../../src/util/steps';
import { ringEntriesOf, type RingEntry } from '../../support/ring-entries';
import { seededRandom } from '../../support/seeded-random';

/** @param owner A letter; the slot is its code. */
function entry(hash: bigint, owner: string, ordinal = 0): RingEntry {
  return { hash, owner: owner.charCodeAt(0), ordinal };
}

function ownersOf(ring: Ring): string[] {
  return Array.from(ring.owners, (slot) => String.fromCharCode(slot));
}

function compareOwners(a: number, b: number): number {
  return a - b;
}

type Keeps = (owner: string, ordinal: number) => boolean;

function change(ring: Ring, keepsOwner: Keeps, additions: readonly RingEntry[]): Ring {
  const keeps = (slot: number, ordinal: number) => keepsOwner(String.fromCharCode(slot), ordinal);
  const kept = ring.owners.filter((slot, position) => keeps(slot, ring.ordinalAt(position)));
  const size = kept.length + additions.length;
  return runSteps(ring.change({ keeps, additions: ringEntriesOf(additions), size, compareOwners }));
}

function add(ring: Ring, ...additions: readonly RingEntry[]): Ring {
  return change(ring, () => true, additions);
}

function keep(ring: Ring, keeps: Keeps) {
  return change(ring, keeps, []);
}

function ringOf(...entries: readonly RingEntry[]): Ring {
  return add(Ring.empty(new ColumnPool()), ...entries);
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
    expect(ownersOf(ring)[ring.find(hash)]).toBe(owner);
  });

  it('continues at the start after the last entry', () => {
    const ring = ringOf(entry(20n, 'b'), entry(10n, 'a'));
    expect(ring.find(21n)).toBe(0);
    expect(ring.findSplit(splitHash(21n))).toBe(0);
    expect(ring.findSplit(splitHash(15n))).toBe(1);
  });

  it('distinguishes hashes by their lowest bits', () => {
    const ring = ringOf(entry(NEAR + 3n, 'c'), entry(NEAR + 1n, 'a'), entry(NEAR + 2n, 'b'));
    expect(ownersOf(ring)).toEqual(['a', 'b', 'c']);
    expect([0n, 1n, 2n, 3n, 4n].map((more) => ring.find(NEAR + more))).toEqual([0, 0, 1, 2, 0]);
    expect(ownersOf(add(ring, entry(NEAR, 'z'), entry(NEAR + 4n, 'd')))).toEqual([
      'z',
      'a',
      'b',
      'c',
      'd',
    ]);
  });

  it('orders entries with one hash by their owners, whenever they came', () => {
    const [a, b, c] = [entry(5n, 'a'), entry(5n, 'b'), entry(5n, 'c')];
    expect(ownersOf(ringOf(c, a, b))).toEqual(['a', 'b', 'c']);
    expect(ownersOf(add(ringOf(c, a), b))).toEqual(['a', 'b', 'c']);
    expect(ownersOf(add(ringOf(b), c, a))).toEqual(['a', 'b', 'c']);
    expect(ringOf(c, a, b).find(5n)).toBe(0);
  });

  it('drops what is not kept', () => {
    const ring = ringOf(entry(1n, 'a'), entry(2n, 'b'), entry(3n, 'a', 1), entry(4n, 'c'));
    expect(ownersOf(keep(ring, (owner) => owner !== 'a'))).toEqual(['b', 'c']);
    expect(ownersOf(keep(ring, (owner, ordinal) => owner !== 'a' || ordinal < 1))).toEqual([
      'a',
      'b',
      'c',
    ]);
    expect(keep(ring, () => false).size).toBe(0);
    expect(ring.size).toBe(4);
  });

  it('can be empty', () => {
    expect(Ring.empty(new ColumnPool()).size).toBe(0);
    expect(Ring.empty(new ColumnPool()).find(5n)).toBe(0);
    expect(keep(ringOf(entry(1n, 'a')), () => false).find(1n)).toBe(0);
  });

  it('is the same by many small changes as by a big one', () => {
    const random = seededRandom(3);
    let entries: readonly RingEntry[] = [];
    let ring = Ring.empty(new ColumnPool());
    for (let round = 0; round < 200; round++) {
      const additions = Array.from({ length: Math.floor(random() * 4) }, (_, i) =>
        // From few values, so that there are equal ones.
        entry(NEAR + BigInt(Math.floor(random() * 300)), String.fromCharCode(4 * round + i)),
      );
      const gone = new Set(entries.filter(() => random() < 0.03).map(({ owner }) => owner));
      const keeps = (owner: string) => !gone.has(owner.charCodeAt(0));
      ring = change(ring, keeps, additions);
      entries = [...entries.filter(({ owner }) => !gone.has(owner)), ...additions];
      expect(ring.owners).toEqual(ringOf(...entries).owners);
    }
    expect(ring.size).toBeGreaterThan(20);
  });
});
