import type { ChannelOptions } from '../grpc-js';
import type { XdsEndpoint } from '../resources/endpoints';
import { endpointKey } from './endpoint-key';
import { EndpointLeaf, type LeafListener } from './endpoint-leaf';
import type { EndpointSet } from './endpoint-set';
import type { LbHost } from './lb-policy';

/** What changed by an update of the children. */
export interface EndpointChildrenChange {
  /** New leaves, still idle. */
  readonly added: readonly EndpointLeaf[];
  /** Leaves that are gone, destroyed already. */
  readonly removed: readonly EndpointLeaf[];
  /** Whether the list of leaves, its order or any endpoint object is not what it was. */
  readonly changed: boolean;
}

interface Child {
  readonly leaf: EndpointLeaf;
  readonly key: string;
  /** The update that last listed it. */
  generation: number;
}

/**
 * The leaves of a policy that balances over endpoints (gRFC A61). Across updates, a leaf stays with its
 * set of addresses. An endpoint object seen before costs one map lookup; the rest of the work is
 * proportional to what is new or gone.
 */
export class EndpointChildren {
  private list: readonly Child[] = [];
  private readonly byEndpoint = new Map<XdsEndpoint, Child>();
  private readonly byKey = new Map<string, Child>();
  private generation = 0;
  private channelOptions: ChannelOptions | undefined;

  constructor(
    private readonly host: LbHost,
    private readonly onLeafChanged: LeafListener,
  ) {}

  /** How many leaves there are. */
  get size(): number {
    return this.list.length;
  }

  /** The leaves, in the order of the endpoints. */
  *leaves(): IterableIterator<EndpointLeaf> {
    for (const { leaf } of this.list) yield leaf;
  }

  /** The leaf of an endpoint of the last update; `undefined` if another with the same addresses was listed before. */
  find(endpoint: XdsEndpoint): EndpointLeaf | undefined {
    return this.byEndpoint.get(endpoint)?.leaf;
  }

  /** Makes the leaves those of the endpoints. An endpoint listed twice gets one leaf. */
  update(endpoints: EndpointSet, channelOptions: ChannelOptions): EndpointChildrenChange {
    const previous = this.list;
    const optionsChanged = channelOptions !== this.channelOptions;
    this.channelOptions = channelOptions;
    this.generation++;
    const list: Child[] = [];
    const added: EndpointLeaf[] = [];
    let rebound = optionsChanged;
    for (const endpoint of allEndpoints(endpoints)) {
      const known = this.byEndpoint.get(endpoint);
      const child = known ?? this.bind(endpoint, channelOptions, added);
      if (child.generation === this.generation) continue;
      child.generation = this.generation;
      if (known === undefined) rebound = true;
      else if (optionsChanged) child.leaf.update(endpoint, channelOptions);
      list.push(child);
    }
    this.list = list;
    const removed = this.removeUnlisted(previous);
    const changed = rebound || removed.length > 0 || !sameOrder(previous, list);
    return { added, removed, changed };
  }

  /** Destroys every leaf. */
  destroy(): void {
    for (const { leaf } of this.list) leaf.destroy();
    this.list = [];
    this.byEndpoint.clear();
    this.byKey.clear();
  }

  /** Finds the child with the addresses of an endpoint object not seen before, or makes it. */
  private bind(
    endpoint: XdsEndpoint,
    channelOptions: ChannelOptions,
    added: EndpointLeaf[],
  ): Child {
    const key = endpointKey(endpoint);
    const known = this.byKey.get(key);
    if (known !== undefined) {
      // Listed a second time in this very update: the first one counts.
      if (known.generation === this.generation) return known;
      this.byEndpoint.delete(known.leaf.endpoint);
      known.leaf.update(endpoint, channelOptions);
      this.byEndpoint.set(endpoint, known);
      return known;
    }
    const { host, onLeafChanged: onChanged } = this;
    const leaf = new EndpointLeaf({ host, endpoint, channelOptions, onChanged });
    const child: Child = { leaf, key, generation: this.generation - 1 };
    this.byEndpoint.set(endpoint, child);
    this.byKey.set(key, child);
    added.push(leaf);
    return child;
  }

  private removeUnlisted(previous: readonly Child[]): readonly EndpointLeaf[] {
    const removed: EndpointLeaf[] = [];
    for (const child of previous) {
      if (child.generation === this.generation) continue;
      this.byEndpoint.delete(child.leaf.endpoint);
      this.byKey.delete(child.key);
      child.leaf.destroy();
      removed.push(child.leaf);
    }
    return removed;
  }
}

/** All endpoints of a set, locality by locality. */
export function* allEndpoints(set: EndpointSet): IterableIterator<XdsEndpoint> {
  for (const { endpoints } of set.localities) yield* endpoints;
}

function sameOrder(a: readonly Child[], b: readonly Child[]): boolean {
  return a.length === b.length && a.every((child, i) => child === b[i]);
}
