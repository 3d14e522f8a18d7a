import type { XxHash64 } from '../../hash/xx-hash';
import type { EndpointSet } from '../endpoint-set';
import {
  chooseCountChanges,
  chooseEntryCounts,
  type CountChange,
  type EntryCounts,
  type RingLimits,
} from './choose-entry-counts';
import { Ring, type RingEntry } from './ring';
import { drawOf, entryKey, ringKey } from './ring-key';
import { RingMembers, type MembersChange, type RingMember } from './ring-members';

/** What a ring is built with. */
export interface RingBuilderOptions {
  readonly hash: Pick<XxHash64, 'hash'>;
  /** Whether endpoints are placed by their hash keys if they have any (gRFC A76). */
  readonly usesHashKeys: boolean;
}

/**
 * Keeps the ring of a policy in step with its endpoints. Only entries that are new are hashed and sorted; the
 * others are taken over as they are.
 */
export class RingBuilder {
  /** The endpoints as last updated. */
  readonly members: RingMembers;
  private current = Ring.empty<RingMember>();
  private entries: EntryCounts = { size: 0, counts: new Uint32Array(), threshold: undefined };

  constructor(private readonly options: RingBuilderOptions) {
    const { usesHashKeys } = options;
    this.members = new RingMembers({
      placeOf: (endpoint) => ringKey(endpoint, usesHashKeys),
      drawOf: (endpoint) => drawOf(endpoint, usesHashKeys),
    });
  }

  /** The ring of the endpoints as last updated; the same object for as long as it has the same entries. */
  get ring(): Ring<RingMember> {
    return this.current;
  }

  /** Makes the ring that of the endpoints. */
  update(endpoints: EndpointSet, limits: RingLimits): MembersChange {
    const change = this.members.update(endpoints);
    const { moved } = change;
    const changes = this.chooseChanges(change, limits);
    const { counts } = this.entries;
    const additions: RingEntry<RingMember>[] = [];
    let dropsAny = false;
    for (const { slot, before, count } of changes) {
      const kept = moved.has(slot) ? 0 : Math.min(before, count);
      if (count > kept) this.addEntries(this.members.inSlot(slot), kept, count, additions);
      dropsAny ||= before > kept;
      counts[slot] = count;
    }
    if (dropsAny || additions.length > 0) {
      this.current = this.current.change({
        keeps: ({ slot }, ordinal) => ordinal < (counts[slot] ?? 0) && !moved.has(slot),
        additions,
        compareOwners,
      });
    }
    return change;
  }

  /** The slots whose entries change. If it is not only a few of many, all are gone through. */
  private chooseChanges(
    { moved, reweighed }: MembersChange,
    limits: RingLimits,
  ): readonly CountChange[] {
    const { entries: previous, members } = this;
    const few = reweighed && chooseCountChanges(previous, reweighed, members, limits);
    if (few !== undefined) return few;
    this.entries = chooseEntryCounts(members, limits);
    return compareCounts(previous.counts, this.entries.counts, moved);
  }

  private addEntries(
    owner: RingMember,
    start: number,
    end: number,
    additions: RingEntry<RingMember>[],
  ): void {
    const { hash, usesHashKeys } = this.options;
    const key = ringKey(owner.endpoint, usesHashKeys);
    for (let ordinal = start; ordinal < end; ordinal++) {
      additions.push({ hash: hash.hash(entryKey(key, ordinal)), owner, ordinal });
    }
  }
}

function compareCounts(
  before: Uint32Array,
  after: Uint32Array,
  moved: ReadonlySet<number>,
): readonly CountChange[] {
  const changes: CountChange[] = [];
  for (let slot = 0; slot < after.length; slot++) {
    const change = { slot, before: before[slot] ?? 0, count: after[slot] ?? 0 };
    if (change.before !== change.count || moved.has(slot)) changes.push(change);
  }
  return changes;
}

/** The same order in every process, so that all of them take the same of two endpoints with one hash key. */
function compareOwners(a: RingMember, b: RingMember): number {
  if (a.key === b.key) return 0;
  return a.key < b.key ? -1 : 1;
}
