import type { ChannelOptions } from '../../grpc-js';
import type { XdsEndpoint } from '../../resources/endpoints/endpoints';
import { EndpointIndex } from './endpoint-index';
import { destroyLeaves, EndpointLeaf, type LeafOwner } from './endpoint-leaf';
import type { EndpointSet } from './endpoint-set';

/** The policy of the leaves. */
export interface EndpointOwner extends LeafOwner {
  /** The leaf was removed and destroyed. */
  onLeafRemoved(leaf: EndpointLeaf): void;
}

/**
 * The leaves of a policy that balances among endpoints (gRFC A61). Across updates, a leaf stays with its set of addresses.
 */
export class EndpointChildren extends EndpointIndex<EndpointLeaf> {
  /** Leaves that are not listed any more, and about to be destroyed. */
  private readonly unlisted = new Set<EndpointLeaf>();
  private channelOptions: ChannelOptions = {};

  constructor(private readonly owner: EndpointOwner) {
    super();
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
    const { added, removed } = this.replace({ ...endpoints, children: undefined });
    for (const leaf of removed) {
      leaf.isObsolete = true;
      this.unlisted.add(leaf);
    }
    if (isOther) for (const leaf of this.values()) leaf.update(leaf.endpoint, channelOptions);
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
      this.owner.onLeafRemoved(leaf);
    }
    return false;
  }

  /** Destroys all leaves. The owner has to ignore what they report until then. */
  destroy(): void {
    destroyLeaves(this.owner.host.environment, [...this.values(), ...this.unlisted]);
    this.removeAll();
  }

  protected create(endpoint: XdsEndpoint): EndpointLeaf {
    return new EndpointLeaf(this.owner, endpoint, this.channelOptions);
  }

  protected override renew(leaf: EndpointLeaf, endpoint: XdsEndpoint): void {
    leaf.update(endpoint, this.channelOptions);
  }
}
