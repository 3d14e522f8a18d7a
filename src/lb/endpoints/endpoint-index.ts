import type { Locality, LocalityEndpoints, XdsEndpoint } from '../../resources/endpoints/endpoints';
import { endpointKey, formatAddress } from './endpoint-key';
import { allEndpoints, emptyEndpointSet, type EndpointSet } from './endpoint-set';

/** An endpoint and the locality that lists it. */
export interface ListedEndpoint {
  readonly endpoint: XdsEndpoint;
  readonly locality: Locality;
}

/** How a set of endpoints differs from the one before: the endpoint objects, each as often as it is listed. */
export interface EndpointChanges {
  readonly added: readonly ListedEndpoint[];
  readonly removed: readonly ListedEndpoint[];
  /** Those that are in another locality than before. */
  readonly moved: readonly ListedEndpoint[];
}

/** An endpoint that may have been removed. */
interface Candidate extends ListedEndpoint {
  /** The same object, listed once more. */
  readonly other: Candidate | undefined;
}

/** What differs between localities, before it is known which endpoints have only changed places. */
interface Difference {
  readonly gone: Map<XdsEndpoint, Candidate>;
  readonly fresh: ListedEndpoint[];
}

type LocalityList = Pick<LocalityEndpoints, 'locality' | 'endpoints'>;

/** In the place of a locality that only one of the sets has. */
const unlisted: LocalityList = { locality: { region: '', zone: '', subZone: '' }, endpoints: [] };

/**
 * Compares two sets and their children. Sets share the objects that did not change, so the work is in proportion to the
 * endpoints of the localities that changed, and very little for those before the first change in the list and behind the last
 * one.
 */
export function endpointChanges(before: EndpointSet, after: EndpointSet): EndpointChanges {
  const old = new Set<LocalityEndpoints>();
  collectLocalities(before, old);
  const all = new Set<LocalityEndpoints>();
  collectLocalities(after, all);
  const changed: LocalityEndpoints[] = [];
  for (const locality of all) if (!old.delete(locality)) changed.push(locality);
  const previous = new Map<Locality, LocalityEndpoints>();
  for (const each of old) previous.set(each.locality, each);
  const difference: Difference = { gone: new Map(), fresh: [] };
  for (const next of changed) {
    const known = previous.get(next.locality);
    previous.delete(next.locality);
    if (known !== undefined) old.delete(known);
    compareLists(known ?? unlisted, next, difference);
  }
  for (const known of old) compareLists(known, unlisted, difference);
  return separateMoved(difference);
}

function separateMoved({ gone, fresh }: Difference): EndpointChanges {
  const added: ListedEndpoint[] = [];
  const moved: ListedEndpoint[] = [];
  const removed: ListedEndpoint[] = [];
  for (const listed of fresh) {
    const { endpoint, locality } = listed;
    const known = gone.get(endpoint);
    if (known === undefined) {
      added.push(listed);
      continue;
    }
    if (known.other === undefined) gone.delete(endpoint);
    else gone.set(endpoint, known.other);
    if (!isSameLocality(known.locality, locality)) moved.push(listed);
  }
  for (const candidate of gone.values()) {
    let each: Candidate | undefined = candidate;
    for (; each !== undefined; each = each.other) removed.push(each);
  }
  return { added, removed, moved };
}

/** Skips the equal start and end of both lists, which in most updates are most of them. */
function compareLists(
  { locality: from, endpoints: old }: LocalityList,
  { locality: to, endpoints: next }: LocalityList,
  { gone, fresh }: Difference,
): void {
  const shorter = Math.min(old.length, next.length);
  let start = 0;
  while (start < shorter && old[start] === next[start]) start++;
  let [oldEnd, nextEnd] = [old.length, next.length];
  while (oldEnd > start && nextEnd > start && old[oldEnd - 1] === next[nextEnd - 1]) {
    oldEnd--;
    nextEnd--;
  }
  const left = new Set<XdsEndpoint>();
  const repeated: XdsEndpoint[] = [];
  for (const endpoint of old.slice(start, oldEnd)) {
    if (left.size === left.add(endpoint).size) repeated.push(endpoint);
  }
  for (const endpoint of next.slice(start, nextEnd)) {
    // Most have only changed places.
    if (!left.delete(endpoint)) fresh.push({ endpoint, locality: to });
  }
  for (const endpoint of [...left, ...repeated]) {
    gone.set(endpoint, { endpoint, locality: from, other: gone.get(endpoint) });
  }
}

function collectLocalities(
  { localities, children }: EndpointSet,
  into: Set<LocalityEndpoints>,
): void {
  for (const locality of localities) into.add(locality);
  if (children === undefined) return;
  for (const child of children.values()) collectLocalities(child, into);
}

