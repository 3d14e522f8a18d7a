import { ConnectivityState } from '../../grpc-js';
import { createPolicyType, isInstanceOf } from '../checked-policy';
import { ConnectivityTally, createFailurePicker, failureText, queuePicker } from '../connectivity';
import { EndpointChildren } from '../endpoint-children';
import type { EndpointLeaf } from '../endpoint-leaf';
import type { Publication } from '../lb-batch';
import type { LbHost, LbPolicy, LbPolicyType, LbUpdate } from '../lb-policy';
import { parseRoundRobinConfig, ROUND_ROBIN, RoundRobinConfig } from './config';
import { RoundRobinPicker } from './picker';
import { ReadyLeaves } from './ready-leaves';

/** Connects to every endpoint and uses those that are READY in turn (gRFC A61). */
export const roundRobinPolicy: LbPolicyType = createPolicyType({
  name: ROUND_ROBIN,
  isConfig: isInstanceOf(RoundRobinConfig),
  parseConfig: parseRoundRobinConfig,
  create: (host) => new RoundRobinPolicy(host),
});

const NO_ENDPOINTS = 'No endpoints to connect to';

class RoundRobinPolicy implements LbPolicy<RoundRobinConfig> {
  private readonly children: EndpointChildren;
  private readonly ready = new ReadyLeaves();
  private readonly tally = new ConnectivityTally();
  private readonly publication: Publication;
  /** The state published last. */
  private published: ConnectivityState | undefined;
  /** Why there are no endpoints; `undefined` while there are. */
  private failure: string | undefined = NO_ENDPOINTS;
  /** Why the connection that failed last did so. */
  private lastError = 'No connection established';
  private resolutionNote = '';

  constructor(private readonly host: LbHost) {
    this.children = new EndpointChildren(host, (leaf, previous) =>
      this.onLeafChanged(leaf, previous),
    );
    this.publication = host.environment.batch.createPublication(host.depth, () => this.publish());
  }

  update(update: LbUpdate<RoundRobinConfig>): void {
    const noteChanged = update.resolutionNote !== this.resolutionNote;
    this.resolutionNote = update.resolutionNote;
    const changed = this.updateChildren(update);
    const failing = this.tally.aggregate() === ConnectivityState.TRANSIENT_FAILURE;
    if (changed || (noteChanged && failing)) this.publication.request();
  }

  /** All endpoints are connected to at all times, so there is no idleness to leave. */
  exitIdle(): void {}

  /** There is no backoff here: subchannels have their own, out of the reach of policies. */
  resetBackoff(): void {}

  destroy(): void {
    this.publication.cancel();
    this.children.destroy();
  }

  /** @returns Whether the picker may have to change. */
  private updateChildren({ endpoints, options }: LbUpdate): boolean {
    if (!endpoints.ok) return this.failUnlessServing(endpoints.error);
    const { added, removed, changed } = this.children.update(endpoints.value, options);
    for (const leaf of removed) {
      this.tally.remove(leaf.state);
      this.ready.remove(leaf);
    }
    for (const leaf of added) this.tally.add(leaf.state);
    for (const leaf of added) leaf.connect();
    const failure = this.children.size === 0 ? NO_ENDPOINTS : undefined;
    const first = this.published === undefined;
    if (failure === this.failure) return changed || first;
    this.failure = failure;
    return true;
  }

  /** Fails calls with the text, unless there are endpoints: the last good endpoints stay in use. */
  private failUnlessServing(failure: string): boolean {
    if (this.children.size > 0) return false;
    const changed = failure !== this.failure || this.published === undefined;
    this.failure = failure;
    return changed;
  }

  private onLeafChanged(leaf: EndpointLeaf, previous: ConnectivityState): void {
    const { IDLE, READY, TRANSIENT_FAILURE } = ConnectivityState;
    this.tally.remove(previous);
    this.tally.add(leaf.state);
    if (leaf.state === READY) this.ready.add(leaf);
    else this.ready.remove(leaf);
    if (leaf.errorMessage !== null) this.lastError = leaf.errorMessage;
    if (previous === READY && leaf.state !== READY) this.host.requestReresolution();
    if (leaf.state === IDLE) leaf.connect();
    const state = this.tally.aggregate();
    if (state !== this.published || state === TRANSIENT_FAILURE) this.publication.request();
  }

  private publish(): void {
    const { CONNECTING, IDLE, READY, TRANSIENT_FAILURE } = ConnectivityState;
    const aggregate = this.tally.aggregate();
    // An idle leaf is already requested to connect and becomes CONNECTING.
    const state = aggregate === IDLE ? CONNECTING : aggregate;
    // Neither of these pickers depends on which leaves there are.
    if (state === this.published && state !== TRANSIENT_FAILURE) return;
    this.published = state;
    if (state === READY) {
      const picker = new RoundRobinPicker(this.ready, this.host.environment.random);
      this.host.updateState(state, picker, null);
    } else if (state === TRANSIENT_FAILURE) {
      const text = failureText(this.failure ?? this.lastError, this.resolutionNote);
      this.host.updateState(state, createFailurePicker(text), text);
    } else {
      this.host.updateState(state, queuePicker, null);
    }
  }
}
