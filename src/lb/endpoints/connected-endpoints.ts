import { ConnectivityState, type ChannelOptions, type Picker } from '../../grpc-js';
import type { LbConfig } from '../../resources/extension-points';
import type { Handle } from '../../util/handle';
import type { Steps } from '../../util/time-slices';
import { ConnectivityTally, createFailurePicker, NO_ENDPOINTS, WaitPicker } from '../connectivity';
import type { LbContext, LbHost, LbPolicy } from '../lb-policy';
import type { Publication } from '../tree/lb-batch';
import type { PolicyParts, StateDetails } from '../tree/policy-state';
import { EndpointChildren, type EndpointOwner } from './endpoint-children';
import { describeConnecting, EndpointErrors } from './endpoint-errors';
import type { EndpointLeaf } from './endpoint-leaf';
import { emptyEndpointSet, type EndpointSet, type LbEndpoints } from './endpoint-set';

/** An item of a `ReadyList`. */
export interface ReadyItem {
  /** Its index in the list; -1 if it is not in the list, which alone sets it. */
  readyIndex: number;
}

/** The endpoints that are READY, in no particular order. Adding and removing take constant time. */
export class ReadyList<Item extends ReadyItem> implements Iterable<Item> {
  private readonly items: Item[] = [];

  get size(): number {
    return this.items.length;
  }

  /** The item at an index from 0 up to, not including, the size. */
  at(index: number): Item | undefined {
    return this.items[index];
  }

  [Symbol.iterator](): Iterator<Item> {
    return this.items[Symbol.iterator]();
  }

  /** @returns Whether the item was added; `false` if it is in the list already. */
  add(item: Item): boolean {
    if (item.readyIndex >= 0) return false;
    item.readyIndex = this.items.length;
    this.items.push(item);
    return true;
  }

  /** Removes an item. The last item takes its index. @returns The index of the item; -1 if it was not in the list. */
  remove(item: Item): number {
    const { readyIndex } = item;
    const last = this.items.at(-1);
    if (readyIndex < 0 || last === undefined) return -1;
    this.items[readyIndex] = last;
    last.readyIndex = readyIndex;
    this.items.pop();
    item.readyIndex = -1;
    return readyIndex;
  }
}

/** The part of a policy besides connecting to every endpoint. */
export interface ConnectedEndpointsDelegate<Config extends LbConfig, Endpoint> {
  /** Applies a config. The endpoints of the same update follow. @param labels The labels of metrics. */
  configure?(config: Config, labels: LbContext['labels']): void;
  /** Creates the state of an endpoint, kept across reconnects with its leaf, and so with its addresses (gRFC A61). */
  createEndpoint(leaf: EndpointLeaf): Endpoint;
  /** The endpoint became READY, or is READY on another connection than before. */
  onReady(endpoint: Endpoint): void;
  /** The endpoint was READY and is no longer, or was removed. */
  onNotReady(endpoint: Endpoint): void;
  /**
   * Creates the picker when the first endpoint became READY. It serves while others become READY or are lost: with one
   * picker per set of endpoints, connecting to n endpoints one after the other would take n² steps.
   */
  createPicker(): Picker;
  /** Describes what the delegate knows of an endpoint that has been READY. Default: nothing. */
  describe?(endpoint: Endpoint): StateDetails;
  /** Releases what the delegate acquired, before the endpoints are destroyed. */
  release?(): void;
}

/** An update with endpoints. @see LbContext.options */
interface Accepted {
  readonly endpoints: EndpointSet;
  readonly options: ChannelOptions;
}

/** New endpoints that are connected to without a break: a cluster seldom has more of them. */
const CONNECTED_AT_ONCE = 256;
/** Connections that are released without a break, each of which takes longer. */
const RELEASED_AT_ONCE = 64;

/**
 * A policy that connects to every endpoint, reconnects to those that are lost, and publishes the aggregated state
 * (gRFC A61): READY if any endpoint is, else CONNECTING, else TRANSIENT_FAILURE with the newest cause.
 */
