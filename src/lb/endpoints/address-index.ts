import type { Locality, LocalityEndpoints, XdsEndpoint } from '../../resources/endpoints/endpoints';
import { formatAddress } from './endpoint-key';
import type { EndpointSet } from './endpoint-set';

/** Returns an empty index of the endpoints of addresses. */
export function createHostIndex(): AddressIndex<XdsEndpoint> {
  return new AddressIndex(
    (endpoint) => endpoint,
    (a, b) => a === b,
  );
}

/** Returns an empty index of the localities of addresses. */
export function createLocalityIndex(): AddressIndex<Locality> {
  return new AddressIndex(
    (_endpoint, locality) => locality,
    (a, b) => a === b || (a.region === b.region && a.zone === b.zone && a.subZone === b.subZone),
  );
}

/**
 * Finds the endpoint or the locality of an address, among the endpoints of all priorities of a cluster. An update takes
 * time in proportion to the endpoints of the localities that changed, and formats only the addresses of endpoints that
 * were added, removed or moved.
 */
export class AddressIndex<Value> {
  private readonly byAddress = new Map<string, Value>();
  private localities: ReadonlySet<LocalityEndpoints> = new Set();

  constructor(
    private readonly valueOf: (endpoint: XdsEndpoint, locality: Locality) => Value,
    private readonly isSame: (a: Value, b: Value) => boolean,
  ) {}

  /** @param address Such as `10.0.0.1:80`. */
  get(address: string): Value | undefined {
    return this.byAddress.get(address);
  }

  /** @returns Whether the value of an address that is still listed changed. */
  update(set: EndpointSet): boolean {
    const next = new Set<LocalityEndpoints>();
    collectLocalities(set, next);
    const removed = new Map<XdsEndpoint, Value>();
    for (const { endpoints, locality } of without(this.localities, next)) {
      for (const endpoint of endpoints) removed.set(endpoint, this.valueOf(endpoint, locality));
    }
    const added = new Map<XdsEndpoint, Value>();
    for (const { endpoints, locality } of without(next, this.localities)) {
      for (const endpoint of endpoints) {
        const before = removed.get(endpoint);
        const value = this.valueOf(endpoint, locality);
        if (before !== undefined && this.isSame(before, value)) removed.delete(endpoint);
        else added.set(endpoint, value);
      }
    }
    this.localities = next;
    return this.replace(removed, added);
  }

  private replace(
    removed: ReadonlyMap<XdsEndpoint, Value>,
    added: ReadonlyMap<XdsEndpoint, Value>,
  ): boolean {
    // In this order: an address may have moved from one endpoint to another.
    const previous = new Map<string, Value>();
    for (const [{ addresses }, value] of removed) {
      for (const address of addresses.map(formatAddress)) {
        previous.set(address, value);
        this.byAddress.delete(address);
      }
    }
    let hasChanged = false;
    for (const [{ addresses }, value] of added) {
      for (const address of addresses.map(formatAddress)) {
        const before = previous.get(address);
        hasChanged ||= before !== undefined && !this.isSame(before, value);
        this.byAddress.set(address, value);
      }
    }
    return hasChanged;
  }
}

function collectLocalities(set: EndpointSet, into: Set<LocalityEndpoints>): void {
  for (const locality of set.localities) into.add(locality);
  for (const child of set.children?.values() ?? []) collectLocalities(child, into);
}

function* without<T>(all: ReadonlySet<T>, others: ReadonlySet<T>): IterableIterator<T> {
  for (const item of all) if (!others.has(item)) yield item;
}
