import { ConnectivityState } from '../../grpc-js';
import type { XdsEndpoint } from '../../resources/endpoints';
import { endpointKey, hashKey, sameKey } from '../endpoint-key';
import type { EndpointLeaf } from '../endpoint-leaf';
import type { EndpointSet } from '../endpoint-set';
import { combineWeights } from '../endpoint-weights';
import { SlotIndex } from '../slot-index';
import type { RingOwners } from './choose-entry-counts';

/** An endpoint that has a part in the ring. There are no more of them than entries. */
export class RingMember {
  /** What connects to it; made when it is first wanted. */
  leaf: EndpointLeaf | undefined;
  /** That of the leaf, or CONNECTING from the moment it was told to connect. */
  state = ConnectivityState.IDLE;
  /** The position of one of its entries in the ring; -1 if it has none. See `LiveRing`. */
  firstEntry = -1;

  constructor(
    /** The set of its addresses. */
    readonly key: string,
    readonly slot: number,
    public endpoint: XdsEndpoint,
  ) {}
}

/** What an update did to the endpoints. */
export interface MembersChange {
  /** Members that have another endpoint object now. */
  readonly rebound: readonly RingMember[];
  /** Slots of endpoints whose place is another now. Those of endpoints that are new or gone are not among them. */
  readonly moved: ReadonlySet<number>;
  /** Slots with another weight; `undefined` if there are many. Slots of those moved, new or gone are among them. */
  readonly reweighed: readonly number[] | undefined;
}

/** How endpoints are placed. */
export interface Placement {
  /** What the place of an endpoint depends on. */
  readonly placeOf: (endpoint: XdsEndpoint) => string;
  /** A number between 0 and 1 for the place of an endpoint. */
  readonly drawOf: (endpoint: XdsEndpoint) => number;
}

interface MutableChange {
  readonly rebound: RingMember[];
  readonly moved: Set<number>;
  /** Slots that are not what they were. */
  readonly touched: Set<number>;
}

