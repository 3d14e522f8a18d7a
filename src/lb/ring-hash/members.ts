import type { Locality, XdsEndpoint } from '../../resources/endpoints/endpoints';
import type { XxHash64 } from '../../util/hashes';
import { endpointKey, firstAddress, shareAddresses } from '../endpoints/endpoint-key';
import type { EndpointSet, WeightSums } from '../endpoints/endpoint-set';
import { sumWeights, type Weigher } from '../endpoints/endpoint-weights';

/** How the endpoints of a set become members with positions. */
export interface TableRules {
  /** Ready. */
  readonly hash: Pick<XxHash64, 'hash'>;
  /** Whether endpoints are placed by their hash keys if they have any (gRFC A76). */
  readonly usesHashKeys: boolean;
  readonly weigher: Weigher;
}

/** What an update makes of the members. */
export interface MembersUpdate {
  /** The previous ones if nothing changed. */
  readonly members: Members;
  /** The numbers of those that are new, or have another key on the ring. */
  readonly placed: ReadonlySet<number>;
}

/**
 * The endpoints of a ring or a table. Each has a number, which it keeps across updates; a new endpoint may get that of one that
 * left. Immutable, with nothing of a channel in it: all channels of a target share one.
 */
export class Members {
  static readonly none = new Members([], [], [], [], new Map());

  constructor(
    /** By number; `undefined` where the number is not in use. */
    readonly endpoints: readonly (XdsEndpoint | undefined)[],
    /** The weights among all endpoints, by number. */
    readonly weights: readonly number[],
    /** The numbers in the order in which entries are assigned. */
    readonly sorted: readonly number[],
    /** The numbers in the order of the last list, in which one may be twice. */
    readonly listed: readonly number[],
    /** The position in `listed` at which each locality starts. */
    readonly starts: ReadonlyMap<Locality, number>,
  ) {}

  get size(): number {
    return this.sorted.length;
  }

  /**
   * Returns the number of the endpoint with the same addresses; `undefined` if there is none.
   * @param number The one that it has had.
   */
  find(endpoint: XdsEndpoint, number: number, usesHashKeys: boolean): number | undefined {
    const same = this.endpoints[number];
    if (same === endpoint) return number;
    if (same !== undefined && endpointKey(same) === endpointKey(endpoint)) return number;
    const order = new RingOrder(this.endpoints, usesHashKeys);
    const place = order.placeOf(endpoint);
    const found = this.sorted[order.findEnd(this.sorted, 0, place)];
    return found !== undefined && order.compare(found, place) === 0 ? found : undefined;
  }
}

/** The numbers are given out anew when there are more than this many for each endpoint. */
const MAX_NUMBERS = 4;
/** Endpoints that are listed without a break. */
const LISTED_AT_ONCE = 1024;
/** The same of those whose identities are needed as texts. */
const NAMED_AT_ONCE = 256;
/** How far ahead in the previous list an endpoint is looked for: those before it may have been removed. */
const LOOK_AHEAD = 16;

/** An endpoint that is not where the previous list goes on. */
interface Fresh {
  readonly endpoint: XdsEndpoint;
  readonly weight: number;
  /** In the list. */
  readonly position: number;
}

/**
 * Creates the members after an update: {@link advance} until nothing is left, then {@link finish}. Most updates list most endpoints
 * as the same objects in the same order.
 */
export class MembersListing {
  private readonly previous: Members;
  private readonly sums: WeightSums;
  private readonly order: RingOrder;
  private readonly endpoints: (XdsEndpoint | undefined)[];
  private readonly weights: number[];
  private readonly listed: number[];
  private readonly isListed: Uint8Array;
  private readonly starts = new Map<Locality, number>();
  private readonly placed = new Set<number>();
  private readonly fresh: Fresh[] = [];
  /** Those of them that the previous members do not have, once all were compared. */
  private readonly added: Fresh[] = [];
  /** The members that are not where the previous list goes on. */
  private left: readonly number[] = [];
  /** Their numbers by identity. */
  private readonly known = new Map<string, number>();
  private isSame = true;
  // How far the work is.
  private locality = 0;
  private inLocality = 0;
  private position = 0;
  private expected = 0;
  private named = 0;
  private matched = 0;
  /** No number below is free. */
  private free = 0;

