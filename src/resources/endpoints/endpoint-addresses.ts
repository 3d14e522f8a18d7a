import type { Violations } from '../../util/violations';
import type { SocketAddress } from './endpoints';
import type { ParsedEndpoints, Slot } from './locality-endpoints-parser';

/** Addresses, each once. */
class AddressSet {
  private readonly hosts = new Map<number, Set<string>>();

  get isEmpty(): boolean {
    return this.hosts.size === 0;
  }

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

/** Endpoints, and where they are in the resource. */
export interface PlacedEndpoints {
  readonly parsed: Pick<ParsedEndpoints, 'slots' | 'endpoints' | 'decoded'>;
  readonly violations: Violations;
}

/** Adds a violation for each address that the endpoints of a resource have again. */
export function checkAddresses(lists: readonly PlacedEndpoints[]): void {
  if (!mayRepeat(lists)) return;
  const known = new AddressSet();
  for (const { parsed, violations } of lists) {
    for (const [i, slot] of parsed.slots.entries()) {
      for (const address of addressesOf(slot)) {
        if (known.add(address)) continue;
        const { host, port } = address;
        violations.index(i).add(`duplicate address ${host} with port ${port}`);
      }
    }
  }
}

/** Whether an address occurs twice. Those of endpoints that are kept from the previous version differ from each other. */
function mayRepeat(lists: readonly PlacedEndpoints[]): boolean {
  const decoded = new AddressSet();
  for (const { parsed } of lists) {
    for (const { addresses } of parsed.decoded) {
      for (const address of addresses) if (!decoded.add(address)) return true;
    }
  }
  if (decoded.isEmpty) return false;
  const found = new AddressSet();
  for (const { parsed } of lists) {
    for (const { addresses } of parsed.endpoints) {
      for (const address of addresses) {
        if (decoded.has(address) && !found.add(address)) return true;
      }
    }
  }
  return false;
}

const NONE: readonly SocketAddress[] = [];

function addressesOf(slot: Slot): readonly SocketAddress[] {
  return typeof slot === 'object' ? slot.addresses : NONE;
}
