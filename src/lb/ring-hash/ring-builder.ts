import type { XxHash64 } from '../../hash/xx-hash';
import type { XdsEndpoint } from '../../resources/endpoints';
import type { EndpointSet } from '../endpoint-set';
import { chooseEntryCounts, type RingLimits } from './choose-entry-counts';
import { Ring, type RingEntry } from './ring';
import { entryKey, ringKey } from './ring-key';
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
  /** How many entries each member has, by slot. */
  private counts: Uint32Array = new Uint32Array();

  constructor(private readonly options: RingBuilderOptions) {
    const { hash, usesHashKeys } = options;
    const placeOf = (endpoint: XdsEndpoint) => ringKey(endpoint, usesHashKeys);
    this.members = new RingMembers(placeOf, (place) => drawFrom(hash.hash(entryKey(place, 0))));
  }

  /** The ring of the endpoints as last updated; the same object for as long as it has the same entries. */
  get ring(): Ring<RingMember> {
    return this.current;
  }

  /** Makes the ring that of the endpoints. */
  update(endpoints: EndpointSet, limits: RingLimits): MembersChange {
    const change = this.members.update(endpoints);
    const counts = chooseEntryCounts(this.members, limits);
    for (const { slot } of change.moved) this.counts[slot] = 0;
    const additions: RingEntry<RingMember>[] = [];
    let dropsAny = change.moved.size > 0;
    for (let slot = 0; slot < counts.length; slot++) {
      const count = counts[slot] ?? 0;
      const before = this.counts[slot] ?? 0;
      if (count > before) this.addEntries(this.members.inSlot(slot), before, count, additions);
      else if (count < before) dropsAny = true;
    }
    this.counts = counts;
    if (dropsAny || additions.length > 0) {
      this.current = this.current.change({
        keeps: (member, ordinal) =>
          ordinal < (counts[member.slot] ?? 0) && !change.moved.has(member),
        additions,
        compareOwners,
      });
    }
    return change;
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

/** The lower half of a hash as a number between 0 and 1. The place in the ring is decided by the upper half. */
function drawFrom(hash: bigint): number {
  return (Number(BigInt.asUintN(32, hash)) + 0.5) / 2 ** 32;
}

/** The same order in every process, so that all of them take the same of two endpoints with one hash key. */
function compareOwners(a: RingMember, b: RingMember): number {
  if (a.key === b.key) return 0;
  return a.key < b.key ? -1 : 1;
}
