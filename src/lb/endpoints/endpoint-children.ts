import type { ChannelOptions } from '../../grpc-js';
import type { XdsEndpoint } from '../../resources/endpoints/endpoints';
import { inSteps, type Steps } from '../../util/steps';
import type { LbHost } from '../lb-policy';
import { destroyInSteps, OPERATIONS_OF_A_CONNECTION } from '../tree/lb-batch';
import { EndpointIndex } from './endpoint-index';
import { EndpointLeaf, type LeafListener } from './endpoint-leaf';
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
    this.index = new EndpointIndex(
      (endpoint) => this.createLeaf(endpoint),
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
   * Creates leaves, in steps. An endpoint listed twice gets one leaf. `removeUnlisted` must follow before the next update.
   *
   * @returns The new leaves, still idle.
   */
  *update(endpoints: EndpointSet, channelOptions: ChannelOptions): Steps<readonly EndpointLeaf[]> {
    const isOther = channelOptions !== this.channelOptions && this.size > 0;
    this.channelOptions = channelOptions;
    // The endpoints of children are those of other policies.
    const { added, removed } = yield* this.index.update({ ...endpoints, children: undefined });
    for (const leaf of removed) this.unlisted.add(leaf);
    if (isOther) {
      yield* inSteps(this.index.values(), (leaf) => {
        leaf.update(leaf.endpoint, channelOptions);
      });
    }
    return added;
  }

  /** Destroys the leaves that the last update does not list, in steps. */
  *removeUnlisted(): Steps<void> {
    const remove = (leaf: EndpointLeaf) => {
      leaf.destroy();
      this.unlisted.delete(leaf);
      this.listener.onRemoved(leaf);
    };
    yield* inSteps(this.unlisted, remove, () => OPERATIONS_OF_A_CONNECTION);
  }

  /** Destroys all leaves. The listener is not called any more. */
  destroy(): void {
    this.isDestroyed = true;
    const leaves = [...this.index.values(), ...this.unlisted];
    destroyInSteps(this.host.environment, leaves, OPERATIONS_OF_A_CONNECTION);
    this.index.clear();
  }

  private createLeaf(endpoint: XdsEndpoint): EndpointLeaf {
    const { channelOptions, host, onChanged } = this;
    const isReleased = (): boolean => this.isDestroyed || this.unlisted.has(leaf);
    const leaf: EndpointLeaf = new EndpointLeaf({
      host,
      endpoint,
      channelOptions,
      onChanged,
      isReleased,
    });
    return leaf;
  }

  private readonly onChanged: LeafListener = (leaf, previous) => {
    if (!this.isDestroyed) this.listener.onChanged(leaf, previous);
  };
}