function isSameLocality(a: Locality, b: Locality): boolean {
  return a === b || (a.region === b.region && a.zone === b.zone && a.subZone === b.subZone);
}

interface Entry<Item> {
  readonly item: Item;
  /** How often the set lists the endpoint. */
  listings: number;
}

/**
 * What a policy keeps of each endpoint as long as its set of addresses is listed (gRFC A61): one item, however often it is
 * listed, and whichever objects describe it.
 */
export abstract class EndpointIndex<Item> {
  private set: EndpointSet = emptyEndpointSet;
  private readonly byKey = new Map<string, Entry<Item>>();

  get size(): number {
    return this.byKey.size;
  }

  /** Returns the item of the endpoint with these addresses. */
  find(endpoint: XdsEndpoint): Item | undefined {
    return this.findKey(endpointKey(endpoint));
  }

  /** Returns the item of an endpoint. @param key See `endpointKey`. */
  findKey(key: string): Item | undefined {
    return this.byKey.get(key)?.item;
  }

  /** All items, in no particular order. */
  *values(): IterableIterator<Item> {
    for (const { item } of this.byKey.values()) yield item;
  }

  /** The items in the order to use the endpoints in; of an endpoint that is listed twice, in the first place. */
  *inOrder(): IterableIterator<Item> {
    const seen = new Set<Item>();
    for (const endpoint of allEndpoints(this.set)) {
      const item = this.find(endpoint);
      if (item === undefined || seen.has(item)) continue;
      seen.add(item);
      yield item;
    }
  }

  /** Creates the item of an endpoint. @param key The identity of the endpoint. */
  protected abstract create(endpoint: XdsEndpoint, key: string): Item;

  /** Handles that an item is listed by another object. Default: nothing to do. */
  protected renew(_item: Item, _endpoint: XdsEndpoint): void {}

  /**
   * Begins to apply a set of endpoints. The caller lists what is added, then unlists what is removed: the addresses of an
   * endpoint that only has another object now are listed throughout.
   */
  protected begin(set: EndpointSet): EndpointChanges {
    const changes = endpointChanges(this.set, set);
    this.set = set;
    return changes;
  }

  /** Removes everything. */
  protected removeAll(): void {
    this.set = emptyEndpointSet;
    this.byKey.clear();
  }

  /** Lists an endpoint once more. @returns Its item if it is new. */
  protected list(endpoint: XdsEndpoint): Item | undefined {
    const key = endpointKey(endpoint);
    const known = this.byKey.get(key);
    if (known !== undefined) {
      known.listings++;
      this.renew(known.item, endpoint);
      return undefined;
    }
    const item = this.create(endpoint, key);
    this.byKey.set(key, { item, listings: 1 });
    return item;
  }

  /** Lists an endpoint once less. @returns Its item if that was the last time. */
  protected unlist(endpoint: XdsEndpoint): Item | undefined {
    const key = endpointKey(endpoint);
    const known = this.byKey.get(key);
    if (known === undefined || --known.listings > 0) return undefined;
    this.byKey.delete(key);
    return known.item;
  }
}

/** Finds the endpoint of an address and its locality, among all endpoints of a set and its children. */
export class AddressIndex {
  private set: EndpointSet = emptyEndpointSet;
  private readonly byAddress = new Map<string, ListedEndpoint>();

  /** @param address Such as `10.0.0.1:80`. */
  get(address: string): ListedEndpoint | undefined {
    return this.byAddress.get(address);
  }

  /** Returns the endpoint of an address in a set, which is applied first if another one was applied last. */
  findIn(set: EndpointSet, address: string): XdsEndpoint | undefined {
    if (set !== this.set) this.update(set);
    return this.get(address)?.endpoint;
  }

  /** Applies a set of endpoints. @returns Whether an address that is still listed is in another locality. */
  update(set: EndpointSet): boolean {
    const { added, moved, removed } = endpointChanges(this.set, set);
    this.set = set;
    let hasMoved = false;
    for (const listed of [...added, ...moved]) {
      for (const address of listed.endpoint.addresses.map(formatAddress)) {
        const before = this.byAddress.get(address);
        hasMoved ||= before !== undefined && !isSameLocality(before.locality, listed.locality);
        this.byAddress.set(address, listed);
      }
    }
    // Afterwards: an address may be that of another endpoint now.
    for (const { endpoint } of removed) {
      for (const address of endpoint.addresses.map(formatAddress)) {
        if (this.byAddress.get(address)?.endpoint === endpoint) this.byAddress.delete(address);
      }
    }
    return hasMoved;
  }
}
