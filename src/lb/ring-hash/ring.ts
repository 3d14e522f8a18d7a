import { sortInSteps, STEP_SIZE, type Steps } from '../../util/steps';
import type { ColumnPool } from './column-pool';
import { RingEntries, splitHash, type SplitHash } from './ring-entries';
import { RingSectors } from './ring-sectors';

export interface RingChange {
  readonly keeps: (owner: number, ordinal: number) => boolean;
  /** The added entries, in no particular order. */
  readonly additions: RingEntries;
  /** The number of entries after the change. */
  readonly size: number;
  /** Compares the owners of entries with the same hash, which stay on the ring, as in a sort. */
  readonly compareOwners: (a: number, b: number) => number;
}

/** Entries in the order of their hashes. Immutable until its release; the next ring is created from it and a change. */
export class Ring {
  private readonly sectors: RingSectors;

  private constructor(
    private readonly columns: ColumnPool,
    private readonly entries: RingEntries,
  ) {
    this.sectors = new RingSectors(columns, entries.highs);
  }

  /** @param columns For this ring and those created from it. */
  static empty(columns: ColumnPool): Ring {
    return new Ring(columns, new RingEntries(columns, 0));
  }

  get size(): number {
    return this.entries.size;
  }

  /** See `RingEntries.owners`; in order. Must not be modified. */
  get owners(): Int32Array {
    return this.entries.owners;
  }

  /** Returns the hash of the entry at a position. */
  hashAt(position: number): bigint {
    return this.entries.hashAt(position);
  }

  /** Returns the number of the entry at a position among those of its owner, from 0. */
  ordinalAt(position: number): number {
    return this.entries.ordinals[position] ?? 0;
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

  /** Creates the ring after a change, in steps. */
  *change(change: RingChange): Steps<Ring> {
    const { additions, size } = change;
    const added = yield* sortInSteps(additions.size, (a, b) =>
      compareEntries(change, a, additions, b),
    );
    const { columns } = this;
    const next = new RingEntries(columns, size);
    const merge = new RingMerge(this.entries, change, added, next);
    while (merge.run(STEP_SIZE)) yield;
    if (next.size !== size) throw new Error(`A ring has ${next.size} entries, not ${size}`);
    return new Ring(columns, next);
  }

  /** Gives the memory to the next ring: this one must not be used any more. */
  release(): void {
    this.entries.release();
    this.sectors.release();
  }
}

/** Merges the kept entries of a ring with the added ones. */
class RingMerge {
  /** The number of entries of the ring that were kept or dropped so far, and of those added. */
  private passed = 0;
  private merged = 0;

  /** @param added The indices of the additions, in their order. */
  constructor(
    private readonly entries: RingEntries,
    private readonly change: RingChange,
    private readonly added: Uint32Array,
    private readonly next: RingEntries,
  ) {}

  /** Merges so many entries, at most. @returns whether there may be more. */
  run(limit: number): boolean {
    const { added, change, entries, next } = this;
    const { additions, keeps } = change;
    for (let left = limit; left > 0; left--) {
      const { passed } = this;
      const isPassed = passed === entries.size;
      const index = added[this.merged];
      if (!isPassed && !keeps(entries.owners[passed] ?? 0, entries.ordinals[passed] ?? 0)) {
        this.passed++;
      } else if (
        index !== undefined &&
        (isPassed || compareEntries(change, index, entries, passed) <= 0)
      ) {
        next.copy(additions, index);
        this.merged++;
      } else if (isPassed) {
        return false;
      } else {
        next.copy(entries, passed);
        this.passed++;
      }
    }
    return true;
  }
}

/** Compares an added entry with one of `entries`. */
function compareEntries(
  { additions, compareOwners }: RingChange,
  added: number,
  entries: RingEntries,
  other: number,
): number {
  const order = additions.compare(added, entries, other);
  if (order !== 0) return order;
  return compareOwners(additions.owners[added] ?? 0, entries.owners[other] ?? 0);
}
