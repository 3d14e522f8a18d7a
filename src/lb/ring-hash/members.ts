import { ConnectivityState } from '../../grpc-js';
import type { XdsEndpoint } from '../../resources/endpoints/endpoints';
import { processHash, type KeyedHash } from '../../util/hashes';
import { endpointKey, firstAddress } from '../endpoints/endpoint-key';
import type { EndpointLeaf } from '../endpoints/endpoint-leaf';
import type { EndpointSet } from '../endpoints/endpoint-set';
import { sumWeights, type Weigher } from '../endpoints/endpoint-weights';

/**
 * An unsigned hash of 64 bits as two halves: a bigint is an object, and a number would be rounded. Each half is less by
 * 2 ** 31, and so a signed number: only of those V8 never makes objects.
 */
export interface SplitHash {
  /** The upper half, from -(2 ** 31). */
  readonly high: number;
  /** The lower half, from -(2 ** 31). */
  readonly low: number;
}

/** A place of a member on the ring. */
export interface Entry extends SplitHash {
  readonly member: Member;
  /** Its number among the entries of the member, from 0. */
  readonly ordinal: number;
  /** The first entry of the member, if this is another one. When the member has another first one, this one is removed. */
  readonly first: Entry | undefined;
}

/**
 * An endpoint of a ring. Across updates, it stays with its set of addresses. There may be 100,000 of them that no call needs:
 * texts that follow from the endpoint are created when they are needed.
 */
export interface Member {
  /** The endpoint as last listed. */
  endpoint: XdsEndpoint;
  /** The weight among all endpoints. */
  weight: number;
  /** The number of entries on the newest ring. */
  count: number;
  /** The first position in the last list. */
  position: number;
  /** The state of the connection: CONNECTING as soon as it was requested. */
  state: ConnectivityState;
  /** The connection, if a call has needed it. */
  leaf: EndpointLeaf | undefined;
  /** The first entry, if it is known: it stays when it leaves the ring, since it may come back. */
  first: Entry | undefined;
}

export interface RingMembersOptions {
  /** Whether endpoints are placed by their hash keys if they have any (gRFC A76). */
  readonly usesHashKeys: boolean;
  readonly weigher: Weigher;
  /** The hash of identities. Default: that of the process. */
  readonly identityHash?: Pick<KeyedHash, 'hashText'>;
}

/** Endpoints that are listed without a break. */
const LISTED_AT_ONCE = 1024;

/** An update whose endpoints are being listed. */
export interface Listing {
  readonly localities: EndpointSet['localities'];
  readonly sums: ReturnType<typeof sumWeights>;
  /** The indexes of the locality and of the endpoint in it that come next. */
  readonly next: [locality: number, endpoint: number];
  /** The members listed so far. The list has its final length, so that it is not copied on the way. */
  readonly members: Member[];
  /** The position of the next endpoint. */
  position: number;
  readonly added: Member[];
  /** Members that have another key on the ring. */
  readonly moved: Set<Member>;
  /** Members with another endpoint object. */
  readonly rebound: Member[];
  /** The number of different members. */
  size: number;
  /** The position of the next endpoint in the previous list, if nothing changed. */
  expected: number;
}

/** A member that is being sorted. */
interface Placed {
  readonly member: Member;
  /** The text by which members are sorted. */
  readonly sortKey: string;
  /** The identity of the endpoint. */
  readonly key: string;
}

/** The endpoints of a ring. Most updates list most endpoints as the same objects in the same order: no key is looked up. */
export class RingMembers {
  private sorted: readonly Member[] = [];
  private listed: readonly Member[] = [];
  /** The members by the hashes of their identities, as signed numbers, without the few that have the hash of another one. */
  private readonly byHash = new Map<number, Member>();
  /** The members whose hashes were taken, by their identities. */
  private readonly others = new Map<string, Member>();

  constructor(private readonly options: RingMembersOptions) {}

