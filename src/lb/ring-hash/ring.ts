import type { Random } from '../../util/random';
import type { Steps } from '../../util/steps';
import { chooseEntryCounts, type RingLimits } from './counts';
import type { HashTable, TableOptions } from './hash-table';
import { areEqual, Members, ringKeyOf, type MembersUpdate } from './members';
import { sortedOrder } from './sorted-order';

/**
 * An unsigned hash of 64 bits as two halves: a bigint is an object, and a number would be rounded. Each half is less by
 * 2 ** 31, and so a signed number: only of those V8 never makes objects.
 */
export interface SplitHash {
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

interface RingParts {
  /** The number of entries of each member, by number. */
  readonly counts: Int32Array;
  readonly known: KnownHashes;
  /** The numbers of the members of the entries. */
  readonly owners: Int32Array;
  /** The hashes of the entries, in their order. */
  readonly hashes: Hashes;
  readonly memberCount: number;
}

const NO_ENTRIES: RingParts = {
  counts: new Int32Array(),
  known: { ...createHashes(0), starts: new Int32Array(1) },
  owners: new Int32Array(),
  hashes: createHashes(0),
  memberCount: 0,
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
    const { highs, lows } = this.parts.hashes;
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
  *update(update: MembersUpdate, limits: RingLimits, options: TableOptions): Steps<Ring> {
    const { members, placed } = update;
    const counts = countEntries(members, limits);
    if (placed.size === 0 && areEqual(counts, this.parts.counts)) {
      return members === this.members ? this : new Ring(members, this.parts);
    }
    const known = yield* hashEntries(this.parts.known, counts, update, options);
    // Those with the same hash are in the order of the members.
    const owners = new Int32Array(counts.reduce((sum, count) => sum + count, 0));
    const hashes = createHashes(owners.length);
    let size = 0;
    let memberCount = 0;
    for (const member of members.sorted) {
      const start = known.starts[member] ?? 0;
      const end = start + (counts[member] ?? 0);
      if (end > start) memberCount++;
      for (let i = start; i < end; i++, size++) {
        owners[size] = member;
        copyHash(known, i, hashes, size);
      }
    }
    const order = yield* sortedOrder(hashes.highs, hashes.lows);
    const sorted = createHashes(size);
    for (let i = 0; i < size; i++) copyHash(hashes, order[i] ?? 0, sorted, i);
    const sortedOwners = order.map((i) => owners[i] ?? 0);
    return new Ring(members, { counts, known, owners: sortedOwners, hashes: sorted, memberCount });
  }
}

/** Returns the number of entries of each member, by number. */
function countEntries({ endpoints, sorted, weights }: Members, limits: RingLimits): Int32Array {
  const counts = new Int32Array(endpoints.length);
  const inOrder = sorted.map((member) => weights[member] ?? 0);
  chooseEntryCounts(inOrder, limits, (i, count) => (counts[sorted[i] ?? 0] = count));
  return counts;
}

/** Hashes what is not known: the first entry of a member stays known without it, since it may come back. */
function* hashEntries(
  before: KnownHashes,
  counts: Int32Array,
  { members, placed }: MembersUpdate,
  { hash, usesHashKeys }: TableOptions,
): Steps<KnownHashes> {
  const starts = new Int32Array(counts.length + 1);
  const kept = counts.map((count, member) => {
    const from = before.starts[member] ?? 0;
    const length = placed.has(member) ? 0 : (before.starts[member + 1] ?? from) - from;
    const keeps = Math.min(length, Math.max(count, 1));
    starts[member + 1] = (starts[member] ?? 0) + Math.max(count, keeps);
    return keeps;
  });
  const known = { ...createHashes(starts.at(-1) ?? 0), starts };
  let hashed = 0;
  for (const [member, keeps] of kept.entries()) {
    const start = starts[member] ?? 0;
    const from = before.starts[member] ?? 0;
    for (let i = 0; i < keeps; i++) copyHash(before, from + i, known, start + i);
    const endpoint = members.endpoints[member];
    const count = counts[member] ?? 0;
    if (endpoint === undefined || keeps >= count) continue;
    const key = ringKeyOf(endpoint, usesHashKeys);
    for (let i = keeps; i < count; i++) {
      const { high, low } = splitHash(hash.hash(entryKey(key, i)));
      known.highs[start + i] = high;
      known.lows[start + i] = low;
      if (++hashed % HASHED_AT_ONCE === 0) yield;
    }
  }
  return known;
}

function copyHash(from: Hashes, i: number, to: Hashes, k: number): void {
  to.highs[k] = from.highs[i] ?? 0;
  to.lows[k] = from.lows[i] ?? 0;
}

/** Returns the text that is hashed for one of the entries of an endpoint, counted from 0 (gRFC A42). */
function entryKey(ringKey: string, ordinal: number): string {
  return `${ringKey}_${ordinal}`;
}

/** To flip it in half a hash makes an unsigned number a signed one, less by 2 ** 31, and the reverse. */
const TOP_BIT = 1 << 31;

const scratch = new DataView(new ArrayBuffer(8));

/** Splits a hash in less time than operators of bigints do, which are calls out of compiled code. */
export function splitHash(hash: bigint): SplitHash {
  scratch.setBigUint64(0, hash);
  return { high: scratch.getInt32(0) ^ TOP_BIT, low: scratch.getInt32(4) ^ TOP_BIT };
}
