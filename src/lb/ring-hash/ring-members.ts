import type { XdsEndpoint } from '../../resources/endpoints/endpoints';
import { STEP_SIZE, type Steps } from '../../util/steps';
import { endpointKey, hashKey, haveEqualKeys } from '../endpoints/endpoint-key';
import type { EndpointSet } from '../endpoints/endpoint-set';
import { combineWeights, multiplyWeights } from '../endpoints/endpoint-weights';
import type { RingOwners } from './choose-entry-counts';
import type { ColumnPool } from './column-pool';
import { PlaceOrder } from './place-order';
import { SlotIndex } from './slot-index';

/** The changes of the endpoints by an update. */
export interface MembersChange {
  /** Slots of endpoints with another object. */
  readonly rebound: readonly number[];
  /** Slots of endpoints whose place changed, without those added or removed. */
  readonly moved: ReadonlySet<number>;
  /** Slots of endpoints that were added. */
  readonly added: readonly number[];
}

/** What decides about the places of endpoints on the ring, and the memory for what is known of them. */
export interface RingMembersOptions {
  readonly columns: ColumnPool;
  /** Whether weights are shares of the localities and of all, instead of products of the weights (gRFC A113). */
  readonly normalizesWeights: boolean;
  /** Returns the text that is hashed for the place of an endpoint. */
  readonly placeOf: (endpoint: XdsEndpoint) => string;
  /** Returns the key by which places are ordered. */
  readonly sortKeyOf: (place: string) => string;
}

interface MutableChange {
  readonly rebound: number[];
  readonly moved: Set<number>;
  readonly added: number[];
}

/** A list of endpoints whose slots are being looked up. */
interface Listing {
  readonly endpoints: readonly XdsEndpoint[];
  /** The slots found so far, in the order of the endpoints. */
  readonly slots: Int32Array<ArrayBuffer>;
  /** The weights within the localities, in the same order. */
  readonly weights: Uint32Array<ArrayBuffer>;
  /** The position of the next endpoint in the previous list, if nothing changed. */
  expected: number;
}

/** The weights of endpoints among all of them, in the order of the endpoints. */
type WeightColumn = Uint32Array | Float64Array;

const NOWHERE = -1;

/**
 * The endpoints of a ring. There may be 100,000 of them, most without entries, so they are kept in columns of numbers,
 * at an index in each: its slot. Across updates, a slot stays with a set of addresses. Most updates list most endpoints
 * as the same objects in the same order, which costs one comparison each.
 */
export class RingMembers implements RingOwners {
  /** The weights by slot. An endpoint listed twice has the sum of both. */
  weights = new Float64Array();
  private readonly endpoints: (XdsEndpoint | undefined)[] = [];
  /** The position in the last list, by slot. */
  private positions = new Int32Array();
  /** The last bit of the number of the update that last listed the endpoint, by slot. */
  private generations = new Uint8Array();
  private readonly freeSlots: number[] = [];
  private readonly index = new SlotIndex();
  /** The identities of endpoints that were compared with others, by slot. */
  private readonly keys = new Map<number, string>();
  private readonly places: PlaceOrder;
  /** The last list. */
  private listed: readonly XdsEndpoint[] = [];
  /** The slots of the last list. */
  private listedSlots: Int32Array<ArrayBuffer> = new Int32Array();
  private generation = 0;

  constructor(private readonly options: RingMembersOptions) {
    const { placeOf, sortKeyOf } = options;
    this.places = new PlaceOrder({
      sortKeyOf: (slot) => sortKeyOf(placeOf(this.endpointIn(slot))),
      keyOf: (slot) => endpointKey(this.endpointIn(slot)),
    });
  }

  /** The slots in the order of the endpoints' places. */
  get order(): Int32Array {
    return this.places.slots;
  }

  /** The number of slots there is room for. */
  get capacity(): number {
    return this.weights.length;
  }

  get size(): number {
    return this.endpoints.length - this.freeSlots.length;
  }

  /** Whether there is an endpoint in a slot. */
  has(slot: number): boolean {
    return this.endpoints[slot] !== undefined;
  }

  /** Throws if the slot is empty. */
  endpointIn(slot: number): XdsEndpoint {
    const endpoint = this.endpoints[slot];
    if (endpoint === undefined) throw new Error(`Slot ${slot} of a ring is empty`);
    return endpoint;
  }

  /**
   * Compares two endpoints by their identities, as in a sort: those with the same hash are ordered alike in every
   * process, so that all of them pick the same one.
   */
  compareKeys(slot: number, other: number): number {
    const [a, b] = [this.keyOf(slot), this.keyOf(other)];
    if (a === b) return 0;
    return a < b ? -1 : 1;
  }

  private keyOf(slot: number): string {
    let key = this.keys.get(slot);
    if (key === undefined) {
      key = endpointKey(this.endpointIn(slot));
      this.keys.set(slot, key);
    }
    return key;
  }

  /**
   * Applies a set of endpoints, in steps. Another update must not start before the ring is that of this one: only then
   * no entry has the slot of an endpoint that is not listed any more.
   */
  *update(set: EndpointSet): Steps<MembersChange> {
    const change: MutableChange = { rebound: [], moved: new Set(), added: [] };
    const { columns } = this.options;
    const previous = this.listedSlots;
    const weights = yield* this.list(yield* joinLists(set), change);
    const removed = new Set(change.moved);
    yield* this.removeUnlisted(previous, removed);
    columns.release(previous);
    yield* this.places.update(removed, [...change.added, ...change.moved]);
    const { normalizesWeights } = this.options;
    if (normalizesWeights) yield* combineWeights(set, weights);
    yield* this.setWeights(normalizesWeights ? weights : yield* multiplyWeights(set, weights));
    columns.release(weights);
    return change;
  }

