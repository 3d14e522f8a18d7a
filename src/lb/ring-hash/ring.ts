import { sortInSteps, STEP_SIZE, type Steps } from '../../util/steps';

export interface RingEntry<Owner> {
  /** Unsigned, 64 bits. */
  readonly hash: bigint;
  readonly owner: Owner;
  /** The number of the entry among those of the owner, from 0. */
  readonly ordinal: number;
}

export interface RingChange<Owner> {
  readonly keeps: (owner: Owner, ordinal: number) => boolean;
  /** The added entries, in no particular order. */
  readonly additions: readonly RingEntry<Owner>[];
  /** Compares the owners of entries with the same hash, as in a sort. */
  readonly compareOwners: (a: Owner, b: Owner) => number;
}

/** The entries of a ring in order, as columns. */
interface RingParts<Owner> {
  readonly hashes: BigUint64Array;
  readonly rounded: Float64Array;
  readonly ordinals: Uint32Array;
  readonly owners: readonly Owner[];
}

/**
 * Entries in the order of their hashes. Immutable; the next ring is created from it and a change.
 *
 * A search compares floating-point numbers, which is many times faster than comparing bigints. Rounding keeps the
 * order, so that only equal ones have to be compared exactly.
 */
export class Ring<Owner> implements RingParts<Owner> {
  readonly hashes: BigUint64Array;
  readonly rounded: Float64Array;
  readonly ordinals: Uint32Array;
  /** The owner of each entry, in order. */
  readonly owners: readonly Owner[];
  private readonly sectors: RingSectors;

  private constructor({ hashes, rounded, ordinals, owners }: RingParts<Owner>) {
    this.hashes = hashes;
    this.rounded = rounded;
    this.ordinals = ordinals;
    this.owners = owners;
    this.sectors = new RingSectors(rounded);
  }

  static empty<Owner>(): Ring<Owner> {
    return new Ring(new RingColumns<Owner>(0));
  }

  get size(): number {
    return this.owners.length;
  }

  /** Returns the position of the first entry at or after the hash, cyclically; 0 if the ring is empty. */
  find(hash: bigint): number {
    const rounded = roundHash(hash);
    let position = this.lowerBound(rounded);
    while (this.rounded[position] === rounded && (this.hashes[position] ?? 0n) < hash) position++;
    return position === this.size ? 0 : position;
  }

  /** As {@link find}, for a rounded hash, such as a random one. */
  findNear(hash: number): number {
    const position = this.lowerBound(hash);
    return position === this.size ? 0 : position;
  }

  /** Creates the ring after a change, in steps. Entries between two changes are copied at once. */
  *change({ keeps, additions, compareOwners }: RingChange<Owner>): Steps<Ring<Owner>> {
    const added = yield* sortInSteps(
      additions,
      (a, b) => compareHashes(a.hash, b.hash) || compareOwners(a.owner, b.owner),
    );
    const columns = new RingColumns<Owner>(this.size + added.length);
    let copied = 0;
    let operations = 0;
    for (const entry of added) {
      const position = this.placeFor(entry, compareOwners);
      while (copied < position) {
        const end = Math.min(position, copied + STEP_SIZE);
        this.copyKept(columns, copied, end, keeps);
        operations += end - copied;
        copied = end;
        if (operations >= STEP_SIZE) {
          operations = 0;
          yield;
        }
      }
      columns.add(entry);
    }
    for (; copied < this.size; copied += STEP_SIZE) {
      this.copyKept(columns, copied, Math.min(this.size, copied + STEP_SIZE), keeps);
      yield;
    }
    return new Ring(columns.trim());
  }

  /** Copies the kept entries from `start` up to, not including, `end`. */
  private copyKept(
    columns: RingColumns<Owner>,
    start: number,
    end: number,
    keeps: RingChange<Owner>['keeps'],
  ): void {
    const { ordinals, owners } = this;
    let copied = start;
    for (let position = start; position < end; position++) {
      const owner = owners[position];
      if (owner !== undefined && keeps(owner, ordinals[position] ?? 0)) continue;
      columns.copy(this, copied, position);
      copied = position + 1;
    }
    columns.copy(this, copied, end);
  }

