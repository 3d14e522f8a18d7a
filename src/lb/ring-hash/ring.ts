import type { Steps } from '../../util/steps';
import type { XxHash64 } from '../../util/hashes';
import type { Random } from '../../util/random';
import { chooseEntryCounts, type RingLimits } from './counts';
import { compareKeys, type Entry, type Member, type RingMembers, type SplitHash } from './members';

/** Finds the endpoint of a hash: a ring, or the table of Maglev. Immutable; the next one is created from it after an update. */
export interface HashTable {
  /** The number of positions. */
  readonly size: number;
  /** The number of members with positions: not all, if there are more members than positions. */
  readonly memberCount: number;
  /** Returns the member at a position, which goes on at the start after the last one, once. */
  memberAt(position: number): Member | undefined;
  /** Returns the position of a hash; 0 if the table is empty. */
  find(hash: bigint): number;
  findRandom(random: Random): number;
  /**
   * Creates the table after an update of the members; returns this one if it has the same positions. Sets the counts of the
   * members.
   *
   * @param members Those of the update.
   * @returns Its steps: the members must not be updated before the last.
   */
  update(
    members: Pick<RingMembers, 'inRingOrder' | 'ringKeyOf'>,
    limits: RingLimits,
    hash: Pick<XxHash64, 'hash'>,
  ): Steps<HashTable>;
}

/** A member whose next entries are not known. */
interface Growth {
  readonly member: Member;
  /** The number of entries it has. */
  readonly from: number;
}

/** The number of entries that are hashed without a break. */
const HASHED_AT_ONCE = 256;
/** The same of those that are sorted, which takes half a millisecond. */
const SORTED_AT_ONCE = 4096;

/** How many times the entries of a ring may be known. To pass over more takes longer than to hash those that come back. */
const MAX_KNOWN = 4;

/** The number of upper halves of hashes. */
const HALF_HASH_RANGE = 2 ** 32;

/** Entries in the order of their hashes. Immutable; the next ring is created from it and the members after an update. */
export class Ring implements HashTable {
  static readonly empty = new Ring([], [], new Int32Array(), [], 0);

  private constructor(
    private readonly entries: readonly Entry[],
    /** The members of the entries: picks read no entry, which would not be in the cache of the processor. */
    private readonly owners: readonly Member[],
    /** The higher halves of the hashes. To search these takes half the time, since they are next to each other in memory. */
    private readonly highs: Int32Array,
    /** The entries, and those that members without entries had before, in the same order: some may be added again. */
    private readonly known: readonly Entry[],
    /** The number of members with entries: not all, if there are more members than entries. */
    readonly memberCount: number,
  ) {}

  get size(): number {
    return this.entries.length;
  }

  /** Returns the entry at a position, which goes on at the start after the last entry, once. */
  at(position: number): Entry | undefined {
    const { entries } = this;
    return entries[position < entries.length ? position : position - entries.length];
  }

  /** Returns the member of the entry at a position, like {@link at}. */
  memberAt(position: number): Member | undefined {
    const { owners } = this;
    return owners[position < owners.length ? position : position - owners.length];
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
    const { entries, highs } = this;
    let start = 0;
    let end = entries.length;
    while (start < end) {
      const middle = (start + end) >>> 1;
      const found = highs[middle] ?? 0;
      if (found < high || (found === high && (entries[middle]?.low ?? 0) < low)) start = middle + 1;
      else end = middle;
    }
    return start === entries.length ? 0 : start;
  }

  /**
   * Creates the ring after an update of the members; returns this one if it has the same entries. Only entries that are not
   * known are hashed.
   *
   * @param members Those of the update.
   * @returns Its steps: the members must not be updated before the last.
   */
  *update(
    members: Pick<RingMembers, 'inRingOrder' | 'ringKeyOf'>,
    limits: RingLimits,
    hash: Pick<XxHash64, 'hash'>,
  ): Steps<Ring> {
    const grown: Growth[] = [];
    let memberCount = 0;
    let size = 0;
    let kept = 0;
    let added = 0;
    chooseEntryCounts(members.inRingOrder, limits, (member, count) => {
      const { count: before, first } = member;
      size += count;
      if (count > 0) memberCount++;
      kept += Math.min(before, count);
      if (count === before) return;
      member.count = count;
      const from = first === undefined ? 0 : Math.max(1, before);
      if (count > from) grown.push({ member, from });
      added += Math.max(0, count - from);
    });
    if (kept === size && size === this.size) return this;
    const sorted = new SortedEntries(this.known.length + added);
    const keeps = this.known.length > MAX_KNOWN * size ? isOnRingOrForgotten : isKnown;
    for (const entry of this.known) if (keeps(entry)) sorted.add(entry);
    let hashed = 0;
    for (const { member, from } of grown) {
      const key = members.ringKeyOf(member);
      for (let ordinal = from; ordinal < member.count; ordinal++) {
        if (++hashed % HASHED_AT_ONCE === 0) yield;
        const { high, low } = splitHash(hash.hash(entryKey(key, ordinal)));
        const entry = { high, low, member, ordinal, first: member.first };
        member.first ??= entry;
        sorted.add(entry);
      }
    }
    return yield* Ring.create(sorted, size, memberCount);
  }

  private static *create(sorted: SortedEntries, size: number, memberCount: number): Steps<Ring> {
    const known: Entry[] = [];
    const entries: Entry[] = [];
    const owners: Member[] = [];
    const highs = new Int32Array(size);
    for (const part of sorted.parts) {
      if (known.length > 0) yield;
      for (const entry of part.sort(compareEntries)) {
        known.push(entry);
        if (entry.ordinal >= entry.member.count) continue;
        highs[entries.length] = entry.high;
        owners.push(entry.member);
        entries.push(entry);
      }
    }
    const onRing = entries.length === known.length ? known : entries;
    return new Ring(onRing, owners, highs, known, memberCount);
  }
}

/** Entries by their hashes: in parts of about equal size, since hashes are spread evenly, so that each is sorted in a short time. */
class SortedEntries {
  /** Each has the hashes after those of the one before, in any order. */
  readonly parts: readonly Entry[][];

  /** @param size The number of entries to come, about. */
  constructor(size: number) {
    const length = Math.max(1, Math.ceil(size / SORTED_AT_ONCE));
    this.parts = Array.from({ length }, () => []);
  }

  add(entry: Entry): void {
    const { parts } = this;
    parts[Math.floor((parts.length * (entry.high + 2 ** 31)) / 2 ** 32)]?.push(entry);
  }
}

/** Whether an entry is on the newest ring, or may be on a later one. */
function isKnown(entry: Entry): boolean {
  const { first, member, ordinal } = entry;
  return ordinal === 0 ? member.first === entry : ordinal < member.count && member.first === first;
}

/** Whether an entry is on the newest ring. Otherwise, it is forgotten. */
function isOnRingOrForgotten(entry: Entry): boolean {
  const { member } = entry;
  if (!isKnown(entry)) return false;
  if (member.count === 0) member.first = undefined;
  return member.count > 0;
}

function compareEntries(a: Entry, b: Entry): number {
  return compareHashes(a.high, a.low, b.high, b.low) || compareKeys(a.member, b.member);
}

/** Compares halves without their difference, which may have 33 bits. */
function compareHashes(high: number, low: number, otherHigh: number, otherLow: number): number {
  if (high !== otherHigh) return high < otherHigh ? -1 : 1;
  if (low !== otherLow) return low < otherLow ? -1 : 1;
  return 0;
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