  /** Assigns a slot to every endpoint. @returns The weights of the endpoints within their localities, in their order. */
  private *list(
    endpoints: readonly XdsEndpoint[],
    change: MutableChange,
  ): Steps<Uint32Array<ArrayBuffer>> {
    const { columns } = this.options;
    this.generation ^= 1;
    this.reserve(endpoints.length);
    const listing: Listing = {
      endpoints,
      slots: columns.int32(endpoints.length),
      weights: columns.uint32(endpoints.length),
      expected: 0,
    };
    for (let start = 0; start < endpoints.length; start += STEP_SIZE) {
      if (start > 0) yield;
      this.listRange(listing, start, Math.min(endpoints.length, start + STEP_SIZE), change);
    }
    this.listed = endpoints;
    this.listedSlots = listing.slots;
    return listing.weights;
  }

  private listRange(listing: Listing, start: number, end: number, change: MutableChange): void {
    const { listed: previousListed, listedSlots: previousSlots, generation } = this;
    const { endpoints, slots, weights } = listing;
    let { expected } = listing;
    for (let position = start; position < end; position++) {
      const endpoint = endpoints[position];
      if (endpoint === undefined) break;
      weights[position] = endpoint.weight;
      let slot = previousSlots[expected] ?? 0;
      if (previousListed[expected] === endpoint) {
        expected++;
      } else {
        slot = this.bind(endpoint, change);
        const before = this.positions[slot] ?? NOWHERE;
        if (before !== NOWHERE) expected = before + 1;
      }
      this.generations[slot] = generation;
      slots[position] = slot;
    }
    listing.expected = expected;
  }

  /** Finds or assigns the slot of an endpoint object that is not at its previous position. */
  private bind(endpoint: XdsEndpoint, { rebound, moved, added }: MutableChange): number {
    const hash = hashKey(endpoint);
    const slot = this.findSlot(endpoint, hash);
    if (slot === NOWHERE) {
      const fresh = this.add(endpoint, hash);
      added.push(fresh);
      return fresh;
    }
    const known = this.endpointIn(slot);
    // Listed twice in this update: the first one is used.
    if (known === endpoint || this.generations[slot] === this.generation) return slot;
    const { placeOf } = this.options;
    if (placeOf(endpoint) !== placeOf(known)) moved.add(slot);
    this.endpoints[slot] = endpoint;
    rebound.push(slot);
    return slot;
  }

  private findSlot(endpoint: XdsEndpoint, hash: number): number {
    return this.index.find(hash, (other) => haveEqualKeys(this.endpointIn(other), endpoint));
  }

  private add(endpoint: XdsEndpoint, hash: number): number {
    const slot = this.freeSlots.pop() ?? this.endpoints.length;
    this.endpoints[slot] = endpoint;
    this.index.add(hash, slot);
    this.reserve(slot + 1);
    this.positions[slot] = NOWHERE;
    return slot;
  }

  /** Grows the columns for so many endpoints, and some more. */
  private reserve(count: number): void {
    if (count > this.weights.length) this.grow(Math.max(16, count + (count >> 3)));
  }

  private grow(capacity: number): void {
    const { generations, positions, weights } = this;
    this.weights = new Float64Array(capacity);
    this.weights.set(weights);
    this.positions = new Int32Array(capacity);
    this.positions.set(positions);
    this.generations = new Uint8Array(capacity);
    this.generations.set(generations);
  }

  private *removeUnlisted(previous: Int32Array, removed: Set<number>): Steps<void> {
    for (let start = 0; start < previous.length; start += STEP_SIZE) {
      if (start > 0) yield;
      this.removeUnlistedRange(previous.subarray(start, start + STEP_SIZE), removed);
    }
  }

  private removeUnlistedRange(previous: Int32Array, removed: Set<number>): void {
    const { endpoints, freeSlots, generation, generations, index, keys } = this;
    for (let i = 0; i < previous.length; i++) {
      const slot = previous[i] ?? 0;
      if (generations[slot] === generation || endpoints[slot] === undefined) continue;
      index.delete(slot);
      keys.delete(slot);
      endpoints[slot] = undefined;
      freeSlots.push(slot);
      removed.add(slot);
    }
  }

  /** Sets the weights and the positions of all endpoints. */
  private *setWeights(listed: WeightColumn): Steps<void> {
    const { length } = this.listedSlots;
    this.weights.fill(0);
    for (let start = 0; start < length; start += STEP_SIZE) {
      if (start > 0) yield;
      this.addWeights(listed, start, Math.min(length, start + STEP_SIZE));
    }
  }

  private addWeights(listed: WeightColumn, start: number, end: number): void {
    const { listedSlots, positions, weights } = this;
    for (let position = start; position < end; position++) {
      const slot = listedSlots[position] ?? 0;
      positions[slot] = position;
      weights[slot] = (weights[slot] ?? 0) + (listed[position] ?? 0);
    }
  }
}

/** Returns all endpoints of a set, locality by locality. */
function* joinLists({ localities }: EndpointSet): Steps<readonly XdsEndpoint[]> {
  const [first] = localities;
  if (first !== undefined && localities.length === 1) return first.endpoints;
  const joined: XdsEndpoint[] = [];
  for (const { endpoints } of localities) {
    for (const endpoint of endpoints) {
      joined.push(endpoint);
      if (joined.length % STEP_SIZE === 0) yield;
    }
  }
  return joined;
}
