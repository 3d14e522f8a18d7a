import type { Random } from '../../util/random';
import type { Steps } from '../../util/time-slices';
import { chooseEntryCounts, type RingLimits } from './counts';
import { areEqual, Members, ringKeyOf, type MembersUpdate, type TableRules } from './members';
import { SortedOrder } from './sorted-order';

/**
 * Finds the endpoint of a hash: a ring, or the table of Maglev. Immutable, and shared by the channels of a target; the next one is
 * created from it after an update.
 */
export interface HashTable {
  readonly members: Members;
  /** The number of positions. */
  readonly size: number;
  /** The number of members with positions: not all, if there are more members than positions. */
  readonly memberCount: number;
  /** Returns the number of the member at a position, which goes on at the start after the last one, once; -1 if there is none. */
  memberAt(position: number): number;
  /** Returns whether a member has a position. */
  has(member: number): boolean;
  /** Returns the position of a hash; 0 if the table is empty. */
  find(hash: bigint): number;
  findRandom(random: Random): number;
  /** Creates the table after an update of its members; returns this one if nothing changed. */
  update(update: MembersUpdate, limits: RingLimits, rules: TableRules): Steps<HashTable>;
}

/**
 * An unsigned hash of 64 bits as two halves: a bigint is an object, and a number would be rounded. Each half is signed
 * (less by 2 ** 31), because V8 stores signed integers of 32 bits without objects.
 */
interface SplitHash {
  /** The upper half, from -(2 ** 31). */
  readonly high: number;
  /** The lower half, from -(2 ** 31). */
  readonly low: number;
}

/** Hashes as two lists of halves. */
interface Hashes {
  readonly highs: Int32Array;
  readonly lows: Int32Array;
}

/** The hashes of the entries that each member has, and of the first one of those that had one. */
interface KnownHashes extends Hashes {
  /** Where those of each member start, by number, and the end of the last one. */
  readonly starts: Int32Array;
}

/** The number of entries that are hashed without a break. */
const HASHED_AT_ONCE = 256;

/** The number of upper halves of hashes. */
const HALF_HASH_RANGE = 2 ** 32;

function createHashes(size: number): Hashes {
  return { highs: new Int32Array(size), lows: new Int32Array(size) };
}

/** Entries of a ring: their hashes, and the numbers of their members. */
interface Entries extends Hashes {
  readonly owners: Int32Array;
  /** The number of members with entries. */
  readonly memberCount: number;
}

/** The entries of a ring in the order of their hashes. */
interface RingParts extends Entries {
  /** The number of entries of each member, by number. */
  readonly counts: Int32Array;
  readonly known: KnownHashes;
}

const NO_ENTRIES: RingParts = {
  ...createHashes(0),
  owners: new Int32Array(),
  memberCount: 0,
  counts: new Int32Array(),
  known: { ...createHashes(0), starts: new Int32Array(1) },
};

/** Entries in the order of their hashes (gRFC A42). */
export class Ring implements HashTable {
  static readonly empty = new Ring(Members.none, NO_ENTRIES);

  private constructor(
    readonly members: Members,
    private readonly parts: RingParts,
  ) {}

  get size(): number {
    return this.parts.owners.length;
  }

  get memberCount(): number {
    return this.parts.memberCount;
  }

  memberAt(position: number): number {
    const { owners } = this.parts;
    return owners[position < owners.length ? position : position - owners.length] ?? -1;
  }

  has(member: number): boolean {
    return (this.parts.counts[member] ?? 0) > 0;
  }

  /** Returns the position of the first entry at or after the hash, cyclically; 0 if the ring is empty. */
  find(hash: bigint): number {
    return this.findSplit(splitHash(hash));
  }

  findRandom(random: Random): number {
    return this.findSplit({ high: Math.floor((random() - 0.5) * HALF_HASH_RANGE), low: 0 });
  }

  /** Does the same as {@link find} for a hash whose halves are known, such as a random one. */
  findSplit({ high, low }: SplitHash): number {
    const { highs, lows } = this.parts;
    let start = 0;
    let end = highs.length;
    while (start < end) {
      const middle = (start + end) >>> 1;
      const found = highs[middle] ?? 0;
      if (found < high || (found === high && (lows[middle] ?? 0) < low)) start = middle + 1;
      else end = middle;
    }
    return start === highs.length ? 0 : start;
  }

  /** Hashes only entries that are not known. */
  *update(update: MembersUpdate, limits: RingLimits, rules: TableRules): Steps<Ring> {
    const { members, placed } = update;
    const counts = countEntries(members, limits);
    if (placed.size === 0 && areEqual(counts, this.parts.counts)) {
      return members === this.members ? this : new Ring(members, this.parts);
    }
    const known = yield* hashEntries(this.parts.known, counts, update, rules);
    const entries = listEntries(members, counts, known);
    const sorting = new SortedOrder(entries.highs, entries.lows);
    while (sorting.advance()) yield;
    return new Ring(members, { ...sortEntries(entries, sorting.order), counts, known });
  }
}