  /** Returns the position of the first entry after an added one. */
  private placeFor(
    entry: RingEntry<Owner>,
    compareOwners: RingChange<Owner>['compareOwners'],
  ): number {
    let position = this.lowerBound(roundHash(entry.hash));
    while (position < this.size && !this.isBefore(entry, position, compareOwners)) position++;
    return position;
  }

  private isBefore(
    { hash, owner }: RingEntry<Owner>,
    position: number,
    compareOwners: RingChange<Owner>['compareOwners'],
  ): boolean {
    const rounded = roundHash(hash);
    const other = this.rounded[position] ?? 0;
    if (rounded !== other) return rounded < other;
    const order = compareHashes(hash, this.hashes[position] ?? 0n);
    const otherOwner = this.owners[position];
    return (
      order < 0 || (order === 0 && otherOwner !== undefined && compareOwners(owner, otherOwner) < 0)
    );
  }

  private lowerBound(rounded: number): number {
    const sector = this.sectors.indexOf(rounded);
    let low = this.sectors.startOf(sector);
    let high = this.sectors.startOf(sector + 1);
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.rounded[middle] ?? 0) < rounded) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** The columns of a ring that is being created. */
class RingColumns<Owner> implements RingParts<Owner> {
  hashes: BigUint64Array;
  rounded: Float64Array;
  ordinals: Uint32Array;
  readonly owners: Owner[] = [];

  constructor(capacity: number) {
    this.hashes = new BigUint64Array(capacity);
    this.rounded = new Float64Array(capacity);
    this.ordinals = new Uint32Array(capacity);
  }

  add({ hash, owner, ordinal }: RingEntry<Owner>): void {
    const position = this.owners.length;
    this.hashes[position] = hash;
    this.rounded[position] = roundHash(hash);
    this.ordinals[position] = ordinal;
    this.owners.push(owner);
  }

  /** Adds the entries from `start` up to, not including, `end`. */
  copy(source: RingParts<Owner>, start: number, end: number): void {
    if (start === end) return;
    const position = this.owners.length;
    this.hashes.set(source.hashes.subarray(start, end), position);
    this.rounded.set(source.rounded.subarray(start, end), position);
    this.ordinals.set(source.ordinals.subarray(start, end), position);
    for (const owner of source.owners.slice(start, end)) this.owners.push(owner);
  }

  /** Releases the unused capacity. */
  trim(): this {
    const { length } = this.owners;
    if (length < this.hashes.length) {
      this.hashes = this.hashes.slice(0, length);
      this.rounded = this.rounded.slice(0, length);
      this.ordinals = this.ordinals.slice(0, length);
    }
    return this;
  }
}

function compareHashes(a: bigint, b: bigint): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

const scratch = new DataView(new ArrayBuffer(8));

/** Returns the result of `Number` in a third of the time, since that is a call out of compiled code. */
function roundHash(hash: bigint): number {
  scratch.setBigUint64(0, hash);
  // Both halves are exact, so the result is rounded once.
  return scratch.getUint32(0) * 2 ** 32 + scratch.getUint32(4);
}

const HASH_RANGE = 2 ** 64;

/**
 * A division of a ring into sectors of the same size, at least as many as entries. Hashes are evenly distributed, so that
 * little is left to search in a sector; otherwise sectors just have more entries.
 */
export class RingSectors {
  private readonly count: number;
  /** The position of the first entry in or after each sector; last, the number of entries. */
  private readonly starts: Uint32Array;

  /** @param hashes The hashes of all entries, in order. */
  constructor(hashes: Float64Array) {
    this.count = 1;
    while (this.count < hashes.length) this.count *= 2;
    this.starts = new Uint32Array(this.count + 1);
    let sector = 0;
    for (let position = 0; position < hashes.length; position++) {
      const last = this.indexOf(hashes[position] ?? 0);
      while (sector <= last) this.starts[sector++] = position;
    }
    this.starts.fill(hashes.length, sector);
  }

  /** Returns the sector of a hash, from 0. A greater hash is never in a lower sector. */
  indexOf(hash: number): number {
    // The greatest hashes are rounded up to the end of the range.
    return Math.min(this.count - 1, Math.floor((hash / HASH_RANGE) * this.count));
  }

  /** Returns the position of the start of a sector; for the number of sectors, the end of the last. */
  startOf(sector: number): number {
    return this.starts[sector] ?? 0;
  }
}
