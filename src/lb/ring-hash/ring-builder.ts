import type { XxHash64 } from '../../hash/xx-hash';
import type { XdsEndpoint } from '../../resources/endpoints/endpoints';
import { STEP_SIZE, type Steps } from '../../util/steps';
import { firstAddress } from '../endpoints/endpoint-key';
import type { EndpointSet } from '../endpoints/endpoint-set';
import { chooseEntryCounts, type RingLimits } from './choose-entry-counts';
import { Ring, type RingEntry } from './ring';
import { type MembersChange, type RingMember, RingMembers } from './ring-members';

export interface RingBuilderOptions {
  readonly hash: Pick<XxHash64, 'hash'>;
  /** Whether endpoints are placed by their hash keys if they have any (gRFC A76). */
  readonly usesHashKeys: boolean;
}

/** The number of entries hashed in a step. */
const HASHES = 256;

/** Builds the ring of a policy from its endpoints. Only added entries are hashed and sorted; the others are copied. */
export class RingBuilder {
  /** The endpoints as last updated. */
  readonly members: RingMembers;
  private current = Ring.empty<RingMember>();
  private counts: Uint32Array = new Uint32Array();

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
    const { moved } = change;
    const before = this.counts;
    const counts = yield* chooseEntryCounts(this.members, limits);
    const additions: RingEntry<RingMember>[] = [];
    let removesAny = false;
    for (let slot = 0; slot < counts.length; slot++) {
      if (slot % STEP_SIZE === STEP_SIZE - 1) yield;
      const had = before[slot] ?? 0;
      const count = counts[slot] ?? 0;
      if (had === count && !moved.has(slot)) continue;
      const kept = moved.has(slot) ? 0 : Math.min(had, count);
      if (count > kept) yield* this.addEntries(this.members.inSlot(slot), kept, count, additions);
      removesAny ||= had > kept;
    }
    if (removesAny || additions.length > 0) {
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