/** With more changes than this, all weights are gone through. */
const MAX_REWEIGHED = 64;
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
  draws = new Float64Array();
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
  /** Slots that no update has listed yet. */
  private readonly prepared: number[] = [];
  /** As last listed. */
  private listed: readonly XdsEndpoint[] = [];
  /** Their slots. */
  private order = new Int32Array();
  private generation = 0;

  constructor(private readonly placement: Placement) {}

  /** How many endpoints there are. */
  get size(): number {
    return this.endpoints.length - this.freeSlots.length;
  }

  /** The member in a slot that is not empty. It is made when it is first asked for. */
  inSlot(slot: number): RingMember {
    const known = this.members.get(slot);
    if (known !== undefined) return known;
    const endpoint = this.endpointIn(slot);
    const member = new RingMember(endpointKey(endpoint), slot, endpoint);
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

  /** Makes room for so many endpoints, and some more. */
  reserve(count: number): void {
    if (count > this.draws.length) this.grow(Math.max(16, count + (count >> 3)));
  }

  /**
   * Does for an endpoint what takes long in an update that brings very many of them. If the update does not list it, it
   * is gone again.
   */
  prepare(endpoint: XdsEndpoint): void {
    const hash = hashKey(endpoint);
    if (this.findSlot(endpoint, hash) !== NOWHERE) return;
    this.prepared.push(this.add(endpoint, hash, new Set()));
  }

  /** Makes the endpoints those of the set. */
  update(set: EndpointSet): MembersChange {
    const change: MutableChange = { rebound: [], moved: new Set(), touched: new Set() };
    const previous = this.order;
    const listed = joinLists(set);
    const own = this.list(listed, change);
    this.removeUnlisted(previous, change.touched);
    this.removeUnlisted(this.prepared.splice(0), change.touched);
    const localities = set.localities.map(({ weight, endpoints }) => ({
      weight,
      size: endpoints.length,
    }));
    const reweighed = this.setWeights(combineWeights(localities, own), change.touched);
    return { rebound: change.rebound, moved: change.moved, reweighed };
  }

  /**
   * Gives every endpoint its slot.
   *
   * @returns The weights of the endpoints, in their order.
   */
  private list(listed: readonly XdsEndpoint[], change: MutableChange): Uint32Array {
    const generation = ++this.generation;
    this.reserve(listed.length);
    const { listed: previousListed, order: previousOrder } = this;
    const order = new Int32Array(listed.length);
    const own = new Uint32Array(listed.length);
    let expected = 0;
    for (let position = 0; position < listed.length; position++) {
      const endpoint = listed[position];
      if (endpoint === undefined) break;
      own[position] = endpoint.weight;
      let slot = previousOrder[expected] ?? 0;
      if (previousListed[expected] === endpoint) {
        expected++;
      } else {
        slot = this.bind(endpoint, change);
        const before = this.positions[slot] ?? NOWHERE;
        if (before !== NOWHERE) expected = before + 1;
      }
      this.generations[slot] = generation;
      order[position] = slot;
    }
    this.listed = listed;
    this.order = order;
    return own;
  }

  /** Finds the slot of an endpoint object that is not where it was, or gives it one. */
  private bind(endpoint: XdsEndpoint, { rebound, moved, touched }: MutableChange): number {
    const hash = hashKey(endpoint);
    const slot = this.findSlot(endpoint, hash);
    if (slot === NOWHERE) return this.add(endpoint, hash, touched);
    const known = this.endpointIn(slot);
    // Listed a second time in this very update: the first one counts.
    if (known === endpoint || this.generations[slot] === this.generation) return slot;
    const { placeOf, drawOf } = this.placement;
    if (placeOf(endpoint) !== placeOf(known)) {
      moved.add(slot);
      touched.add(slot);
      this.draws[slot] = drawOf(endpoint);
    }
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

  private add(endpoint: XdsEndpoint, hash: number, touched: Set<number>): number {
    const slot = this.freeSlots.pop() ?? this.endpoints.length;
    this.endpoints[slot] = endpoint;
    this.index.add(hash, slot);
    this.reserve(slot + 1);
    this.draws[slot] = this.placement.drawOf(endpoint);
    this.positions[slot] = NOWHERE;
    if (touched.size <= MAX_REWEIGHED) touched.add(slot);
    return slot;
  }

  private grow(capacity: number): void {
    const { draws, generations, positions, weights } = this;
    this.draws = new Float64Array(capacity);
    this.draws.set(draws);
    this.weights = new Float64Array(capacity);
    this.weights.set(weights);
    this.positions = new Int32Array(capacity);
    this.positions.set(positions);
    this.generations = new Uint32Array(capacity);
    this.generations.set(generations);
  }

  private removeUnlisted(previous: Iterable<number>, touched: Set<number>): void {
    for (const slot of previous) {
      if (this.generations[slot] === this.generation || this.endpoints[slot] === undefined)
        continue;
      this.index.delete(slot);
      this.endpoints[slot] = undefined;
      this.freeSlots.push(slot);
      this.members.delete(slot);
      if (touched.size <= MAX_REWEIGHED) touched.add(slot);
    }
  }

  /** Goes through the order once more, and notes it. @returns See {@link MembersChange.reweighed}. */
  private setWeights(listed: Float64Array, touched: Set<number>): readonly number[] | undefined {
    const { order, positions, weights: before } = this;
    const weights = new Float64Array(before.length);
    for (let position = 0; position < order.length; position++) {
      const slot = order[position] ?? 0;
      positions[slot] = position;
      weights[slot] = (weights[slot] ?? 0) + (listed[position] ?? 0);
    }
    this.weights = weights;
    for (let slot = 0; slot < weights.length && touched.size <= MAX_REWEIGHED; slot++) {
      if (weights[slot] !== before[slot]) touched.add(slot);
    }
    return touched.size <= MAX_REWEIGHED ? [...touched] : undefined;
  }

  private endpointIn(slot: number): XdsEndpoint {
    const endpoint = this.endpoints[slot];
    if (endpoint === undefined) throw new Error(`Slot ${slot} of a ring is empty`);
    return endpoint;
  }
}

/** All endpoints of a set, locality by locality. */
function joinLists({ localities }: EndpointSet): readonly XdsEndpoint[] {
  const [first, ...others] = localities.map(({ endpoints }) => endpoints);
  return first === undefined ? [] : others.length === 0 ? first : first.concat(...others);
}
