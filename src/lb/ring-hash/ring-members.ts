import { ConnectivityState } from '../../grpc-js';
import type { XdsEndpoint } from '../../resources/endpoints';
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

/** So many prepared endpoints are sorted in one go, in about a millisecond. */
const RUN_LENGTH = 2048;
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
  /** Slots that no update has listed yet, sorted in runs. */
  private prepared: number[] = [];
  /** The last of them, which are not sorted yet. */
  private unsorted: number[] = [];
  private readonly places: PlaceOrder;
  /** As last listed. */
  private listed: readonly XdsEndpoint[] = [];
  /** Their slots. */
  private listedSlots = new Int32Array();
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

  /** Makes room for so many endpoints, and some more. */
  reserve(count: number): void {
    if (count > this.weights.length) this.grow(Math.max(16, count + (count >> 3)));
  }

  /**
   * Does for an endpoint what takes long in an update that brings very many of them. If the update does not list it, it
   * is gone again.
   */
  prepare(endpoint: XdsEndpoint): void {
    const hash = hashKey(endpoint);
    if (this.findSlot(endpoint, hash) !== NOWHERE) return;
    this.unsorted.push(this.add(endpoint, hash));
    if (this.unsorted.length < RUN_LENGTH) return;
    for (const { slot } of this.places.sort(this.unsorted)) this.prepared.push(slot);
    this.unsorted = [];
  }

  /** Makes the endpoints those of the set. */
  update(set: EndpointSet): MembersChange {
    const change: MutableChange = { rebound: [], moved: new Set(), added: [] };
    const prepared = this.prepared.concat(this.unsorted);
    this.prepared = [];
    this.unsorted = [];
    const previous = this.listedSlots;
    const listed = joinLists(set);
    const own = this.list(listed, change);
    const removed = new Set(change.moved);
    this.removeUnlisted(previous, removed);
    this.removeUnlisted(prepared, removed);
    const added = [...prepared, ...change.added].filter((slot) => !removed.has(slot));
    this.places.update(removed, [...added, ...change.moved]);
    const localities = set.localities.map(({ weight, endpoints }) => ({
      weight,
      size: endpoints.length,
    }));
    this.setWeights(combineWeights(localities, own));
    return { rebound: change.rebound, moved: change.moved };
  }

  /**
   * Gives every endpoint its slot.
   *
   * @returns The weights of the endpoints, in their order.
   */
  private list(listed: readonly XdsEndpoint[], change: MutableChange): Uint32Array {
    const generation = ++this.generation;
    this.reserve(listed.length);
    const { listed: previousListed, listedSlots: previousOrder } = this;
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
    this.listedSlots = order;
    return own;
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
    this.endpoints[slot] = endpoint;
    this.index.add(hash, slot);
    this.reserve(slot + 1);
    this.positions[slot] = NOWHERE;
    return slot;
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

  private removeUnlisted(previous: Iterable<number>, removed: Set<number>): void {
    for (const slot of previous) {
      if (this.generations[slot] === this.generation || this.endpoints[slot] === undefined)
        continue;
      this.index.delete(slot);
      this.endpoints[slot] = undefined;
      this.freeSlots.push(slot);
      this.members.delete(slot);
      removed.add(slot);
    }
  }

  /** Goes through the list once more, and notes the positions. */
  private setWeights(listed: Float64Array): void {
    const { listedSlots, positions } = this;
    const weights = new Float64Array(this.weights.length);
    for (let position = 0; position < listedSlots.length; position++) {
      const slot = listedSlots[position] ?? 0;
      positions[slot] = position;
      weights[slot] = (weights[slot] ?? 0) + (listed[position] ?? 0);
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
function joinLists({ localities }: EndpointSet): readonly XdsEndpoint[] {
  const [first, ...others] = localities.map(({ endpoints }) => endpoints);
  return first === undefined ? [] : others.length === 0 ? first : first.concat(...others);
}
