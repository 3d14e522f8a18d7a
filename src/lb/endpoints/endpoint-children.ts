import type { ChannelOptions } from '../../grpc-js';
import type { XdsEndpoint } from '../../resources/endpoints/endpoints';
import { EndpointIndex, type EndpointChanges } from './endpoint-index';
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
  /** Leaves that are about to be destroyed. */
  private readonly removed = new Set<EndpointLeaf>();
  private channelOptions: ChannelOptions = {};

  constructor(private readonly owner: EndpointOwner) {
    super();
  }

  /** Applies a set of endpoints at once. An endpoint listed twice gets one leaf, which is idle at first. */
  update(endpoints: EndpointSet, channelOptions: ChannelOptions): void {
    const { added, removed } = this.beginUpdate(endpoints, channelOptions);
    for (const { endpoint } of added) this.add(endpoint);
    this.remove(removed);
    this.releaseRemoved();
  }

  /** Begins to apply a set of endpoints, for an owner that adds what is added, then removes what is removed. */
  beginUpdate(endpoints: EndpointSet, channelOptions: ChannelOptions): EndpointChanges {
    const isOther = channelOptions !== this.channelOptions && this.size > 0;
    this.channelOptions = channelOptions;
    if (isOther) for (const leaf of this.values()) leaf.update(leaf.endpoint, channelOptions);
    // The endpoints of children are those of other policies.
    return this.begin({ ...endpoints, children: undefined });
  }

  /** @returns The new leaf, still idle; `undefined` if the endpoint has one. */
  add(endpoint: XdsEndpoint): EndpointLeaf | undefined {
    return this.list(endpoint);
  }

  /** Removes the leaves of endpoints that are not listed any more: they do not start to connect, and are released next. */
  remove(removed: EndpointChanges['removed']): void {
    for (const { endpoint } of removed) {
      const leaf = this.unlist(endpoint);
      if (leaf === undefined) continue;
      leaf.isObsolete = true;
      this.removed.add(leaf);
    }
  }

  /**
   * Destroys removed leaves.
   *
   * @param atMost How many. Default: all.
   * @returns Whether some are left.
   */
  releaseRemoved(atMost = Infinity): boolean {
    let count = 0;
    for (const leaf of this.removed) {
      if (count++ === atMost) return true;
      leaf.destroy();
      this.removed.delete(leaf);
      this.owner.onLeafRemoved(leaf);
    }
    return false;
  }

  /** Destroys all leaves. The owner has to ignore what they report until then. */
  destroy(): void {
    destroyLeaves(this.owner.host.environment, [...this.values(), ...this.removed]);
    this.removeAll();
  }

  protected create(endpoint: XdsEndpoint): EndpointLeaf {
    return new EndpointLeaf(this.owner, endpoint, this.channelOptions);
  }

  protected override renew(leaf: EndpointLeaf, endpoint: XdsEndpoint): void {
    leaf.update(endpoint, this.channelOptions);
  }
}
