import type { ChannelOptions } from '../../grpc-js';
import type { XdsEndpoint } from '../../resources/endpoints/endpoints';
import { STEP_SIZE, type Steps } from '../../util/steps';
import type { LbHost } from '../lb-policy';
import { destroyInSteps } from '../tree/destroy-in-steps';
import { endpointKey } from './endpoint-key';
import { EndpointLeaf, type LeafListener } from './endpoint-leaf';
import type { EndpointSet } from './endpoint-set';

/** The changes by an update of the children. */
export interface EndpointChildrenChange {
  /** New leaves, still idle. */
  readonly added: readonly EndpointLeaf[];
  /** Whether the list of leaves, its order or any endpoint object changed. */
  readonly changed: boolean;
}

/** Receives the changes of leaves. */
export interface EndpointChildrenListener {
  /** The state, the picker or the error of a leaf changed. */
  readonly onChanged: LeafListener;
  /** The leaf was removed and destroyed. */
  readonly onRemoved: (leaf: EndpointLeaf) => void;
}

/** The number of leaves destroyed in a step, each of which may have a connection. */
const REMOVALS = 64;

interface Child {
  readonly leaf: EndpointLeaf;
  readonly key: string;
  /** The update that last listed it. */
  generation: number;
}

/** An update whose endpoints are being listed. */
interface Listing {
  readonly channelOptions: ChannelOptions;
  readonly optionsChanged: boolean;
  readonly previous: readonly Child[];
  readonly list: Child[];
  readonly added: EndpointLeaf[];
  /** Whether the list differs from the previous one so far. */
  changed: boolean;
}

/**
 * The leaves of a policy that balances among endpoints (gRFC A61). Across updates, a leaf stays with its set of
 * addresses. A known endpoint object costs one map lookup; the rest of the work is proportional to what was added or
 * removed.
 */
export class EndpointChildren {
  private list: readonly Child[] = [];
  private readonly byEndpoint = new Map<XdsEndpoint, Child>();
  private readonly byKey = new Map<string, Child>();
  /** The list before the last update, whose leaves are removed if they are in it no longer. */
  private previous: readonly Child[] = [];
  private generation = 0;
  /** The last update whose endpoints are all listed: leaves of earlier ones are about to be destroyed. */
  private listedGeneration = 0;
  private isDestroyed = false;
  private channelOptions: ChannelOptions | undefined;

  constructor(
    private readonly host: LbHost,
    private readonly listener: EndpointChildrenListener,
  ) {}

  get size(): number {
    return this.list.length;
  }

  /** The leaves, in the order of the endpoints. */
  *leaves(): IterableIterator<EndpointLeaf> {
    for (const { leaf } of this.list) yield leaf;
  }

  /** Returns the leaf of an endpoint of the last update; `undefined` if an earlier one has the same addresses. */
  find(endpoint: XdsEndpoint): EndpointLeaf | undefined {
    return this.byEndpoint.get(endpoint)?.leaf;
  }

  /**
   * Creates leaves, in steps. An endpoint listed twice gets one leaf. Until the end, the leaves are the previous ones.
   * `removeUnlisted` must follow before the next update.
   */
  *update(endpoints: EndpointSet, channelOptions: ChannelOptions): Steps<EndpointChildrenChange> {
    const listing: Listing = {
      ...{ channelOptions, optionsChanged: channelOptions !== this.channelOptions },
      ...{ previous: this.list, list: [], added: [], changed: false },
    };
    this.channelOptions = channelOptions;
    this.generation++;
    let operations = 0;
    const { localities, order } = endpoints;
    const lists = order === undefined ? localities.map((locality) => locality.endpoints) : [order];
    for (const members of lists) {
      for (let start = 0; start < members.length; start += STEP_SIZE) {
        const end = Math.min(members.length, start + STEP_SIZE);
        this.listRange(listing, members, start, end);
        operations += end - start;
        if (operations < STEP_SIZE) continue;
        operations = 0;
        yield;
      }
    }
    const { added, changed, list, optionsChanged, previous } = listing;
    this.list = list;
    this.previous = previous;
    this.listedGeneration = this.generation;
    const isShorter = list.length !== previous.length;
    return { added, changed: changed || optionsChanged || isShorter };
  }

  /** Removes the leaves that the last update does not list, in steps. */
  *removeUnlisted(): Steps<void> {
    const { previous } = this;
    this.previous = [];
    let removed = 0;
    for (let i = 0; i < previous.length; i++) {
      if (i % STEP_SIZE === STEP_SIZE - 1) yield;
      const child = previous[i];
      if (child === undefined || child.generation === this.generation) continue;
      if (++removed % REMOVALS === 0) yield;
      this.byEndpoint.delete(child.leaf.endpoint);
      this.byKey.delete(child.key);
      child.leaf.destroy();
      this.listener.onRemoved(child.leaf);
    }
  }

  private listRange(
    listing: Listing,
    endpoints: readonly XdsEndpoint[],
    start: number,
    end: number,
  ): void {
    const { added, channelOptions, list, optionsChanged, previous } = listing;
    for (let i = start; i < end; i++) {
      const endpoint = endpoints[i];
      if (endpoint === undefined) break;
      const known = this.byEndpoint.get(endpoint);
      const child = known ?? this.bind(endpoint, channelOptions, added);
      if (child.generation === this.generation) continue;
      child.generation = this.generation;
      if (known === undefined || child !== previous[list.length]) listing.changed = true;
      if (known !== undefined && optionsChanged) child.leaf.update(endpoint, channelOptions);
      list.push(child);
    }
  }

  /** Destroys all leaves. The listener is not called any more. */
  destroy(): void {
    this.isDestroyed = true;
    // All leaves, not only those of the list: an update may be in progress.
    const leaves = Array.from(this.byKey.values(), ({ leaf }) => leaf);
    destroyInSteps(this.host.environment, leaves, REMOVALS);
    this.list = [];
    this.byEndpoint.clear();
    this.byKey.clear();
  }

  /** Finds or creates the child with the addresses of a new endpoint object. */
  private bind(
    endpoint: XdsEndpoint,
    channelOptions: ChannelOptions,
    added: EndpointLeaf[],
  ): Child {
    const key = endpointKey(endpoint);
    const known = this.byKey.get(key);
    if (known !== undefined) {
      // Listed twice in this update: the first one is used.
      if (known.generation === this.generation) return known;
      this.byEndpoint.delete(known.leaf.endpoint);
      known.leaf.update(endpoint, channelOptions);
      this.byEndpoint.set(endpoint, known);
      return known;
    }
    const { host, onChanged } = this;
    const isReleased = () => this.isDestroyed || child.generation < this.listedGeneration;
    const leaf = new EndpointLeaf({ host, endpoint, channelOptions, onChanged, isReleased });
    const child: Child = { leaf, key, generation: this.generation - 1 };
    this.byEndpoint.set(endpoint, child);
    this.byKey.set(key, child);
    added.push(leaf);
    return child;
  }

  private readonly onChanged: LeafListener = (leaf, previous) => {
    if (!this.isDestroyed) this.listener.onChanged(leaf, previous);
  };
}
