import { ConnectivityState } from '../../grpc-js';
import type { XdsEndpoint } from '../../resources/endpoints';
import { endpointKey } from '../endpoint-key';
import type { EndpointLeaf } from '../endpoint-leaf';
import type { EndpointSet } from '../endpoint-set';
import { combinedWeights } from '../endpoint-weights';
import type { RingOwners } from './choose-entry-counts';

/** One endpoint of a ring. There may be 100,000 of them, so it keeps little. */
export class RingMember {
  /** What connects to it; made when it is first wanted. */
  leaf: EndpointLeaf | undefined;
  /** That of the leaf, or CONNECTING from the moment it was told to connect. */
  state = ConnectivityState.IDLE;
  /** The position of one of its entries in the ring; -1 if it has none. See `LiveRing`. */
  firstEntry = -1;
  /** Where it was last listed; -1 before. */
  position = -1;
  /** The update that last listed it. */
  generation = -1;

  constructor(
    /** The set of its addresses. */
    readonly key: string,
    readonly slot: number,
    public endpoint: XdsEndpoint,
  ) {}
}

/** What an update did to the members. */
export interface MembersChange {
  /** Members that are gone. */
  readonly removed: readonly RingMember[];
  /** Members that have another endpoint object now. */
  readonly rebound: readonly RingMember[];
  /** Of those, the members whose place is another now. */
  readonly moved: ReadonlySet<RingMember>;
}

/**
 * The endpoints of a ring. Across updates, a member stays with its set of addresses, and has a slot: its
 * place in arrays of numbers, which are gone through as a whole, much faster than objects.
 *
 * Most updates list most endpoints as the same objects in the same order, which costs one comparison each.
 */
export class RingMembers implements RingOwners {
  /** By slot. An endpoint listed twice has both weights. */
  weights = new Float64Array();
  /** By slot. */
  draws = new Float64Array();
  private readonly bySlot: (RingMember | undefined)[] = [];
  private readonly freeSlots: number[] = [];
  private readonly byKey = new Map<string, RingMember>();
  /** As last listed. */
  private order: readonly RingMember[] = [];
  private generation = 0;

  /**
   * @param placeOf What the place of an endpoint depends on.
   * @param drawOf A number between 0 and 1 for a place.
   */
  constructor(
    private readonly placeOf: (endpoint: XdsEndpoint) => string,
    private readonly drawOf: (place: string) => number,
  ) {}

  /** How many there are. */
  get size(): number {
    return this.byKey.size;
  }

  /** The member in a slot that is not empty. */
  inSlot(slot: number): RingMember {
    const member = this.bySlot[slot];
    if (member === undefined) throw new Error(`Slot ${slot} of a ring is empty`);
    return member;
  }

  /** All of them, in no particular order. */
  all(): Iterable<RingMember> {
    return this.byKey.values();
  }

  /** Makes the members those of the endpoints. */
  update(endpoints: EndpointSet): MembersChange {
    const change = { removed: [], rebound: [], moved: new Set<RingMember>() };
    const previous = this.order;
    this.order = this.list(endpoints, change);
    this.removeUnlisted(previous, change.removed);
    this.setWeights(combinedWeights(endpoints));
    return change;
  }

  /** The members of the endpoints, one for each time an endpoint is listed. */
  private list({ localities }: EndpointSet, change: MutableChange): readonly RingMember[] {
    const generation = ++this.generation;
    const order: RingMember[] = [];
    let expected = 0;
    for (const { endpoints } of localities) {
      for (const endpoint of endpoints) {
        let member = this.order[expected];
        if (member?.endpoint === endpoint) {
          expected++;
        } else {
          member = this.bind(endpoint, change);
          if (member.position >= 0) expected = member.position + 1;
        }
        member.generation = generation;
        order.push(member);
      }
    }
    return order;
  }

  /** Finds the member with the addresses of an endpoint object that is not where it was, or makes it. */
  private bind(endpoint: XdsEndpoint, { rebound, moved }: MutableChange): RingMember {
    const key = endpointKey(endpoint);
    const known = this.byKey.get(key);
    if (known === undefined) return this.add(key, endpoint);
    // Listed a second time in this very update: the first one counts.
    if (known.endpoint === endpoint || known.generation === this.generation) return known;
    const place = this.placeOf(endpoint);
    if (place !== this.placeOf(known.endpoint)) {
      moved.add(known);
      this.draws[known.slot] = this.drawOf(place);
    }
    known.endpoint = endpoint;
    rebound.push(known);
    return known;
  }

  private add(key: string, endpoint: XdsEndpoint): RingMember {
    const slot = this.freeSlots.pop() ?? this.bySlot.length;
    const member = new RingMember(key, slot, endpoint);
    this.bySlot[slot] = member;
    this.byKey.set(key, member);
    if (slot >= this.draws.length) this.grow(slot + 1);
    this.draws[slot] = this.drawOf(this.placeOf(endpoint));
    return member;
  }

  private grow(atLeast: number): void {
    const capacity = Math.max(16, atLeast, this.draws.length * 2);
    const draws = new Float64Array(capacity);
    draws.set(this.draws);
    this.draws = draws;
    this.weights = new Float64Array(capacity);
  }

  private removeUnlisted(previous: readonly RingMember[], removed: RingMember[]): void {
    for (const member of previous) {
      if (member.generation === this.generation || !this.byKey.delete(member.key)) continue;
      this.bySlot[member.slot] = undefined;
      this.freeSlots.push(member.slot);
      removed.push(member);
    }
  }

  /** Goes through the order once more, and notes it. */
  private setWeights(listed: Float64Array): void {
    const { order, weights } = this;
    weights.fill(0);
    let position = 0;
    for (const member of order) {
      member.position = position;
      weights[member.slot] = (weights[member.slot] ?? 0) + (listed[position] ?? 0);
      position++;
    }
  }
}

interface MutableChange {
  readonly removed: RingMember[];
  readonly rebound: RingMember[];
  readonly moved: Set<RingMember>;
}