/** Returns the number of entries of each member, by number. */
function countEntries({ endpoints, sorted, weights }: Members, limits: RingLimits): Int32Array {
  const counts = new Int32Array(endpoints.length);
  const inOrder = sorted.map((member) => weights[member] ?? 0);
  chooseEntryCounts(inOrder, limits, (i, count) => (counts[sorted[i] ?? 0] = count));
  return counts;
}

/** Returns the entries in the order of the members: entries with the same hash keep it. */
function listEntries({ sorted }: Members, counts: Int32Array, known: KnownHashes): Entries {
  let size = 0;
  let memberCount = 0;
  for (const member of sorted) {
    const count = counts[member] ?? 0;
    size += count;
    if (count > 0) memberCount++;
  }
  const { highs, lows } = createHashes(size);
  const owners = new Int32Array(size);
  let next = 0;
  for (const member of sorted) {
    const start = known.starts[member] ?? 0;
    const end = start + (counts[member] ?? 0);
    for (let i = start; i < end; i++, next++) {
      owners[next] = member;
      highs[next] = known.highs[i] ?? 0;
      lows[next] = known.lows[i] ?? 0;
    }
  }
  return { highs, lows, owners, memberCount };
}

function sortEntries({ highs, lows, memberCount, owners }: Entries, order: Int32Array): Entries {
  return {
    highs: arrange(highs, order),
    lows: arrange(lows, order),
    owners: arrange(owners, order),
    memberCount,
  };
}

function arrange(numbers: Int32Array, order: Int32Array): Int32Array {
  const arranged = new Int32Array(order.length);
  for (let i = 0; i < order.length; i++) arranged[i] = numbers[order[i] ?? 0] ?? 0;
  return arranged;
}

/** Hashes what is not known. */
function* hashEntries(
  before: KnownHashes,
  counts: Int32Array,
  { members, placed }: MembersUpdate,
  { hash, usesHashKeys }: TableRules,
): Steps<KnownHashes> {
  const { known, grown } = keepHashes(before, counts, placed);
  let hashed = 0;
  for (const { member, from } of grown) {
    const endpoint = members.endpoints[member];
    const key = endpoint === undefined ? '' : ringKeyOf(endpoint, usesHashKeys);
    const start = known.starts[member] ?? 0;
    const count = counts[member] ?? 0;
    for (let i = from; i < count; i++) {
      const { high, low } = splitHash(hash.hash(entryKey(key, i)));
      known.highs[start + i] = high;
      known.lows[start + i] = low;
      if (++hashed % HASHED_AT_ONCE === 0) yield;
    }
  }
  return known;
}

/** A member of which some hashes are not known. */
interface Growth {
  readonly member: number;
  /** The number of those that are. */
  readonly from: number;
}

/** Keeps the hashes of entries, and the first one of a member without entries, since it may come back. */
function keepHashes(
  before: KnownHashes,
  counts: Int32Array,
  placed: ReadonlySet<number>,
): { readonly known: KnownHashes; readonly grown: readonly Growth[] } {
  const { length } = counts;
  const starts = new Int32Array(length + 1);
  const kept = new Int32Array(length);
  const grown: Growth[] = [];
  for (let member = 0; member < length; member++) kept[member] = lengthOf(before, member);
  for (const member of placed) kept[member] = 0;
  let end = 0;
  for (let member = 0; member < length; member++) {
    const count = counts[member] ?? 0;
    const from = Math.min(kept[member] ?? 0, Math.max(count, 1));
    if (from < count) grown.push({ member, from });
    kept[member] = from;
    end += Math.max(count, from);
    starts[member + 1] = end;
  }
  const known = { ...createHashes(end), starts };
  for (let member = 0; member < length; member++) {
    const from = before.starts[member] ?? 0;
    copyHashes(before, from, known, starts[member] ?? 0, kept[member] ?? 0);
  }
  return { known, grown };
}

function lengthOf({ starts }: KnownHashes, member: number): number {
  return member + 1 < starts.length ? (starts[member + 1] ?? 0) - (starts[member] ?? 0) : 0;
}

function copyHashes(from: Hashes, start: number, to: Hashes, at: number, count: number): void {
  const { highs, lows } = to;
  for (let i = 0; i < count; i++) {
    highs[at + i] = from.highs[start + i] ?? 0;
    lows[at + i] = from.lows[start + i] ?? 0;
  }
}

/** Returns the text that is hashed for one of the entries of an endpoint, counted from 0 (gRFC A42). */
function entryKey(ringKey: string, ordinal: number): string {
  return `${ringKey}_${ordinal}`;
}

/** Flipping it turns an unsigned half into a signed one, less by 2 ** 31, and back. */
const TOP_BIT = 1 << 31;

const scratch = new DataView(new ArrayBuffer(8));

/** Splits a hash in less time than operators of bigints do, which are calls out of compiled code. */
function splitHash(hash: bigint): SplitHash {
  scratch.setBigUint64(0, hash);
  return { high: scratch.getInt32(0) ^ TOP_BIT, low: scratch.getInt32(4) ^ TOP_BIT };
}
