import { Ring, type HashTable } from '../../../src/lb/ring-hash/ring';
import { BuiltTable } from './built-table';
import { makeEndpoint, singleLocality } from '../../support/lb-harness';

/** The hash of the first entry of each owner; an owner is a letter. */
type Hashes = ReadonlyMap<string, bigint>;

function hashesOf(...entries: readonly (readonly [string, bigint])[]): Hashes {
  return new Map(entries);
}

/** Rings with an entry for each member, which their hashes distinguish. */
class Subject {
  private hashes: Hashes = new Map();
  readonly built = new BuiltTable({
    hash: (text) => this.hashes.get(text.slice(0, text.indexOf('_'))) ?? 0n,
  });

  /** Updates the ring. Owners that stay must have the same hash. */
  update(hashes: Hashes): this {
    this.hashes = hashes;
    const endpoints = Array.from(hashes.keys(), (hashKey) =>
      makeEndpoint(`127.0.0.1:${10_000 + hashKey.charCodeAt(0)}`, { hashKey }),
    );
    this.built.update(singleLocality(...endpoints), { min: hashes.size, max: hashes.size });
    return this;
  }

  get owners(): string[] {
    return this.built.endpoints.map(({ hashKey = '' }) => hashKey);
  }

  get ring(): HashTable {
    return this.built.table;
  }
}

function ringOf(...entries: readonly (readonly [string, bigint])[]): Subject {
  return new Subject().update(hashesOf(...entries));
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
    const { owners, ring } = ringOf(['b', 20n], ['c', MAX], ['a', 10n]);
    expect(owners[ring.find(hash)]).toBe(owner);
  });

  it('continues at the start after the last entry', () => {
    const { ring } = ringOf(['b', 20n], ['a', 10n]);
    expect(ring.find(21n)).toBe(0);
    expect(ring.find(15n)).toBe(1);
    const members = [0, 1, 2, 3].map((position) => ring.memberAt(position));
    expect(members.slice(2)).toEqual(members.slice(0, 2));
    expect(new Set(members).size).toBe(2);
  });

  it('distinguishes hashes by their lowest bits', () => {
    const subject = ringOf(['c', NEAR + 3n], ['a', NEAR + 1n], ['b', NEAR + 2n]);
    expect(subject.owners).toEqual(['a', 'b', 'c']);
    const { ring } = subject;
    expect([0n, 1n, 2n, 3n, 4n].map((more) => ring.find(NEAR + more))).toEqual([0, 0, 1, 2, 0]);
    subject.update(
      hashesOf(['c', NEAR + 3n], ['a', NEAR + 1n], ['b', NEAR + 2n], ['z', NEAR], ['d', NEAR + 4n]),
    );
    expect(subject.owners).toEqual(['z', 'a', 'b', 'c', 'd']);
  });

  it('orders entries with one hash by their owners, whenever they came', () => {
    const [a, b, c] = [
      ['a', 5n],
      ['b', 5n],
      ['c', 5n],
    ] as const;
    for (const before of [[], [a], [b], [c], [c, a], [b, c]]) {
      const subject = ringOf(...before).update(hashesOf(c, a, b));
      expect(subject.owners).toEqual(['a', 'b', 'c']);
      expect(subject.ring.find(5n)).toBe(0);
    }
  });

  it('drops the entries of owners that are removed, and stays as it was itself', () => {
    const subject = ringOf(['a', 1n], ['b', 2n], ['c', 4n]);
    const { ring } = subject;
    expect(subject.update(hashesOf(['b', 2n], ['c', 4n])).owners).toEqual(['b', 'c']);
    expect(subject.update(new Map()).owners).toEqual([]);
    expect(ring.size).toBe(3);
    expect(ring.find(3n)).toBe(2);
  });

  it('can be empty', () => {
    expect(Ring.empty.size).toBe(0);
    expect(Ring.empty.find(5n)).toBe(0);
    expect(Ring.empty.memberAt(0)).toBe(-1);
    expect(ringOf(['a', 1n]).update(new Map()).ring.find(1n)).toBe(0);
  });
});
