import { ConnectivityState } from '../../grpc-js';
import type { XdsEndpoint } from '../../resources/endpoints/endpoints';
import { STEP_SIZE, type Steps } from '../../util/steps';
import { endpointKey, hashKey, sameKey } from '../endpoint-key';
import type { EndpointLeaf } from '../endpoint-leaf';
import type { EndpointSet } from '../endpoint-set';
import { combineWeights } from '../endpoint-weights';
import { SlotIndex } from '../slot-index';
import type { RingOwners } from './choose-entry-counts';
import { PlaceOrder } from './place-order';

/** An endpoint that has a part in the ring. There are no more of them than entries. */
export class RingMember {
  /** What connects to it; made when it is first wanted. */
  leaf: EndpointLeaf | undefined;
  /** That of the leaf, or CONNECTING from the moment it was told to connect. */
  state = ConnectivityState.IDLE;
  /** The position of one of its entries in the ring; -1 if it has none. See `LiveRing`. */
  firstEntry = -1;

  private ownKey: string | undefined;

  constructor(
    readonly slot: number,
    public endpoint: XdsEndpoint,
  ) {}

  /** The set of its addresses. */
  get key(): string {
    return (this.ownKey ??= endpointKey(this.endpoint));
  }
}

/** What an update did to the endpoints. */
export interface MembersChange {
  /** Members that have another endpoint object now. */
  readonly rebound: readonly RingMember[];
  /** Slots of endpoints whose place is another now. Those of endpoints that are new or gone are not among them. */
  readonly moved: ReadonlySet<number>;
}

/** How endpoints are placed. */
export interface Placement {
  /** What the place of an endpoint depends on. */
  readonly placeOf: (endpoint: XdsEndpoint) => string;
  /** What the order of places depends on. */
  readonly sortKeyOf: (place: string) => string;
}

interface MutableChange {
  readonly rebound: RingMember[];
  readonly moved: Set<number>;
  readonly added: number[];
}

/** A list of endpoints whose slots are being found. */
interface Listing {
  readonly endpoints: readonly XdsEndpoint[];
  /** Those found so far, in the order of the endpoints. */
  readonly slots: Int32Array;
  /** The weights within the localities, likewise. */
  readonly own: Uint32Array;
  /** Where in the previous list the next endpoint is, if nothing changed. */
  expected: number;
}

const NOWHERE = -1;

/**
 * The endpoints that may have a part in a ring. There may be 100,000 of them, most without one, so they are kept in
 * columns of numbers, one place in each for an endpoint: its slot. Across updates, a slot stays with a set of addresses.
 *
 * Most updates list most endpoints as the same objects in the same order, which costs one comparison each.
 */
export class RingMembers implements RingOwners {
  /** By slot. An endpoint listed twice has both weights. */
  weights = new Float64Array();
  /** By slot. */
  private readonly endpoints: (XdsEndpoint | undefined)[] = [];
  /** By slot, where it was last listed. */
  private positions = new Int32Array();
  /** By slot, the update that last listed it. */
  private generations = new Uint32Array();
  private readonly freeSlots: number[] = [];
  private readonly index = new SlotIndex();
  /** Of the slots with entries. */
  private readonly members = new Map<number, RingMember>();
  private readonly places: PlaceOrder;
  /** As last listed. */
  private listed: readonly XdsEndpoint[] = [];
  /** Their slots. */
  private listedSlots: Int32Array = new Int32Array();
  private generation = 0;

  constructor(private readonly placement: Placement) {
    const { placeOf, sortKeyOf } = placement;
    this.places = new PlaceOrder({
      sortKeyOf: (slot) => sortKeyOf(placeOf(this.endpointIn(slot))),
      keyOf: (slot) => endpointKey(this.endpointIn(slot)),
    });
  }

  /** The slots in the order of the endpoints' places. */
  get order(): Int32Array {
    return this.places.slots;
  }

  /** How many endpoints there are. */
  get size(): number {
    return this.endpoints.length - this.freeSlots.length;
  }

  /** The member in a slot that is not empty. It is made when it is first asked for. */
  inSlot(slot: number): RingMember {
    const known = this.members.get(slot);
    if (known !== undefined) return known;
    const endpoint = this.endpointIn(slot);
    const member = new RingMember(slot, endpoint);
    this.members.set(slot, member);
    return member;
  }

  /** All that were asked for, in no particular order. */
  all(): Iterable<RingMember> {
    return this.members.values();
  }

  /** Lets go of a member that has no entries any more. */
  forget(member: RingMember): void {
    if (this.members.get(member.slot) === member) this.members.delete(member.slot);
  }

