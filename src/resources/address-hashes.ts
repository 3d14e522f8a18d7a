import { HashBag } from '../util/hash-bag';
import { hashText } from '../util/text-hash';
import type { EndpointsResource, SocketAddress, XdsEndpoint } from './endpoints';

const hashesByResource = new WeakMap<EndpointsResource, HashBag>();

/** A hash of an address. */
export function hashAddress({ host, port }: SocketAddress): number {
  return hashText(host, port);
}

/** Keeps the hashes of all addresses of an assignment, for the next one to be compared with. */
export function rememberAddressHashes(resource: EndpointsResource, hashes: HashBag): void {
  hashesByResource.set(resource, hashes);
}

/** Endpoints that came and went between two versions of an assignment. */
export interface EndpointsDifference {
  readonly added: readonly XdsEndpoint[];
  readonly removed: readonly XdsEndpoint[];
}

/**
 * What becomes of the hashes of an assignment with its next version: decided first, and carried out once nothing has been
 * found wrong with it.
 */
export class AddressHashChange {
  private constructor(
    private readonly previous: EndpointsResource,
    private readonly hashes: HashBag,
    private readonly added: readonly number[],
    private readonly removed: readonly number[],
  ) {}

  /** @returns `undefined` if an address may be there twice afterwards, or if it is not known what was there. */
  static check(
    previous: EndpointsResource,
    { added, removed }: EndpointsDifference,
  ): AddressHashChange | undefined {
    const hashes = hashesByResource.get(previous);
    if (hashes === undefined) return undefined;
    const removedHashes = removed.flatMap(hashesOf);
    const addedHashes = added.flatMap(hashesOf);
    const gone = new HashBag();
    for (const hash of removedHashes) gone.add(hash);
    const come = new Set<number>();
    for (const hash of addedHashes) {
      if (come.has(hash) || hashes.countOf(hash) > gone.countOf(hash)) return undefined;
      come.add(hash);
    }
    return new AddressHashChange(previous, hashes, addedHashes, removedHashes);
  }

  /** Makes the hashes those of the next version. The previous one has none any more. */
  apply(next: EndpointsResource): void {
    const { hashes, previous } = this;
    hashesByResource.delete(previous);
    for (const hash of this.removed) hashes.delete(hash);
    for (const hash of this.added) hashes.add(hash);
    hashesByResource.set(next, hashes);
  }
}

function hashesOf({ addresses }: XdsEndpoint): readonly number[] {
  return addresses.map(hashAddress);
}