  constructor(
    previous: Members,
    private readonly set: EndpointSet,
    private readonly rules: Pick<TableRules, 'usesHashKeys' | 'weigher'>,
  ) {
    const count = set.localities.reduce((sum, { endpoints }) => sum + endpoints.length, 0);
    const isSparse = count * MAX_NUMBERS < previous.endpoints.length;
    this.previous = isSparse ? Members.none : previous;
    this.sums = sumWeights(set);
    this.endpoints = this.previous.endpoints.slice();
    this.weights = this.previous.weights.slice();
    this.listed = new Array<number>(count).fill(0);
    this.isListed = new Uint8Array(this.endpoints.length);
    this.order = new RingOrder(this.endpoints, rules.usesHashKeys);
  }

  /** Does one part of the work, well below a millisecond. @returns Whether some is left. */
  advance(): boolean {
    return this.listSome() || this.nameSome() || this.matchSome();
  }

  /** Lists endpoints that are where the previous list goes on. */
  private listSome(): boolean {
    const { localities } = this.set;
    const end = this.position + LISTED_AT_ONCE;
    for (; this.locality < localities.length; this.locality++, this.inLocality = 0) {
      const locality = localities[this.locality];
      if (locality === undefined) break;
      if (this.inLocality === 0) {
        this.starts.set(locality.locality, this.position);
        this.expected = this.previous.starts.get(locality.locality) ?? this.expected;
      }
      const weigh = this.rules.weigher(locality, this.sums);
      for (; this.inLocality < locality.endpoints.length; this.inLocality++, this.position++) {
        const endpoint = locality.endpoints[this.inLocality];
        if (this.position === end) return true;
        if (endpoint !== undefined) this.list(endpoint, weigh(endpoint.weight));
      }
    }
    const { isListed, previous } = this;
    if (this.named === 0) this.left = previous.sorted.filter((number) => isListed[number] === 0);
    return false;
  }

  private list(endpoint: XdsEndpoint, weight: number): void {
    const { expected, position } = this;
    const at = this.look(endpoint, expected);
    if (at === undefined) {
      this.fresh.push({ endpoint, weight, position });
    } else {
      this.bind(this.previous.listed[at] ?? 0, { endpoint, weight, position });
      this.expected = at + 1;
    }
  }

  /** Returns where an endpoint is in the previous list, if that is soon after a position. */
  private look(endpoint: XdsEndpoint, from: number): number | undefined {
    const { endpoints, listed } = this.previous;
    for (let at = from; at < from + LOOK_AHEAD && at < listed.length; at++) {
      if (endpoints[listed[at] ?? -1] === endpoint) return at;
    }
    const before = endpoints[listed[from] ?? -1]?.addresses;
    return before !== undefined && shareAddresses(before, endpoint.addresses) === before
      ? from
      : undefined;
  }

  private bind(number: number, { endpoint, weight, position }: Fresh): void {
    const { endpoints, isListed, order, weights } = this;
    this.listed[position] = number;
    if (isListed[number] === 1) {
      // Listed twice: the first object is used, with both weights.
      weights[number] = (weights[number] ?? 0) + weight;
      return;
    }
    isListed[number] = 1;
    weights[number] = weight;
    const before = endpoints[number];
    if (before === endpoint) return;
    if (before !== undefined && order.keyOf(before) !== order.keyOf(endpoint)) {
      this.placed.add(number);
    }
    endpoints[number] = endpoint;
    this.isSame = false;
  }

  /** Lists the members that are left by their identities, if endpoints have to be found among them. */
  private nameSome(): boolean {
    const { endpoints, fresh, known, left } = this;
    if (fresh.length === 0) return false;
    const end = Math.min(this.named + NAMED_AT_ONCE, left.length);
    for (; this.named < end; this.named++) {
      const number = left[this.named] ?? 0;
      const endpoint = endpoints[number];
      if (endpoint !== undefined) known.set(endpointKey(endpoint), number);
    }
    return end < left.length;
  }

  /** Finds endpoints among the members that are left. */
  private matchSome(): boolean {
    const { added, fresh, known } = this;
    const atOnce = known.size === 0 ? fresh.length : NAMED_AT_ONCE;
    const end = Math.min(this.matched + atOnce, fresh.length);
    for (; this.matched < end; this.matched++) {
      const item = fresh[this.matched];
      if (item === undefined) break;
      const number = known.size === 0 ? undefined : known.get(endpointKey(item.endpoint));
      if (number === undefined) added.push(item);
      else this.bind(number, item);
    }
    return end < fresh.length;
  }

