import type { ConnectivityState, Subchannel } from '../../grpc-js';
import { isReferenced } from '../../grpc-js/host-internals';

/** The number of subchannels from which on those of addresses that are not used any more are looked for. */
const MIN_PRUNED = 64;

/**
 * The subchannels that the child of a policy has created, by address. They are not kept alive: few of them are ever looked
 * up, and a child releases most of those of a long list.
 */
export class ChildSubchannels {
  private readonly byAddress = new Map<string, WeakRef<Subchannel>>();
  private pruneAt = MIN_PRUNED;

  /** The number of addresses, some of which may not be used any more. */
  get size(): number {
    return this.byAddress.size;
  }

  add(subchannel: Subchannel): void {
    if (this.size >= this.pruneAt) this.prune();
    this.byAddress.set(subchannel.getAddress(), new WeakRef(subchannel));
  }

  /** Returns the state of the connection to an address; `undefined` if the child has no subchannel to it. */
  stateOf(address: string): ConnectivityState | undefined {
    const subchannel = this.byAddress.get(address)?.deref();
    if (subchannel === undefined || !isReferenced(subchannel)) return undefined;
    return subchannel.getConnectivityState();
  }

  /** In proportion to the number of subchannels that were added since the last time. */
  private prune(): void {
    for (const [address, reference] of this.byAddress) {
      const subchannel = reference.deref();
      if (subchannel === undefined || !isReferenced(subchannel)) this.byAddress.delete(address);
    }
    this.pruneAt = Math.max(MIN_PRUNED, 2 * this.size);
  }
}
