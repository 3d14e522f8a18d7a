import type { XxHash64 } from '../../hash/xx-hash';
import type { XdsEndpoint } from '../../resources/endpoints/endpoints';
import { STEP_SIZE, type Steps } from '../../util/steps';
import { firstAddress } from '../endpoints/endpoint-key';
import type { EndpointSet } from '../endpoints/endpoint-set';
import { chooseEntryCounts, type RingLimits } from './choose-entry-counts';
import { FirstHashes } from './first-hashes';
import { Ring } from './ring';
import { RingEntries, splitHash } from './ring-entries';
import { type MembersChange, type RingMember, RingMembers } from './ring-members';

export interface RingBuilderOptions {
  readonly hash: Pick<XxHash64, 'hash'>;
  /** Whether endpoints are placed by their hash keys if they have any (gRFC A76). */
  readonly usesHashKeys: boolean;
}

/** The difference of a ring to the one before. */
interface EntriesChange {
  /** The number of entries added. */
  readonly added: number;
  readonly removed: number;
  /** The slots with added entries. */
  readonly grown: readonly number[];
  /** Returns the number of entries of a slot that stay. */
  readonly keptOf: (slot: number) => number;
}

/** The number of entries hashed in a step. */
const HASHES = 256;

/** Builds the ring of a policy from its endpoints. Only added entries are hashed and sorted; the others are copied. */
export class RingBuilder {
  /** The endpoints as last updated. */
  readonly members: RingMembers;
  private current = Ring.empty<RingMember>();
  private counts: Uint32Array = new Uint32Array();
  private readonly firstHashes = new FirstHashes();

  constructor(private readonly options: RingBuilderOptions) {
    const { usesHashKeys } = options;
    this.members = new RingMembers({
      placeOf: (endpoint) => ringKey(endpoint, usesHashKeys),
      sortKeyOf: ringSortKey,
    });
  }

  /** The ring of the endpoints as last updated; the same object as long as it has the same entries. */
  get ring(): Ring<RingMember> {
    return this.current;
  }

  /** Updates the ring in steps. Another update must not start before the end of this one. */
  *update(endpoints: EndpointSet, limits: RingLimits): Steps<MembersChange> {
    const change = yield* this.members.update(endpoints);
    const counts = yield* chooseEntryCounts(this.members, limits);
    const entries = yield* compareCounts(this.counts, counts, change.moved);
    this.updateFirstHashes(change, entries);
    if (entries.added > 0 || entries.removed > 0) {
      this.current = yield* this.current.change({
        keeps: ({ slot }, ordinal) => ordinal < entries.keptOf(slot),
        additions: yield* this.createAdditions(entries, counts),
        compareOwners,
      });
    }
    this.counts = counts;
    return change;
  }

  private *createAdditions(
    { added, grown, keptOf }: EntriesChange,
    counts: Uint32Array,
  ): Steps<RingEntries<RingMember>> {
    const additions = new RingEntries<RingMember>(added);
    for (let i = 0; i < grown.length; i++) {
      const slot = grown[i] ?? 0;
      const owner = this.members.inSlot(slot);
      const end = counts[slot] ?? 0;
      let key: string | undefined;
      for (let ordinal = keptOf(slot); ordinal < end; ordinal++) {
        let hash = ordinal === 0 ? this.firstHashes.get(slot) : undefined;
        if (hash === undefined) {
          key ??= ringKey(owner.endpoint, this.options.usesHashKeys);
          hash = splitHash(this.options.hash.hash(entryKey(key, ordinal)));
          if (ordinal === 0) this.firstHashes.set(slot, hash);
        }
        additions.add(hash, owner, ordinal);
        if (additions.size % HASHES === 0) yield;
      }
    }
    return additions;
  }

  /** Drops hashes that are not those of a slot any more, and keeps others only where they will be needed again. */
  private updateFirstHashes({ added, moved }: MembersChange, entries: EntriesChange): void {
    for (const slot of added) this.firstHashes.delete(slot);
    for (const slot of moved) this.firstHashes.delete(slot);
    const size = this.current.size + entries.added - entries.removed;
    if (this.members.size > size) this.firstHashes.reserve(this.members.capacity);
  }
}

/** Compares the numbers of entries by slot. The first entries of an owner are kept, unless its place has changed. */
function* compareCounts(
  before: Uint32Array,
  after: Uint32Array,
  moved: ReadonlySet<number>,
): Steps<EntriesChange> {
  const keptOf = (slot: number) =>
    moved.has(slot) ? 0 : Math.min(before[slot] ?? 0, after[slot] ?? 0);
  const grown: number[] = [];
  let [added, removed] = [0, 0];
  for (let slot = 0; slot < after.length; slot++) {
    if (slot % STEP_SIZE === STEP_SIZE - 1) yield;
    const kept = keptOf(slot);
    const more = (after[slot] ?? 0) - kept;
    if (more > 0) grown.push(slot);
    added += more;
    removed += (before[slot] ?? 0) - kept;
  }
  return { added, removed, grown, keptOf };
}

/** Orders endpoints with the same hash key alike in every process, so that all of them pick the same one. */
function compareOwners(a: RingMember, b: RingMember): number {
  if (a.key === b.key) return 0;
  return a.key < b.key ? -1 : 1;
}

/**
 * Returns the key of an endpoint on the ring: its hash key if it has one (gRFC A76), otherwise its first address.
 *
 * @param usesHashKeys `false` to use the address in any case, as clients did before hash keys.
 */
export function ringKey(endpoint: XdsEndpoint, usesHashKeys: boolean): string {
  const { hashKey } = endpoint;
  return usesHashKeys && hashKey !== undefined ? hashKey : firstAddress(endpoint);
}

/** Returns the text that is hashed for one of the entries of an endpoint, counted from 0 (gRFC A42). */
export function entryKey(ringKey: string, ordinal: number): string {
  return `${ringKey}_${ordinal}`;
}

/**
 * Returns a text whose order by UTF-16 code units, as in JavaScript, is the order of the ring keys by bytes of UTF-8,
 * as in Go: so all clients assign the entries of a ring in the same order.
 */
export function ringSortKey(ringKey: string): string {
  return IS_ASCII.test(ringKey) ? ringKey : Buffer.from(ringKey).toString('latin1');
}

// eslint-disable-next-line no-control-regex -- all of ASCII
const IS_ASCII = /^[\x00-\x7f]*$/;
