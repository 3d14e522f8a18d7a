import type { ChannelOptions } from '../../grpc-js';
import type { XdsEndpoint } from '../../resources/endpoints/endpoints';
import type { LbHost } from '../lb-policy';
import { EndpointIndex } from './endpoint-index';
import { destroyLeaves, EndpointLeaf, type LeafListener, type LeafOwner } from './endpoint-leaf';
import type { EndpointSet } from './endpoint-set';

/** Receives the changes of leaves. */
export interface EndpointChildrenListener {
  /** The state, the picker or the error of a leaf changed. */
  readonly onChanged: LeafListener;
  /** The leaf was removed and destroyed. */
  readonly onRemoved: (leaf: EndpointLeaf) => void;
}

/**
 * The leaves of a policy that balances among endpoints (gRFC A61). Across updates, a leaf stays with its set of addresses.
 */
export class EndpointChildren {
  private readonly index: EndpointIndex<EndpointLeaf>;
  /** Leaves that are not listed any more, and about to be destroyed. */
  private readonly unlisted = new Set<EndpointLeaf>();
  private isDestroyed = false;
  private channelOptions: ChannelOptions = {};

  constructor(
    private readonly host: LbHost,
    private readonly listener: EndpointChildrenListener,
  ) {
    const owner: LeafOwner = {
      host,
      onChanged: (leaf, previous) => {
        if (!this.isDestroyed) listener.onChanged(leaf, previous);
      },
      isReleased: (leaf) => this.isDestroyed || this.unlisted.has(leaf),
    };
    this.index = new EndpointIndex(
      (endpoint) => new EndpointLeaf(owner, endpoint, this.channelOptions),
      (leaf, endpoint) => leaf.update(endpoint, this.channelOptions),
    );
  }

  get size(): number {
    return this.index.size;
  }

  /** The leaves, in the order of the endpoints. */
  leaves(): IterableIterator<EndpointLeaf> {
    return this.index.inOrder();
  }

  /** Returns the leaf with the addresses of an endpoint. */
  find(endpoint: XdsEndpoint): EndpointLeaf | undefined {
    return this.index.find(endpoint);
  }

  /**
   * Creates leaves. An endpoint listed twice gets one leaf. `removeUnlisted` destroys those that are not listed any more.
   *
   * @returns The new leaves, still idle.
   */
  update(endpoints: EndpointSet, channelOptions: ChannelOptions): readonly EndpointLeaf[] {
    const isOther = channelOptions !== this.channelOptions && this.size > 0;
    this.channelOptions = channelOptions;
    // The endpoints of children are those of other policies.
    const { added, removed } = this.index.update({ ...endpoints, children: undefined });
    for (const leaf of removed) this.unlisted.add(leaf);
    if (isOther) for (const leaf of this.index.values()) leaf.update(leaf.endpoint, channelOptions);
    return added;
  }

  /**
   * Destroys the leaves that are not listed any more.
   *
   * @param atMost How many. Default: all.
   * @returns Whether some are left.
   */
  removeUnlisted(atMost = Infinity): boolean {
    let count = 0;
    for (const leaf of this.unlisted) {
      if (count++ === atMost) return true;
      leaf.destroy();
      this.unlisted.delete(leaf);
      this.listener.onRemoved(leaf);
    }
    return false;
  }

  /** Destroys all leaves. The listener is not called any more. */
  destroy(): void {
    this.isDestroyed = true;
    destroyLeaves(this.host.environment, [...this.index.values(), ...this.unlisted]);
    this.index.clear();
  }
}