  get size(): number {
    return this.sorted.length;
  }

  /** The members in the order in which entries are assigned. */
  get inRingOrder(): readonly Member[] {
    return this.sorted;
  }

  /** The members in the order of the last list. */
  get inListOrder(): ReadonlySet<Member> {
    return new Set(this.listed);
  }

  /** Returns the text that is hashed for the entries of a member. */
  ringKeyOf({ endpoint }: Member): string {
    return ringKeyOf(endpoint, this.options.usesHashKeys);
  }

  /** Begins to apply a set of endpoints: {@link listSome} until nothing is left, then {@link endUpdate}. */
  beginUpdate(set: EndpointSet): Listing {
    return {
      localities: set.localities,
      sums: sumWeights(set),
      next: [0, 0],
      members: new Array<Member>(countEndpoints(set)),
      position: 0,
      added: [],
      moved: new Set(),
      rebound: [],
      size: 0,
      expected: 0,
    };
  }

  /** Lists as many endpoints as take well below a millisecond. @returns Whether some are left. */
  listSome(listing: Listing): boolean {
    const { localities, sums, next } = listing;
    const end = listing.position + LISTED_AT_ONCE;
    for (
      let locality = localities[next[0]];
      locality !== undefined;
      locality = localities[++next[0]]
    ) {
      const { endpoints } = locality;
      const weigh = this.options.weigher(locality, sums);
      for (; next[1] < endpoints.length; next[1]++) {
        const endpoint = endpoints[next[1]];
        if (endpoint === undefined) continue;
        if (listing.position === end) return true;
        this.list(endpoint, weigh(endpoint.weight), listing);
      }
      next[1] = 0;
    }
    return false;
  }

  /** Sorts what was listed. @returns The members with another endpoint object. */
  endUpdate(listing: Listing): readonly Member[] {
    this.listed = listing.members;
    const { added, moved, size } = listing;
    if (added.length > 0 || moved.size > 0 || size < this.size) this.sort(listing);
    return listing.rebound;
  }

  private list(endpoint: XdsEndpoint, weight: number, listing: Listing): void {
    const { members, position } = listing;
    const expected = this.listed[listing.expected];
    const member = expected?.endpoint === endpoint ? expected : this.bind(endpoint, listing);
    listing.expected = member.position + 1;
    if (isIn(members, member)) {
      // Listed twice: the first object is used, with both weights.
      member.weight += weight;
    } else {
      // Most are the same: to write them takes longer than to compare them.
      if (member.weight !== weight) member.weight = weight;
      if (member.position !== position) member.position = position;
      listing.size++;
    }
    members[position] = member;
    listing.position++;
  }

  /** Finds or creates the member of an endpoint object that is not at its previous position. */
  private bind(endpoint: XdsEndpoint, listing: Listing): Member {
    const key = endpointKey(endpoint);
    const known = this.find(key);
    if (known === undefined) {
      const member = createMember(endpoint, listing.expected - 1);
      this.add(key, member);
      listing.added.push(member);
      return member;
    }
    if (known.endpoint === endpoint || isIn(listing.members, known)) return known;
    const { usesHashKeys } = this.options;
    if (ringKeyOf(endpoint, usesHashKeys) !== this.ringKeyOf(known)) listing.moved.add(known);
    known.endpoint = endpoint;
    listing.rebound.push(known);
    return known;
  }

  private find(key: string): Member | undefined {
    const member = this.byHash.get(this.hash(key));
    if (member !== undefined && endpointKey(member.endpoint) === key) return member;
    return this.others.get(key);
  }

  private add(key: string, member: Member): void {
    const hash = this.hash(key);
    if (this.byHash.has(hash)) this.others.set(key, member);
    else this.byHash.set(hash, member);
  }

  private remove(member: Member): void {
    removeEntries(member);
    const key = endpointKey(member.endpoint);
    const hash = this.hash(key);
    if (this.byHash.get(hash) === member) this.byHash.delete(hash);
    else this.others.delete(key);
  }

