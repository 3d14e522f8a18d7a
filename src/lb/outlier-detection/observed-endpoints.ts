import type { SubchannelAddress } from '../../grpc-js';
import type { LocalityEndpoints, XdsEndpoint } from '../../resources/endpoints/endpoints';
import { STEP_SIZE, type Steps } from '../../util/steps';
import { addressKey, endpointKey } from '../endpoints/endpoint-key';
import { emptyEndpointSet, type EndpointSet } from '../endpoints/endpoint-set';
import { ObservedEndpoint } from './observed-endpoint';

/** The observed endpoints of a policy by their sets of addresses (gRFC A61). */
export class ObservedEndpoints {
  private current: EndpointSet = emptyEndpointSet;
  private readonly byKey = new Map<string, ObservedEndpoint>();
  /** The endpoints with several addresses, by each of them. */
  private readonly byAddress = new Map<string, ObservedEndpoint>();
  private readonly dueForSweep = new Set<ObservedEndpoint>();

  get size(): number {
    return this.byKey.size;
  }

  /**
   * The endpoints that a sweep may change, in no particular order: those with calls since the last one, the ejected ones, and
   * those whose ejection is not forgiven yet. A sweep does not take longer with more endpoints that have no calls.
   */
  get due(): ReadonlySet<ObservedEndpoint> {
    return this.dueForSweep;
  }

  /**
   * Applies a set of endpoints, in steps. Endpoints that are still listed keep their state. Another update must not start
   * before the end of this one.
   */
  *update(set: EndpointSet): Steps<void> {
    const { added, removed } = yield* endpointChanges(this.current, set);
    this.current = set;
    let operations = 0;
    for (const endpoint of added) {
      if (++operations % STEP_SIZE === 0) yield;
      this.list(endpoint);
    }
    for (const endpoint of removed) {
      if (++operations % STEP_SIZE === 0) yield;
      this.unlist(endpoint);
    }
  }

  /** Removes all endpoints. An update in progress must not be continued. */
  clear(): void {
    this.current = emptyEndpointSet;
    for (const endpoint of this.byKey.values()) endpoint.release();
    this.byKey.clear();
    this.byAddress.clear();
  }

  /** Returns the endpoint with the address. */
  find(address: SubchannelAddress): ObservedEndpoint | undefined {
    if (!('host' in address)) return undefined;
    const key = addressKey(address);
    return this.byKey.get(key) ?? this.byAddress.get(key);
  }

  private list(listed: XdsEndpoint): void {
    const key = endpointKey(listed);
    const known = this.byKey.get(key);
    if (known !== undefined) {
      known.listings++;
      return;
    }
    const endpoint = new ObservedEndpoint(key, this.dueForSweep);
    this.byKey.set(key, endpoint);
    const { addresses } = listed;
    if (addresses.length === 1) return;
    for (const address of addresses) this.byAddress.set(addressKey(address), endpoint);
  }

  private unlist(endpoint: XdsEndpoint): void {
    const key = endpointKey(endpoint);
    const known = this.byKey.get(key);
    if (known === undefined || --known.listings > 0) return;
    this.byKey.delete(key);
    known.release();
    for (const address of endpoint.addresses) {
      const addressed = addressKey(address);
      if (this.byAddress.get(addressed) === known) this.byAddress.delete(addressed);
    }
  }
}

/** The added and removed endpoint objects, each as often as it is listed. */
export interface EndpointChanges {
  readonly added: readonly XdsEndpoint[];
  readonly removed: readonly XdsEndpoint[];
}

/** Compares two sets and their children, in steps. Only localities that changed are compared in detail. */
export function* endpointChanges(before: EndpointSet, after: EndpointSet): Steps<EndpointChanges> {
  const old = new Set(localitiesOf(before));
  const fresh = new Set<LocalityEndpoints>();
  const stayed = new Set<LocalityEndpoints>();
  for (const locality of localitiesOf(after)) {
    if (old.delete(locality)) stayed.add(locality);
    else if (!stayed.has(locality)) fresh.add(locality);
  }
  return yield* compare(yield* endpointsOf(old), yield* endpointsOf(fresh));
}

/** Skips the equal start and end of both lists, which in most updates are most of them. */
function* compare(
  before: readonly XdsEndpoint[],
  after: readonly XdsEndpoint[],
): Steps<EndpointChanges> {
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && before[start] === after[start]) start++;
  let beforeEnd = before.length;
  let afterEnd = after.length;
  while (beforeEnd > start && afterEnd > start && before[beforeEnd - 1] === after[afterEnd - 1]) {
    beforeEnd--;
    afterEnd--;
  }
  const unlisted = new Map<XdsEndpoint, number>();
  let count = 0;
  for (const endpoint of before.slice(start, beforeEnd)) {
    if (++count % STEP_SIZE === 0) yield;
    unlisted.set(endpoint, (unlisted.get(endpoint) ?? 0) + 1);
  }
  const added: XdsEndpoint[] = [];
  for (const endpoint of after.slice(start, afterEnd)) {
    if (++count % STEP_SIZE === 0) yield;
    const listings = unlisted.get(endpoint);
    if (listings === undefined) added.push(endpoint);
    else if (listings === 1) unlisted.delete(endpoint);
    else unlisted.set(endpoint, listings - 1);
  }
  return { added, removed: [...repeated(unlisted)] };
}

function* endpointsOf(localities: ReadonlySet<LocalityEndpoints>): Steps<readonly XdsEndpoint[]> {
  const list: XdsEndpoint[] = [];
  for (const { endpoints } of localities) {
    for (const endpoint of endpoints) {
      if (list.push(endpoint) % STEP_SIZE === 0) yield;
    }
  }
  return list;
}

function* localitiesOf({ localities, children }: EndpointSet): IterableIterator<LocalityEndpoints> {
  yield* localities;
  for (const child of children?.values() ?? []) yield* localitiesOf(child);
}

function* repeated(counts: ReadonlyMap<XdsEndpoint, number>): IterableIterator<XdsEndpoint> {
  for (const [endpoint, count] of counts) for (let i = 0; i < count; i++) yield endpoint;
}