export class ConnectedEndpoints<Config extends LbConfig, Endpoint>
  implements LbPolicy<Config>, EndpointOwner
{
  private readonly children = new EndpointChildren(this);
  /** The endpoints that have been READY. */
  private readonly byLeaf = new Map<EndpointLeaf, Endpoint>();
  private readonly tally = new ConnectivityTally();
  private readonly publication: Publication;
  private published: ConnectivityState | undefined;
  /** The reason why there are no endpoints; `undefined` while there are. */
  private failure: string | undefined = NO_ENDPOINTS;
  private readonly errors = new EndpointErrors();
  /** The last update with endpoints, and the one that is being applied or was applied last. */
  private accepted: Accepted = { endpoints: emptyEndpointSet, options: {} };
  private applied = this.accepted;
  /** Connects and releases leaves: many of them in several turns of the event loop. */
  private work: Handle | undefined;
  private isApplying = false;
  /** Whether endpoints are left that no leaf was created for. */
  private isListing = false;
  private isDestroyed = false;

  constructor(
    readonly host: LbHost,
    private readonly delegate: ConnectedEndpointsDelegate<Config, Endpoint>,
  ) {
    this.publication = host.environment.batch.createPublication(host.depth, this);
  }

  update(config: Config, endpoints: LbEndpoints, context: LbContext): void {
    this.delegate.configure?.(config, context.labels);
    if (typeof endpoints === 'string') {
      // The last good endpoints stay in use.
      if (this.failure !== undefined) this.setFailure(endpoints);
      return;
    }
    this.accepted = { endpoints, options: context.options };
    const hasEndpoints = endpoints.localities.some((locality) => locality.endpoints.length > 0);
    this.setFailure(hasEndpoints ? undefined : NO_ENDPOINTS);
    if (this.isApplying) return;
    const { batch, timeSlices } = this.host.environment;
    this.work = timeSlices.start({ batch, steps: this.applyUpdates() });
  }

  /** Does nothing: all endpoints are connected to at all times. */
  exitIdle(): void {}

  /** Does nothing: the backoff is that of the subchannels, which policies cannot reset. */
  resetBackoff(): void {}

  destroy(): void {
    this.isDestroyed = true;
    this.publication.cancel();
    this.work?.release();
    this.delegate.release?.();
    this.children.destroy();
  }

  describe(): PolicyParts {
    const endpoints = Array.from(this.children.inOrder(), (leaf) => {
      const known = this.byLeaf.get(leaf);
      return leaf.describe(known && this.delegate.describe?.(known));
    });
    return { endpoints };
  }

  /**
   * Lists what calls may wait for before it releases what takes time and changes nothing for them. An update is completed
   * before the latest one: frequent updates of many endpoints would otherwise never take effect.
   */
  private *applyUpdates(): Steps<void> {
    this.isApplying = true;
    for (;;) {
      if (this.accepted !== this.applied) yield* this.listEndpoints((this.applied = this.accepted));
      else if (this.children.releaseRemoved(RELEASED_AT_ONCE)) yield;
      else break;
    }
    this.isApplying = false;
  }

  private *listEndpoints({ endpoints, options }: Accepted): Steps<void> {
    const { children, tally } = this;
    const { added, removed } = children.beginUpdate(endpoints, options);
    let count = 0;
    for (const { endpoint } of added) {
      if (count++ === CONNECTED_AT_ONCE) {
        this.isListing = true;
        yield;
        count = 1;
      }
      const leaf = children.add(endpoint);
      if (leaf === undefined) continue;
      tally.add(leaf.state);
      leaf.connect();
    }
    this.isListing = false;
    children.remove(removed);
    this.publication.request();
  }

  onLeafRemoved(leaf: EndpointLeaf): void {
    this.tally.remove(leaf.state);
    if (leaf.state === ConnectivityState.READY) this.delegate.onNotReady(this.endpointOf(leaf));
    this.byLeaf.delete(leaf);
    this.errors.remove(leaf);
  }

  private endpointOf(leaf: EndpointLeaf): Endpoint {
    const known = this.byLeaf.get(leaf);
    if (known !== undefined) return known;
    const created = this.delegate.createEndpoint(leaf);
    this.byLeaf.set(leaf, created);
    return created;
  }

  private setFailure(failure: string | undefined): void {
    if (failure === this.failure && this.published !== undefined) return;
    this.failure = failure;
    this.publication.request();
  }

  onLeafChanged(leaf: EndpointLeaf, previous: ConnectivityState): void {
    if (this.isDestroyed) return;
    const { IDLE, READY, TRANSIENT_FAILURE } = ConnectivityState;
    this.tally.remove(previous);
    this.tally.add(leaf.state);
    if (leaf.errorMessage !== null) this.errors.add(leaf, leaf.errorMessage);
    else if (leaf.state === READY) this.errors.remove(leaf);
    if (leaf.state === READY) {
      this.delegate.onReady(this.endpointOf(leaf));
    } else if (previous === READY) {
      this.delegate.onNotReady(this.endpointOf(leaf));
      this.host.requestReresolution();
    }
    if (leaf.state === IDLE) leaf.connect();
    const state = this.tally.aggregate();
    if (state !== this.published || state === TRANSIENT_FAILURE) this.publication.request();
  }

  publish(): void {
    const { CONNECTING, IDLE, READY, TRANSIENT_FAILURE } = ConnectivityState;
    const { host, delegate } = this;
    const aggregate = this.tally.aggregate();
    // An idle leaf is already requested to connect and becomes CONNECTING, as those do that are not created yet.
    const isConnecting = aggregate === IDLE || (aggregate !== READY && this.isListing);
    const state = isConnecting ? CONNECTING : aggregate;
    // The pickers of READY and CONNECTING do not depend on which leaves there are.
    if (state === this.published && state !== TRANSIENT_FAILURE) return;
    this.published = state;
    if (state === READY) {
      host.updateState(state, delegate.createPicker(), null);
    } else if (state === TRANSIENT_FAILURE) {
      const text = this.failure ?? this.errors.describe(this.accepted.endpoints);
      host.updateState(state, createFailurePicker(text), text);
    } else {
      host.updateState(state, new WaitPicker(() => this.describeWait()), null);
    }
  }

  private describeWait(): string {
    const { children, errors, accepted } = this;
    return describeConnecting(children.inOrder(), children.size, accepted.endpoints, errors);
  }
}