  /** Returns a signed number of 32 bits: only of those V8 never makes objects. */
  private hash(key: string): number {
    return (this.options.identityHash ?? processHash).hashText(key, 0) | 0;
  }

  /** Removes what is not listed any more, and inserts what is new. */
  private sort({ added, moved }: Listing): void {
    const kept: Member[] = [];
    for (const member of this.sorted) {
      if (!isIn(this.listed, member)) this.remove(member);
      else if (moved.has(member)) removeEntries(member);
      else kept.push(member);
    }
    const inserted = [...added, ...moved].map((member) => this.place(member)).sort(comparePlaced);
    const sorted: Member[] = [];
    let position = 0;
    for (const placed of inserted) {
      const end = findEnd(
        kept,
        position,
        (member) => comparePlaced(this.place(member), placed) <= 0,
      );
      for (const member of kept.slice(position, end)) sorted.push(member);
      sorted.push(placed.member);
      position = end;
    }
    this.sorted = sorted.concat(kept.slice(position));
  }

  private place(member: Member): Placed {
    return {
      member,
      sortKey: ringSortKey(this.ringKeyOf(member)),
      key: endpointKey(member.endpoint),
    };
  }
}

function countEndpoints({ localities }: EndpointSet): number {
  let count = 0;
  for (const { endpoints } of localities) count += endpoints.length;
  return count;
}

function createMember(endpoint: XdsEndpoint, position: number): Member {
  return {
    endpoint,
    weight: 0,
    count: 0,
    position,
    state: ConnectivityState.IDLE,
    leaf: undefined,
    first: undefined,
  };
}

/** Whether a member is in a list, of which it has the position. */
function isIn(list: readonly Member[], member: Member): boolean {
  return list[member.position] === member;
}

function removeEntries(member: Member): void {
  member.count = 0;
  member.first = undefined;
}

/** Returns the index after the last of sorted items, from a start on, that is before another one: soon found where it is near. */
function findEnd<T>(items: readonly T[], start: number, isBefore: (item: T) => boolean): number {
  const isBeforeAt = (index: number) => {
    const item = items[index];
    return item !== undefined && isBefore(item);
  };
  let low = start;
  let high = start;
  for (let step = 1; isBeforeAt(high); step *= 2) {
    low = high + 1;
    high += step;
  }
  high = Math.min(high, items.length);
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBeforeAt(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}

function comparePlaced(a: Placed, b: Placed): number {
  return compareTexts(a.sortKey, b.sortKey) || compareTexts(a.key, b.key);
}

/**
 * Compares members by their identities, as in a sort: those with the same hash are ordered alike in every process, so that
 * all of them pick the same one.
 */
export function compareKeys(a: Member, b: Member): number {
  return a === b ? 0 : compareTexts(endpointKey(a.endpoint), endpointKey(b.endpoint));
}

function compareTexts(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/**
 * Returns the key of an endpoint on the ring: its hash key if it has one (gRFC A76), otherwise its first address.
 *
 * @param usesHashKeys `false` to use the address in any case, as clients did before hash keys.
 */
export function ringKeyOf(endpoint: XdsEndpoint, usesHashKeys: boolean): string {
  const { hashKey } = endpoint;
  return usesHashKeys && hashKey !== undefined ? hashKey : firstAddress(endpoint);
}

/**
 * Returns a text whose order by UTF-16 code units, as in JavaScript, is the order of the ring keys by bytes of UTF-8,
 * as in Go: so all clients assign the entries of a ring in the same order.
 */
function ringSortKey(ringKey: string): string {
  return IS_ASCII.test(ringKey) ? ringKey : Buffer.from(ringKey).toString('latin1');
}

// eslint-disable-next-line no-control-regex -- all of ASCII
const IS_ASCII = /^[\x00-\x7f]*$/;
