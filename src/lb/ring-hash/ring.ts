import { sortInSteps, STEP_SIZE, type Steps } from '../../util/steps';
import { RingEntries, splitHash, type SplitHash } from './ring-entries';
import { RingSectors } from './ring-sectors';

export interface RingChange<Owner> {
  readonly keeps: (owner: Owner, ordinal: number) => boolean;
  /** The added entries, in no particular order. */
  readonly additions: RingEntries<Owner>;
  /** Compares the owners of entries with the same hash, as in a sort. */
  readonly compareOwners: (a: Owner, b: Owner) => number;
}

/** Entries in the order of their hashes. Immutable; the next ring is created from it and a change. */
export class Ring<Owner> {
  private readonly sectors: RingSectors;

  private constructor(private readonly entries: RingEntries<Owner>) {
    this.sectors = new RingSectors(entries.highs);
  }

  static empty<Owner>(): Ring<Owner> {
    return new Ring(new RingEntries<Owner>(0));
  }

  get size(): number {
    return this.entries.size;
  }

  /** The owner of each entry, in order. */
  get owners(): readonly Owner[] {
    return this.entries.owners;
  }

  /** Returns the hash of the entry at a position. */
  hashAt(position: number): SplitHash {
    return this.entries.hashAt(position);
  }

  /** Returns the position of the first entry at or after the hash, cyclically; 0 if the ring is empty. */
  find(hash: bigint): number {
    return this.findSplit(splitHash(hash));
  }

  /** As {@link find}, for a hash whose halves are known, such as a random one. */
  findSplit({ high, low }: SplitHash): number {
    const { entries, sectors } = this;
    const sector = sectors.indexOf(high);
    let start = sectors.startOf(sector);
    let end = sectors.startOf(sector + 1);
    while (start < end) {
      const middle = (start + end) >>> 1;
      if (entries.compareWith(middle, high, low) < 0) start = middle + 1;
      else end = middle;
    }
    return start === this.size ? 0 : start;
  }

  /** Creates the ring after a change, in steps: the kept entries and the added ones are merged. */
  *change(change: RingChange<Owner>): Steps<Ring<Owner>> {
    const { keeps, additions } = change;
    const { entries } = this;
    const { ordinals, owners } = entries;
    const added = yield* sortInSteps(additions.size, (a, b) =>
      compareEntries(change, a, additions, b),
    );
    const next = new RingEntries<Owner>((yield* this.countKept(keeps)) + added.length);
    let merged = 0;
    for (let position = 0; position < owners.length; position++) {
      if (position % STEP_SIZE === STEP_SIZE - 1) yield;
      const owner = owners[position];
      if (owner === undefined || !keeps(owner, ordinals[position] ?? 0)) continue;
      for (let index = added[merged]; index !== undefined; index = added[merged]) {
        if (compareEntries(change, index, entries, position) > 0) break;
        next.copy(additions, index);
        if (++merged % STEP_SIZE === 0) yield;
      }
      next.copy(entries, position);
    }
    for (let index = added[merged]; index !== undefined; index = added[merged]) {
      next.copy(additions, index);
      if (++merged % STEP_SIZE === 0) yield;
    }
    return new Ring(next);
  }

  private *countKept(keeps: RingChange<Owner>['keeps']): Steps<number> {
    const { ordinals, owners } = this.entries;
    let kept = 0;
    for (let position = 0; position < owners.length; position++) {
      if (position % STEP_SIZE === STEP_SIZE - 1) yield;
      const owner = owners[position];
      if (owner !== undefined && keeps(owner, ordinals[position] ?? 0)) kept++;
    }
    return kept;
  }
}

/** Compares an added entry with one of `entries`. */
function compareEntries<Owner>(
  { additions, compareOwners }: RingChange<Owner>,
  added: number,
  entries: RingEntries<Owner>,
  other: number,
): number {
  const order = additions.compare(added, entries, other);
  if (order !== 0) return order;
  return compareOwners(additions.ownerAt(added), entries.ownerAt(other));
}
