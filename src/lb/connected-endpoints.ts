import { ConnectivityState } from '../grpc-js';
import type { ChannelOptions, Picker } from '../grpc-js';
import type { Steps } from '../util/steps';
import { ConnectivityTally, createFailurePicker, failureText, queuePicker } from './connectivity';
import { EndpointChildren } from './endpoint-children';
import type { EndpointLeaf } from './endpoint-leaf';
import type { EndpointSet } from './endpoint-set';
import type { Publication } from './lb-batch';
import type { LbHost, LbUpdate } from './lb-policy';
import { SteppedUpdates } from './stepped-updates';

/** The callbacks of a policy that connects to every endpoint. */
export interface ConnectedEndpointsOptions {
  readonly host: LbHost;
  /** The leaf became READY, or is READY on another connection than before. */
  readonly onReady: (leaf: EndpointLeaf) => void;
  /** The leaf was READY and is no longer. */
  readonly onNotReady: (leaf: EndpointLeaf) => void;
  /** The leaf is gone, after `onNotReady` if it was READY. */
  readonly onRemoved?: (leaf: EndpointLeaf) => void;
  /**
   * Called when the first leaf became READY. The picker serves while leaves come and go: with one for each set
   * of leaves, connecting to n endpoints one after the other would take n² steps.
   */
  readonly createPicker: () => Picker;
}

/** The part of an update that is applied in steps. */
interface Listed {
  readonly endpoints: EndpointSet;
  readonly channelOptions: ChannelOptions;
}

/** So many leaves start to connect, or wait for their turn, in a step. */
const CONNECTS = 256;

const NO_ENDPOINTS = 'No endpoints to connect to';

/**
 * Connects to every endpoint, reconnects to those that are lost, and publishes the state of the whole
 * (gRFC A61): READY if any endpoint is, else CONNECTING, else TRANSIENT_FAILURE with the newest cause.
 */
export class ConnectedEndpoints {
  private readonly children: EndpointChildren;
  private readonly updates: SteppedUpdates<Listed>;
  private readonly tally = new ConnectivityTally();
  private readonly publication: Publication;
  /** The state published last. */
  private published: ConnectivityState | undefined;
  /** Why there are no endpoints; `undefined` while there are. */
  private failure: string | undefined = NO_ENDPOINTS;
  /** Why the connection that failed last did so. */
  private lastError = 'No connection established';
  private resolutionNote = '';

  constructor(private readonly options: ConnectedEndpointsOptions) {
    const { host } = options;
    this.children = new EndpointChildren(host, {
      onChanged: (leaf, previous) => this.onLeafChanged(leaf, previous),
      onRemoved: (leaf) => this.onLeafRemoved(leaf),
    });
    this.updates = new SteppedUpdates({
      environment: host.environment,
      apply: (listed) => this.apply(listed),
    });
    this.publication = host.environment.batch.createPublication(host.depth, () => this.publish());
  }

  /** Connects to the endpoints of the update. Its config is the policy's business. */
  update({ endpoints, options, resolutionNote }: LbUpdate): void {
    this.noteResolution(resolutionNote);
    if (!endpoints.ok) {
      this.failUnlessServing(endpoints.error);
      return;
    }
    this.updates.add({ endpoints: endpoints.value, channelOptions: options });
  }

  /** Releases all endpoints. Nothing is published afterwards. */
  destroy(): void {
    this.publication.cancel();
    this.updates.cancel();
    this.children.destroy();
  }

  private *apply({ endpoints, channelOptions }: Listed): Steps<void> {
    const { added, changed } = yield* this.children.update(endpoints, channelOptions);
    for (const leaf of added) this.tally.add(leaf.state);
    this.setFailure(this.children.size === 0 ? NO_ENDPOINTS : undefined);
    if (changed) this.publication.request();
    let connects = 0;
    for (const leaf of added) {
      if (++connects % CONNECTS === 0) yield;
      leaf.connect();
    }
  }

  private onLeafRemoved(leaf: EndpointLeaf): void {
    this.tally.remove(leaf.state);
    if (leaf.state === ConnectivityState.READY) this.options.onNotReady(leaf);
    this.options.onRemoved?.(leaf);
  }

  /** Fails calls with the text, unless there are endpoints: the last good endpoints stay in use. */
  private failUnlessServing(failure: string): void {
    if (this.children.size === 0 && !this.updates.isBusy) this.setFailure(failure);
  }

  private noteResolution(note: string): void {
    if (note === this.resolutionNote) return;
    this.resolutionNote = note;
    const failing = this.tally.aggregate() === ConnectivityState.TRANSIENT_FAILURE;
    if (failing) this.publication.request();
  }

  private setFailure(failure: string | undefined): void {
    if (failure === this.failure && this.published !== undefined) return;
    this.failure = failure;
    this.publication.request();
  }

  private onLeafChanged(leaf: EndpointLeaf, previous: ConnectivityState): void {
    const { IDLE, READY, TRANSIENT_FAILURE } = ConnectivityState;
    const { host, onReady, onNotReady } = this.options;
    this.tally.remove(previous);
    this.tally.add(leaf.state);
    if (leaf.errorMessage !== null) this.lastError = leaf.errorMessage;
    if (leaf.state === READY) {
      onReady(leaf);
    } else if (previous === READY) {
      onNotReady(leaf);
      host.requestReresolution();
    }
    if (leaf.state === IDLE) leaf.connect();
    const state = this.tally.aggregate();
    if (state !== this.published || state === TRANSIENT_FAILURE) this.publication.request();
  }

  private publish(): void {
    const { CONNECTING, IDLE, READY, TRANSIENT_FAILURE } = ConnectivityState;
    const { host, createPicker } = this.options;
    const aggregate = this.tally.aggregate();
    // An idle leaf is already requested to connect and becomes CONNECTING.
    const state = aggregate === IDLE ? CONNECTING : aggregate;
    // Neither of these pickers depends on which leaves there are.
    if (state === this.published && state !== TRANSIENT_FAILURE) return;
    this.published = state;
    if (state === READY) {
      host.updateState(state, createPicker(), null);
    } else if (state === TRANSIENT_FAILURE) {
      const text = failureText(this.failure ?? this.lastError, this.resolutionNote);
      host.updateState(state, createFailurePicker(text), text);
    } else {
      host.updateState(state, queuePicker, null);
    }
  }
}
