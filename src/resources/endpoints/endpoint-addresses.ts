import type { Violations } from '../../util/violations';
import type { SocketAddress } from './endpoints';
import type { ParsedEndpoints } from './endpoint-list-parser';

/** Addresses, each once. */
class AddressSet {
  private readonly hosts = new Map<number, Set<string>>();

  has({ host, port }: SocketAddress): boolean {
    return this.hosts.get(port)?.has(host) === true;
  }

  /** @returns false if the address is in the set already. */
  add({ host, port }: SocketAddress): boolean {
    const hosts = this.hosts.get(port);
    if (hosts === undefined) this.hosts.set(port, new Set([host]));
    else if (hosts.has(host)) return false;
    else hosts.add(host);
    return true;
  }
}

/** The lists of endpoints of a resource; `undefined` for one whose endpoints are not used. */
type EndpointLists = readonly (ParsedEndpoints | undefined)[];

/**
 * Adds a violation for each address that the endpoints of a resource have again.
 * @param violationsOf Returns the place of a list.
 */
export function checkAddresses(
  lists: EndpointLists,
  violationsOf: (list: number) => Violations,
): void {
  if (!mayRepeat(lists)) return;
  const known = new AddressSet();
  for (const [position, list] of lists.entries()) {
    for (const [i, slot] of list?.slots.entries() ?? []) {
      if (typeof slot === 'string') continue;
      for (const address of slot.addresses) {
        if (known.add(address)) continue;
        const { host, port } = address;
        violationsOf(position).index(i).add(`duplicate address ${host} with port ${port}`);
      }
    }
  }
}

/** Whether an address occurs twice. Those of endpoints that are kept from the previous version differ from each other. */
function mayRepeat(lists: EndpointLists): boolean {
  const decoded = new AddressSet();
  let count = 0;
  let kept = 0;
  for (const list of lists) {
    if (list === undefined) continue;
    for (const { addresses } of list.decoded) {
      for (const address of addresses) if (!decoded.add(address)) return true;
      count += addresses.length;
    }
    kept += list.endpoints.length - list.decoded.length;
  }
  if (count === 0 || kept === 0) return false;
  // This finds each decoded address once, and once more for each kept endpoint with the same address.
  let times = 0;
  for (const list of lists) {
    if (list === undefined) continue;
    for (const { addresses } of list.endpoints) {
      for (const address of addresses) if (decoded.has(address)) times++;
    }
  }
  return times > count;
}