  finish(): MembersUpdate {
    const { added, endpoints, isListed, listed, placed, previous, starts, weights } = this;
    const gone = this.left.filter((number) => isListed[number] === 0);
    const isSorted = added.length === 0 && gone.length === 0 && placed.size === 0;
    const sorted = isSorted ? previous.sorted : this.sort(gone);
    const isSame =
      this.isSame &&
      isSorted &&
      areEqual(weights, previous.weights) &&
      areEqual(listed, previous.listed);
    const members = isSame ? previous : new Members(endpoints, weights, sorted, listed, starts);
    return { members, placed };
  }

  /** Takes out what is not listed any more, and inserts what is new or has another key. */
  private sort(gone: readonly number[]): readonly number[] {
    const { endpoints, isListed, order, placed } = this;
    const kept = this.previous.sorted.filter(
      (number) => isListed[number] === 1 && !placed.has(number),
    );
    for (const number of gone) endpoints[number] = undefined;
    const moved = Array.from(placed, (number) => ({ number, place: order.placeAt(number) }));
    const added = this.added.map((item) => ({ item, place: order.placeOf(item.endpoint) }));
    const inserted = [...moved, ...added].sort((a, b) => comparePlaces(a.place, b.place));
    const sorted: number[] = [];
    let start = 0;
    for (const each of inserted) {
      const end = order.findEnd(kept, start, each.place);
      for (let i = start; i < end; i++) sorted.push(kept[i] ?? 0);
      start = end;
      if ('number' in each) sorted.push(each.number);
      else this.insert(each.item, each.place, [sorted.at(-1), kept[end]], sorted);
    }
    for (let i = start; i < kept.length; i++) sorted.push(kept[i] ?? 0);
    return sorted;
  }

  /** @param neighbours The members around it, one of which may have the same addresses. */
  private insert(
    { endpoint, weight, position }: Fresh,
    place: Place,
    neighbours: readonly (number | undefined)[],
    sorted: number[],
  ): void {
    const same = neighbours.find(
      (number) => number !== undefined && this.order.compare(number, place) === 0,
    );
    const number = same ?? this.takeNumber();
    this.listed[position] = number;
    this.weights[number] = weight + (same === undefined ? 0 : (this.weights[same] ?? 0));
    if (same !== undefined) return;
    this.endpoints[number] = endpoint;
    this.placed.add(number);
    sorted.push(number);
  }

  /** Returns a number that is not in use. */
  private takeNumber(): number {
    while (this.endpoints[this.free] !== undefined) this.free++;
    return this.free;
  }
}

/** Where an endpoint is in the order in which entries are assigned. */
interface Place {
  /** Its key on the ring, to be compared. */
  readonly sortKey: string;
  /** Its identity, so that those with the same key have the same order in every process. */
  readonly key: string;
}

/** The order of endpoints, of which each has a number. */
class RingOrder {
  constructor(
    private readonly endpoints: readonly (XdsEndpoint | undefined)[],
    private readonly usesHashKeys: boolean,
  ) {}

  keyOf(endpoint: XdsEndpoint): string {
    return ringKeyOf(endpoint, this.usesHashKeys);
  }

  placeOf(endpoint: XdsEndpoint): Place {
    return { sortKey: ringSortKey(this.keyOf(endpoint)), key: endpointKey(endpoint) };
  }

  placeAt(number: number): Place {
    const endpoint = this.endpoints[number];
    return endpoint === undefined ? { sortKey: '', key: '' } : this.placeOf(endpoint);
  }

  compare(number: number, place: Place): number {
    return comparePlaces(this.placeAt(number), place);
  }

  /** Returns the index after the last of sorted numbers, from a start on, that is before a place: soon found where it is near. */
  findEnd(numbers: readonly number[], start: number, place: Place): number {
    const isBefore = (index: number) => {
      const number = numbers[index];
      return number !== undefined && this.compare(number, place) < 0;
    };
    let low = start;
    let high = start;
    for (let step = 1; isBefore(high); step *= 2) {
      low = high + 1;
      high += step;
    }
    high = Math.min(high, numbers.length);
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (isBefore(middle)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function comparePlaces(a: Place, b: Place): number {
  return compareTexts(a.sortKey, b.sortKey) || compareTexts(a.key, b.key);
}

function compareTexts(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** Returns whether lists of numbers are equal. */
export function areEqual(a: ArrayLike<number>, b: ArrayLike<number>): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
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
