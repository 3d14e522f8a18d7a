import { inSteps, mergeInSteps, sortInSteps, type Steps } from '../../util/steps';
import type { XxHash64 } from '../../util/hashes';
import { chooseEntryCounts, type RingLimits } from './counts';
import { compareKeys, type Entry, type Member, type SplitHash } from './members';

/** A member that gets more entries. */
interface Growth {
  readonly member: Member;
  /** The number of entries it has. */
  readonly from: number;
}

/** Entries in the order of their hashes. Immutable; the next ring is created from it and the members after an update. */
export class Ring {
  static readonly empty = new Ring([], []);

  private constructor(
    private readonly entries: readonly Entry[],
    /** The members with entries, which are fewer than all if there are more members than entries. */
    readonly members: readonly Member[],
  ) {}

  get size(): number {
    return this.entries.length;
  }

  /** Returns the entry at a position, which goes on at the start after the last entry, once. */
  at(position: number): Entry | undefined {
    const { entries } = this;
    return entries[position < entries.length ? position : position - entries.length];
  }

  /** Returns the position of the first entry at or after the hash, cyclically; 0 if the ring is empty. */
  find(hash: bigint): number {
    return this.findSplit(splitHash(hash));
  }

  /** As {@link find}, for a hash whose halves are known, such as a random one. */
  findSplit({ high, low }: SplitHash): number {
    const { entries } = this;
    let start = 0;
    let end = entries.length;
    while (start < end) {
      const middle = (start + end) >>> 1;
      const entry = entries[middle];
      if (entry && compareHashes(entry.high, entry.low, high, low) < 0) start = middle + 1;
      else end = middle;
    }
    return start === entries.length ? 0 : start;
  }

  /**
   * Creates the ring after an update of the members, in steps; returns this one if it has the same entries. Only added
   * entries are hashed and sorted.
   *
   * @param members In the order in which entries are assigned.
   */
  *update(
    members: readonly Member[],
    limits: RingLimits,
    hash: Pick<XxHash64, 'hash'>,
  ): Steps<Ring> {
    const owners: Member[] = [];
    const grown: Growth[] = [];
    let kept = 0;
    chooseEntryCounts(members, limits, (member, count) => {
      const { count: from } = member;
      if (count > 0) owners.push(member);
      if (count === from) {
        kept += count;
        return;
      }
      kept += Math.min(from, count);
      member.count = count;
      if (count > from) grown.push({ member, from });
      else shrink(member);
    });
    if (grown.length === 0 && kept === this.size) return this;
    const added: Entry[] = [];
    yield* inSteps(grow(grown, hash), (entry) => {
      added.push(entry);
    });
    const sorted = yield* sortInSteps(added, compareEntries);
    return new Ring(yield* mergeInSteps(this.entries, sorted, compareEntries, isOnRing), owners);
  }
}

/** Removes the entries of a member beyond its number. */
function shrink({ count, entries }: Member): void {
  for (let ordinal = count; ordinal < entries.length; ordinal++) {
    const entry = entries[ordinal];
    if (entry !== undefined) entry.isOnRing = false;
  }
  if (entries.length > 1) entries.length = Math.max(1, count);
}

/** Yields the entries that members get, and hashes those that are new. */
function* grow(grown: readonly Growth[], hash: Pick<XxHash64, 'hash'>): Iterable<Entry> {
  for (const { member, from } of grown) {
    for (let ordinal = from; ordinal < member.count; ordinal++) {
      let entry = member.entries[ordinal];
      if (entry === undefined) {
        const { high, low } = splitHash(hash.hash(entryKey(member.ringKey, ordinal)));
        entry = { high, low, member, isOnRing: true };
        if (ordinal === 0) member.entries = [entry];
        else member.entries.push(entry);
      }
      entry.isOnRing = true;
      yield entry;
    }
  }
}

function isOnRing(entry: Entry): boolean {
  return entry.isOnRing;
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
export function entryKey(ringKey: string, ordinal: number): string {
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
