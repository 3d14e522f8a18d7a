import { sortInSteps, STEP_SIZE, type Steps } from '../../util/steps';
import { RingSectors } from './ring-sectors';

/** One place of a ring and whose it is. */
export interface RingEntry<Owner> {
  /** Unsigned, 64 bits. */
  readonly hash: bigint;
  readonly owner: Owner;
  /** Which of the owner's entries it is, from 0. */
  readonly ordinal: number;
}

/** What becomes of a ring. */
export interface RingChange<Owner> {
  /** Whether an entry stays. */
  readonly keeps: (owner: Owner, ordinal: number) => boolean;
  /** In no particular order. */
  readonly additions: readonly RingEntry<Owner>[];
  /** Decides between entries with the same hash, as the comparison function of a sort. */
  readonly compareOwners: (a: Owner, b: Owner) => number;
}

/** The entries of a ring in their order, column by column. */
interface RingParts<Owner> {
  readonly hashes: BigUint64Array;
  readonly rounded: Float64Array;
  readonly ordinals: Uint32Array;
  readonly owners: readonly Owner[];
}

/**
 * Entries in the order of their hashes. Immutable; another ring is made of it and of what changed.
 *
 * A search compares floating-point numbers, which is many times faster than to compare 64-bit ones. Rounding
 * keeps the order, so only equal ones have to be compared exactly.
 */
export class Ring<Owner> implements RingParts<Owner> {
  readonly hashes: BigUint64Array;
  readonly rounded: Float64Array;
  readonly ordinals: Uint32Array;
  /** The owner of each entry, in their order. */
  readonly owners: readonly Owner[];
  private readonly sectors: RingSectors;

  private constructor({ hashes, rounded, ordinals, owners }: RingParts<Owner>) {
    this.hashes = hashes;
    this.rounded = rounded;
    this.ordinals = ordinals;
    this.owners = owners;
    this.sectors = new RingSectors(rounded);
  }

  /** A ring without entries. */
  static empty<Owner>(): Ring<Owner> {
    return new Ring(new RingColumns<Owner>(0));
  }

  /** How many entries there are. */
  get size(): number {
    return this.owners.length;
  }

  /** The position of the first entry at or after the hash, going round; 0 if the ring is empty. */
  find(hash: bigint): number {
    const rounded = roundHash(hash);
    let position = this.lowerBound(rounded);
    while (this.rounded[position] === rounded && (this.hashes[position] ?? 0n) < hash) position++;
    return position === this.size ? 0 : position;
  }

  /** As {@link find}, for a hash that is not worth its last bits: a random one. */
  findNear(hash: number): number {
    const position = this.lowerBound(hash);
    return position === this.size ? 0 : position;
  }

  /** Makes the ring after a change, in steps. What stays between two changes is copied as a whole. */
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

  /** Copies the entries from `start` up to, not including, `end`, but for those that go. */
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

  /** The position of the first entry that is not before a new one. */
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

/** What a ring is made of, while it is being made. */
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

  /** Gives back the room that was not needed. */
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

/** What `Number` would give, in a third of the time: it is a call out of compiled code, this is not. */
function roundHash(hash: bigint): number {
  scratch.setBigUint64(0, hash);
  // Both halves are exact, so it is rounded but once.
  return scratch.getUint32(0) * 2 ** 32 + scratch.getUint32(4);
}
