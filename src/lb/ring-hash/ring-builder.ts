import type { XxHash64 } from '../../hash/xx-hash';
import { STEP_SIZE, type Steps } from '../../util/steps';
import type { EndpointSet } from '../endpoint-set';
import { chooseEntryCounts, type RingLimits } from './choose-entry-counts';
import { Ring, type RingEntry } from './ring';
import { entryKey, ringKey, ringSortKey } from './ring-key';
import { RingMembers, type MembersChange, type RingMember } from './ring-members';

/** What a ring is built with. */
export interface RingBuilderOptions {
  readonly hash: Pick<XxHash64, 'hash'>;
  /** Whether endpoints are placed by their hash keys if they have any (gRFC A76). */
  readonly usesHashKeys: boolean;
}

/** So many entries are hashed in a step. */
const HASHES = 256;

/**
 * Keeps the ring of a policy in step with its endpoints. Only entries that are new are hashed and sorted; the
 * others are taken over as they are.
 */
export class RingBuilder {
  /** The endpoints as last updated. */
  readonly members: RingMembers;
  private current = Ring.empty<RingMember>();
  /** The number of entries by slot. */
  private counts: Uint32Array = new Uint32Array();

  constructor(private readonly options: RingBuilderOptions) {
    const { usesHashKeys } = options;
    this.members = new RingMembers({
      placeOf: (endpoint) => ringKey(endpoint, usesHashKeys),
      sortKeyOf: ringSortKey,
    });
  }

  /** The ring of the endpoints as last updated; the same object for as long as it has the same entries. */
  get ring(): Ring<RingMember> {
    return this.current;
  }

  /** Makes the ring that of the endpoints, in steps. Another update must not begin before it is done. */
  *update(endpoints: EndpointSet, limits: RingLimits): Steps<MembersChange> {
    const change = yield* this.members.update(endpoints);
    const { moved } = change;
    const before = this.counts;
    const counts = yield* chooseEntryCounts(this.members, limits);
    const additions: RingEntry<RingMember>[] = [];
    let dropsAny = false;
    for (let slot = 0; slot < counts.length; slot++) {
      if (slot % STEP_SIZE === STEP_SIZE - 1) yield;
      const had = before[slot] ?? 0;
      const count = counts[slot] ?? 0;
      if (had === count && !moved.has(slot)) continue;
      const kept = moved.has(slot) ? 0 : Math.min(had, count);
      if (count > kept) yield* this.addEntries(this.members.inSlot(slot), kept, count, additions);
      dropsAny ||= had > kept;
    }
    if (dropsAny || additions.length > 0) {
      this.current = yield* this.current.change({
        keeps: ({ slot }, ordinal) => ordinal < (counts[slot] ?? 0) && !moved.has(slot),
        additions,
        compareOwners,
      });
    }
    this.counts = counts;
    return change;
  }

  private *addEntries(
    owner: RingMember,
    start: number,
    end: number,
    additions: RingEntry<RingMember>[],
  ): Steps<void> {
    const { hash, usesHashKeys } = this.options;
    const key = ringKey(owner.endpoint, usesHashKeys);
    for (let ordinal = start; ordinal < end; ordinal++) {
      additions.push({ hash: hash.hash(entryKey(key, ordinal)), owner, ordinal });
      if (additions.length % HASHES === 0) yield;
    }
  }
}

/** The same order in every process, so that all of them take the same of two endpoints with one hash key. */
function compareOwners(a: RingMember, b: RingMember): number {
  if (a.key === b.key) return 0;
  return a.key < b.key ? -1 : 1;
}
