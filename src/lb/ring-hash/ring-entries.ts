import type { ColumnPool } from './column-pool';

/**
 * An unsigned hash of 64 bits as two halves: a bigint is an object, and a number would be rounded. Each half is less by
 * 2 ** 31, and so a signed number: only of those V8 never makes objects.
 */
export interface SplitHash {
  /** From -(2 ** 31). */
  readonly high: number;
  /** From -(2 ** 31). */
  readonly low: number;
}

/** The entries of a ring as columns of numbers, one array per property: the garbage collector has nothing to visit. */
export class RingEntries {
  /** See `SplitHash.high`. */
  readonly highs: Int32Array<ArrayBuffer>;
  /** See `SplitHash.low`. */
  readonly lows: Int32Array<ArrayBuffer>;
  /** The slot of the endpoint of each entry: its owner. See `RingMembers`. */
  readonly owners: Int32Array<ArrayBuffer>;
  /** The number of each entry among those of its owner, from 0. */
  readonly ordinals: Uint32Array<ArrayBuffer>;
  private count = 0;

  constructor(
    private readonly columns: ColumnPool,
    capacity: number,
  ) {
    this.highs = columns.int32(capacity);
    this.lows = columns.int32(capacity);
    this.owners = columns.int32(capacity);
    this.ordinals = columns.uint32(capacity);
  }

  /** Gives the columns back: the entries must not be used any more. */
  release(): void {
    const { columns } = this;
    for (const column of [this.highs, this.lows, this.owners, this.ordinals]) {
      columns.release(column);
    }
  }

  /** The number of entries added so far. */
  get size(): number {
    return this.count;
  }

  /** Adds an entry. There must be capacity left. */
  add({ high, low }: SplitHash, owner: number, ordinal: number): void {
    this.addHalves(high, low, owner, ordinal);
  }

  /** Does the same as {@link add}. */
  addHalves(high: number, low: number, owner: number, ordinal: number): void {
    const index = this.count++;
    this.highs[index] = high;
    this.lows[index] = low;
    this.owners[index] = owner;
    this.ordinals[index] = ordinal;
  }

  /** Adds an entry of other entries. There must be capacity left. */
  copy(source: RingEntries, index: number): void {
    const high = source.highs[index] ?? 0;
    const low = source.lows[index] ?? 0;
    this.addHalves(high, low, source.owners[index] ?? 0, source.ordinals[index] ?? 0);
  }

  /** Compares the hashes of two entries, as in a sort. @param index One of these. @param other One of `entries`. */
  compare(index: number, entries: RingEntries, other: number): number {
    return this.compareWith(index, entries.highs[other] ?? 0, entries.lows[other] ?? 0);
  }

  /** Compares the hash of an entry with another hash. */
  compareWith(index: number, high: number, low: number): number {
    return compareHalves(this.highs[index] ?? 0, high) || compareHalves(this.lows[index] ?? 0, low);
  }

  /** Returns the hash of an entry. */
  hashAt(index: number): bigint {
    scratch.setInt32(0, (this.highs[index] ?? 0) ^ TOP_BIT);
    scratch.setInt32(4, (this.lows[index] ?? 0) ^ TOP_BIT);
    return scratch.getBigUint64(0);
  }
}

/** Does not subtract: the difference may have 33 bits. */
function compareHalves(a: number, b: number): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** To flip it in half a hash makes an unsigned number a signed one, less by 2 ** 31, and the reverse. */
export const TOP_BIT = 1 << 31;

const scratch = new DataView(new ArrayBuffer(8));

/** Splits a hash in less time than operators of bigints do, which are calls out of compiled code. */
export function splitHash(hash: bigint): SplitHash {
  scratch.setBigUint64(0, hash);
  return { high: scratch.getInt32(0) ^ TOP_BIT, low: scratch.getInt32(4) ^ TOP_BIT };
}
