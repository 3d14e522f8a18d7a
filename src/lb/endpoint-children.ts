import type { ChannelOptions } from '../grpc-js';
import type { XdsEndpoint } from '../resources/endpoints/endpoints';
import { STEP_SIZE, type Steps } from '../util/steps';
import { endpointKey } from './endpoint-key';
import { EndpointLeaf, type LeafListener } from './endpoint-leaf';
import type { EndpointSet } from './endpoint-set';
import type { LbHost } from './lb-policy';

/** What changed by an update of the children. */
export interface EndpointChildrenChange {
  /** New leaves, still idle. */
  readonly added: readonly EndpointLeaf[];
  /** Whether the list of leaves, its order or any endpoint object is not what it was. */
  readonly changed: boolean;
}

/** Receives what happens to leaves. */
export interface EndpointChildrenListener {
  /** The state, the picker or the error of a leaf changed. */
  readonly onChanged: LeafListener;
  /** The leaf is gone, destroyed already. */
  readonly onRemoved: (leaf: EndpointLeaf) => void;
}

/** So many leaves are destroyed in a step, each of which may have a connection. */
const REMOVALS = 64;

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
    private readonly listener: EndpointChildrenListener,
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

  /**
   * Makes the leaves those of the endpoints, in steps. An endpoint listed twice gets one leaf. Another update must not
   * begin before it is done. Until then, the leaves are the old ones; those that are not listed go one by one in the end.
   */
  *update(endpoints: EndpointSet, channelOptions: ChannelOptions): Steps<EndpointChildrenChange> {
    const previous = this.list;
    const optionsChanged = channelOptions !== this.channelOptions;
    this.channelOptions = channelOptions;
    this.generation++;
    const list: Child[] = [];
    const added: EndpointLeaf[] = [];
    let rebound = optionsChanged;
    let operations = 0;
    for (const endpoint of allEndpoints(endpoints)) {
      if (++operations % STEP_SIZE === 0) yield;
      const known = this.byEndpoint.get(endpoint);
      const child = known ?? this.bind(endpoint, channelOptions, added);
      if (child.generation === this.generation) continue;
      child.generation = this.generation;
      if (known === undefined) rebound = true;
      else if (optionsChanged) child.leaf.update(endpoint, channelOptions);
      list.push(child);
    }
    this.list = list;
    const anyRemoved = yield* this.removeUnlisted(previous);
    return { added, changed: rebound || anyRemoved || !sameOrder(previous, list) };
  }

  /** Destroys every leaf. */
  destroy(): void {
    // Not those of the list: an update may be under way.
    for (const { leaf } of this.byKey.values()) leaf.destroy();
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
    const { host } = this;
    const { onChanged } = this.listener;
    const leaf = new EndpointLeaf({ host, endpoint, channelOptions, onChanged });
    const child: Child = { leaf, key, generation: this.generation - 1 };
    this.byEndpoint.set(endpoint, child);
    this.byKey.set(key, child);
    added.push(leaf);
    return child;
  }

  private *removeUnlisted(previous: readonly Child[]): Steps<boolean> {
    let removed = 0;
    let operations = 0;
    for (const child of previous) {
      if (++operations % STEP_SIZE === 0) yield;
      if (child.generation === this.generation) continue;
      if (++removed % REMOVALS === 0) yield;
      this.byEndpoint.delete(child.leaf.endpoint);
      this.byKey.delete(child.key);
      child.leaf.destroy();
      this.listener.onRemoved(child.leaf);
    }
    return removed > 0;
  }
}

/** All endpoints of a set, locality by locality. */
export function* allEndpoints(set: EndpointSet): IterableIterator<XdsEndpoint> {
  for (const { endpoints } of set.localities) yield* endpoints;
}

function sameOrder(a: readonly Child[], b: readonly Child[]): boolean {
  return a.length === b.length && a.every((child, i) => child === b[i]);
}
