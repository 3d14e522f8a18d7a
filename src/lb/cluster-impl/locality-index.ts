import type { LocalityEndpoints, XdsEndpoint, Locality } from '../../resources/endpoints/endpoints';
import type { EndpointSet } from '../endpoint-set';
import { collectLocalities, formatAddress } from '../override-host/host-index';

/**
 * The localities of a cluster, whatever their priority, by each address in them. An update costs what the
 * localities that changed have in endpoints, and builds text only for endpoints that came, went or moved.
 */
export class LocalityIndex {
  private readonly byAddress = new Map<string, Locality>();
  private localities: ReadonlySet<LocalityEndpoints> = new Set();

  /** Where an address is, such as `10.0.0.1:80`. */
  get(address: string): Locality | undefined {
    return this.byAddress.get(address);
  }

  /**
   * Makes the localities those of the set.
   * @returns whether an address has moved from one locality to another.
   */
  update(set: EndpointSet): boolean {
    const next = new Set<LocalityEndpoints>();
    collectLocalities(set, next);
    const gone = new Map<XdsEndpoint, Locality>();
    for (const { locality, endpoints } of without(this.localities, next)) {
      for (const endpoint of endpoints) gone.set(endpoint, locality);
    }
    const added = new Map<XdsEndpoint, Locality>();
    for (const { locality, endpoints } of without(next, this.localities)) {
      for (const endpoint of endpoints) {
        const before = gone.get(endpoint);
        if (before !== undefined && sameLocality(before, locality)) gone.delete(endpoint);
        else added.set(endpoint, locality);
      }
    }
    this.localities = next;
    return this.replace(gone, added);
  }

  private replace(
    gone: ReadonlyMap<XdsEndpoint, Locality>,
    added: ReadonlyMap<XdsEndpoint, Locality>,
  ): boolean {
    const removed = new Map<string, Locality>();
    for (const [{ addresses }, locality] of gone) {
      for (const address of addresses.map(formatAddress)) {
        removed.set(address, locality);
        this.byAddress.delete(address);
      }
    }
    let hasMoved = false;
    for (const [{ addresses }, locality] of added) {
      for (const address of addresses.map(formatAddress)) {
        const before = removed.get(address);
        hasMoved ||= before !== undefined && !sameLocality(before, locality);
        this.byAddress.set(address, locality);
      }
    }
    return hasMoved;
  }
}

function* without<T>(all: ReadonlySet<T>, others: ReadonlySet<T>): IterableIterator<T> {
  for (const item of all) if (!others.has(item)) yield item;
}

function sameLocality(a: Locality, b: Locality): boolean {
  return a === b || (a.region === b.region && a.zone === b.zone && a.subZone === b.subZone);
}
