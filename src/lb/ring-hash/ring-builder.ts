import type { XxHash64 } from '../../util/xx-hash';
import type { XdsEndpoint } from '../../resources/endpoints/endpoints';
import { STEP_SIZE, type Steps } from '../../util/steps';
import { firstAddress } from '../endpoints/endpoint-key';
import type { EndpointSet } from '../endpoints/endpoint-set';
import { chooseEntryCounts, type RingLimits } from './choose-entry-counts';
import type { ColumnPool } from './column-pool';
import { FirstHashes } from './first-hashes';
import { Ring } from './ring';
import { RingEntries, splitHash } from './ring-entries';
import { type MembersChange, RingMembers } from './ring-members';

export interface RingBuilderOptions {
  readonly hash: Pick<XxHash64, 'hash'>;
  /** Whether endpoints are placed by their hash keys if they have any (gRFC A76). */
  readonly usesHashKeys: boolean;
  /** Whether weights are shares (gRFC A113). */
  readonly normalizesWeights: boolean;
  readonly columns: ColumnPool;
}

/** The number of entries hashed in a step. */
const HASHES = 256;

/** Builds the ring of a policy from its endpoints. Only added entries are hashed and sorted; the others are copied. */
export class RingBuilder {
  /** The endpoints as last updated. */
  readonly members: RingMembers;
  private current: Ring;
  /** The ring before the current one. */
  private replaced: Ring | undefined;
  private counts: Uint32Array<ArrayBuffer> = new Uint32Array();
  private readonly firstHashes = new FirstHashes();

  constructor(private readonly options: RingBuilderOptions) {
    const { columns, normalizesWeights, usesHashKeys } = options;
    this.current = Ring.empty(columns);
    this.members = new RingMembers({
      columns,
      normalizesWeights,
      placeOf: (endpoint) => ringKey(endpoint, usesHashKeys),
      sortKeyOf: ringSortKey,
    });
  }

  /** The ring of the endpoints as last updated; the same object as long as it has the same entries. */
  get ring(): Ring {
    return this.current;
  }

  /** Updates the ring in steps. Another update must not start before the end of this one. */
  *update(endpoints: EndpointSet, limits: RingLimits): Steps<MembersChange> {
    const change = yield* this.members.update(endpoints);
    const { columns } = this.options;
    const counts = yield* chooseEntryCounts(this.members, limits, columns);
    const entries = new EntriesChange(this.counts, counts, change.moved);
    for (let slot = 0; slot < counts.length; slot += STEP_SIZE) {
      if (slot > 0) yield;
      entries.compare(slot, Math.min(counts.length, slot + STEP_SIZE));
    }
    const size = this.current.size + entries.added - entries.removed;
    this.updateFirstHashes(change, size);
    if (entries.added > 0 || entries.removed > 0) yield* this.changeRing(entries, size);
    columns.release(this.counts);
    this.counts = counts;
    return change;
  }

  /** Gives the memory of the ring before the current one to the next: it must not be used any more. */
  releaseReplaced(): void {
    this.replaced?.release();
    this.replaced = undefined;
  }

  private *changeRing(entries: EntriesChange, size: number): Steps<void> {
    const additions = yield* this.createAdditions(entries);
    const next = yield* this.current.change({
      keeps: (slot, ordinal) => ordinal < entries.keptOf(slot),
      additions,
      size,
      compareOwners: (a, b) => this.members.compareKeys(a, b),
    });
    additions.release();
    this.replaced = this.current;
    this.current = next;
  }

  private *createAdditions(entries: EntriesChange): Steps<RingEntries> {
    const additions = new RingEntries(this.options.columns, entries.added);
    for (let slot = 0; additions.size < entries.added; slot++) {
      if (slot % STEP_SIZE === STEP_SIZE - 1) yield;
      const end = entries.countOf(slot);
      let key: string | undefined;
      for (let ordinal = entries.keptOf(slot); ordinal < end; ordinal++) {
        if (ordinal > 0 || !this.firstHashes.addEntry(slot, additions)) {
          key ??= ringKey(this.members.endpointIn(slot), this.options.usesHashKeys);
          const hash = splitHash(this.options.hash.hash(entryKey(key, ordinal)));
          if (ordinal === 0) this.firstHashes.set(slot, hash);
          additions.add(hash, slot, ordinal);
        }
        if (additions.size % HASHES === 0) yield;
      }
    }
    return additions;
  }

  /** Drops hashes that are not those of a slot any more, and keeps others only where they will be needed again. */
  private updateFirstHashes({ added, moved }: MembersChange, size: number): void {
    for (const slot of added) this.firstHashes.delete(slot);
    for (const slot of moved) this.firstHashes.delete(slot);
    if (this.members.size > size) this.firstHashes.reserve(this.members.capacity);
  }
}

/** The difference of a ring to the one before, from the numbers of entries by slot. */
class EntriesChange {
  /** The number of entries added. */
  added = 0;
  removed = 0;

  constructor(
    private readonly before: Uint32Array,
    private readonly after: Uint32Array,
    /** Slots whose place on the ring changed. */
    private readonly moved: ReadonlySet<number>,
  ) {}

  /** Compares the slots from `start` up to, not including, `end`. */
  compare(start: number, end: number): void {
    const { after, before } = this;
    for (let slot = start; slot < end; slot++) {
      const kept = this.keptOf(slot);
      this.added += (after[slot] ?? 0) - kept;
      this.removed += (before[slot] ?? 0) - kept;
    }
  }

  /** Returns the number of entries of a slot that stay: its first ones, unless its place has changed. */
  keptOf(slot: number): number {
    if (this.moved.has(slot)) return 0;
    return Math.min(this.before[slot] ?? 0, this.after[slot] ?? 0);
  }

  /** Returns the number of entries of a slot after the change. */
  countOf(slot: number): number {
    return this.after[slot] ?? 0;
  }
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