  /**
   * Makes the endpoints those of the set, in steps. Another update must not begin before it is done. A member whose
   * endpoint is no longer listed is kept until it is forgotten, because calls may go to it for as long.
   */
  *update(set: EndpointSet): Steps<MembersChange> {
    const change: MutableChange = { rebound: [], moved: new Set(), added: [] };
    const previous = this.listedSlots;
    const own = yield* this.list(yield* joinLists(set), change);
    const removed = new Set(change.moved);
    yield* this.removeUnlisted(previous, removed);
    yield* this.places.update(removed, [...change.added, ...change.moved]);
    const localities = set.localities.map(({ weight, endpoints }) => ({
      weight,
      size: endpoints.length,
    }));
    yield* this.setWeights(yield* combineWeights(localities, own));
    return { rebound: change.rebound, moved: change.moved };
  }

  /**
   * Gives every endpoint its slot.
   *
   * @returns The weights of the endpoints, in their order.
   */
  private *list(endpoints: readonly XdsEndpoint[], change: MutableChange): Steps<Uint32Array> {
    this.generation++;
    this.reserve(endpoints.length);
    const listing: Listing = {
      endpoints,
      slots: new Int32Array(endpoints.length),
      own: new Uint32Array(endpoints.length),
      expected: 0,
    };
    for (let start = 0; start < endpoints.length; start += STEP_SIZE) {
      if (start > 0) yield;
      this.listRange(listing, start, Math.min(endpoints.length, start + STEP_SIZE), change);
    }
    this.listed = endpoints;
    this.listedSlots = listing.slots;
    return listing.own;
  }

  private listRange(listing: Listing, start: number, end: number, change: MutableChange): void {
    const { listed: previousListed, listedSlots: previousSlots, generation } = this;
    const { endpoints, slots, own } = listing;
    let { expected } = listing;
    for (let position = start; position < end; position++) {
      const endpoint = endpoints[position];
      if (endpoint === undefined) break;
      own[position] = endpoint.weight;
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

  /** Finds the slot of an endpoint object that is not where it was, or gives it one. */
  private bind(endpoint: XdsEndpoint, { rebound, moved, added }: MutableChange): number {
    const hash = hashKey(endpoint);
    const slot = this.findSlot(endpoint, hash);
    if (slot === NOWHERE) {
      const fresh = this.add(endpoint, hash);
      added.push(fresh);
      return fresh;
    }
    const known = this.endpointIn(slot);
    // Listed a second time in this very update: the first one counts.
    if (known === endpoint || this.generations[slot] === this.generation) return slot;
    const { placeOf } = this.placement;
    if (placeOf(endpoint) !== placeOf(known)) moved.add(slot);
    this.endpoints[slot] = endpoint;
    const member = this.members.get(slot);
    if (member === undefined) return slot;
    member.endpoint = endpoint;
    rebound.push(member);
    return slot;
  }

  private findSlot(endpoint: XdsEndpoint, hash: number): number {
    return this.index.find(hash, (other) => sameKey(this.endpointIn(other), endpoint));
  }

  private add(endpoint: XdsEndpoint, hash: number): number {
    const slot = this.freeSlots.pop() ?? this.endpoints.length;
    this.members.delete(slot);
    this.endpoints[slot] = endpoint;
    this.index.add(hash, slot);
    this.reserve(slot + 1);
    this.positions[slot] = NOWHERE;
    return slot;
  }

  /** Makes room for so many endpoints, and some more. */
  private reserve(count: number): void {
    if (count > this.weights.length) this.grow(Math.max(16, count + (count >> 3)));
  }

  private grow(capacity: number): void {
    const { generations, positions, weights } = this;
    this.weights = new Float64Array(capacity);
    this.weights.set(weights);
    this.positions = new Int32Array(capacity);
    this.positions.set(positions);
    this.generations = new Uint32Array(capacity);
    this.generations.set(generations);
  }

  private *removeUnlisted(previous: Int32Array, removed: Set<number>): Steps<void> {
    for (let start = 0; start < previous.length; start += STEP_SIZE) {
      if (start > 0) yield;
      for (const slot of previous.subarray(start, start + STEP_SIZE)) {
        if (this.generations[slot] === this.generation || this.endpoints[slot] === undefined)
          continue;
        this.index.delete(slot);
        this.endpoints[slot] = undefined;
        this.freeSlots.push(slot);
        removed.add(slot);
      }
    }
  }

  /** Goes through the list once more, and notes the positions. */
  private *setWeights(listed: Float64Array): Steps<void> {
    const { listedSlots, positions } = this;
    const weights = new Float64Array(this.weights.length);
    for (let start = 0; start < listedSlots.length; start += STEP_SIZE) {
      if (start > 0) yield;
      const end = Math.min(listedSlots.length, start + STEP_SIZE);
      for (let position = start; position < end; position++) {
        const slot = listedSlots[position] ?? 0;
        positions[slot] = position;
        weights[slot] = (weights[slot] ?? 0) + (listed[position] ?? 0);
      }
    }
    this.weights = weights;
  }

  private endpointIn(slot: number): XdsEndpoint {
    const endpoint = this.endpoints[slot];
    if (endpoint === undefined) throw new Error(`Slot ${slot} of a ring is empty`);
    return endpoint;
  }
}

/** All endpoints of a set, locality by locality. */
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
