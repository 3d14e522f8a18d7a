import type { Limits } from '../../bootstrap/limits';
import { ConnectivityState } from '../../grpc-js';
import type { ChannelOptions, Picker } from '../../grpc-js';
import type { XxHash64 } from '../../hash/xx-hash';
import type { FeatureFlags } from '../../util/feature-flags';
import type { Handle } from '../../util/handle';
import type { Steps } from '../../util/steps';
import { createPolicyType, isInstanceOf } from '../checked-policy';
import { createFailurePicker, failureText, queuePicker } from '../connectivity';
import type { EndpointLeaf } from '../endpoint-leaf';
import { sameEndpoints, type EndpointSet } from '../endpoint-set';
import type { Publication } from '../lb-batch';
import type { LbHost, LbPolicy, LbPolicyType, LbUpdate } from '../lb-policy';
import { SteppedUpdates } from '../stepped-updates';
import { parseRingHashConfig, RING_HASH, RingHashConfig } from './config';
import type { RingLimits } from './choose-entry-counts';
import { LiveRing } from './live-ring';
import { RingHashPicker } from './picker';
import { RingBuilder } from './ring-builder';
import { RingConnections } from './ring-connections';
import type { RingMember } from './ring-members';

/** What the ring_hash policies of a process share. */
export interface RingHashPolicyOptions {
  readonly hash: XxHash64;
  readonly flags: Pick<FeatureFlags, 'requestHashKey' | 'endpointHashKeyBackwardCompat'>;
  /** Bounds both sizes of a config (gRFC A42). */
  readonly limits: Pick<Limits, 'maxRingSize'>;
}

/**
 * Sends calls with the same hash to the same endpoint, and few of them elsewhere when endpoints come or go
 * (gRFCs A42, A61, A76). Connects to an endpoint when a call is to go there.
 */
export function createRingHashPolicyType(options: RingHashPolicyOptions): LbPolicyType {
  return createPolicyType({
    name: RING_HASH,
    connectsOnDemand: true,
    isConfig: isInstanceOf(RingHashConfig),
    parseConfig: parseRingHashConfig,
    create: (host) => new RingHashPolicy(host, options),
  });
}

const TRACER = 'ring_hash';
const NO_ENDPOINTS = 'No endpoints to connect to';

/** The last update that could be used. */
interface Accepted {
  readonly config: RingHashConfig;
  readonly endpoints: EndpointSet;
  readonly channelOptions: ChannelOptions;
}

/** What the published picker tells the parent. */
interface Published {
  readonly state: ConnectivityState;
  readonly text: string | null;
}

class RingHashPolicy implements LbPolicy<RingHashConfig> {
  private readonly publication: Publication;
  private readonly builder: RingBuilder;
  private readonly live = new LiveRing();
  private readonly connections: RingConnections;
  private readonly updates: SteppedUpdates<Accepted>;
  private accepted: Accepted | undefined;
  /** What the ring was made of; `undefined` before there is one. */
  private applied: Accepted | undefined;
  /** The wait for the hash function. */
  private hashWait: Handle | undefined;
  /** Why there is no ring; `undefined` while there is, or is about to be. */
  private failure: string | undefined;
  /** Why the connection that failed last did so. */
  private lastError = 'No connection established';
  private resolutionNote = '';
  private published: Published | undefined;
  /** Whether calls want a new picker although the state may be the same. */
  private isPickerDue = false;

  constructor(
    private readonly host: LbHost,
    private readonly options: RingHashPolicyOptions,
  ) {
    const { hash, flags } = options;
    this.builder = new RingBuilder({ hash, usesHashKeys: !flags.endpointHashKeyBackwardCompat });
    this.connections = new RingConnections({
      host,
      live: this.live,
      onConnecting: () => this.publication.request(),
      onChanged: (leaf, previous) => this.onLeafChanged(leaf, previous),
    });
    this.updates = new SteppedUpdates({
      environment: host.environment,
      apply: (accepted) => this.applyInSteps(accepted),
    });
    this.publication = host.environment.batch.createPublication(host.depth, this);
  }

  update(update: LbUpdate<RingHashConfig>): void {
    const { config, endpoints, resolutionNote } = update;
    this.resolutionNote = resolutionNote;
    if (!endpoints.ok) {
      this.failUnlessServing(endpoints.error);
    } else {
      this.accepted = { config, endpoints: endpoints.value, channelOptions: update.options };
      this.apply(this.accepted);
    }
    this.publication.request();
  }

  /** Connects somewhere, for who waits for the channel as such (gRFC A117). */
  exitIdle(): void {
    if (this.live.connectivity === ConnectivityState.IDLE) this.connections.connectAny();
  }

  /** There is no backoff here: subchannels have their own, out of the reach of policies. */
  resetBackoff(): void {}

  destroy(): void {
    this.publication.cancel();
    this.hashWait?.release();
    this.updates.cancel();
    this.connections.destroy(this.builder.members.all());
  }

  /** Bad news about the endpoints matters only to who has none. */
  private failUnlessServing(failure: string): void {
    if (this.accepted === undefined || this.failure !== undefined) this.failure = failure;
  }

  private apply(accepted: Accepted): void {
    const { hash } = this.options;
    if (hash.isReady) {
      this.failure = undefined;
      this.updates.add(accepted);
    } else if (hash.failure !== undefined) {
      this.failure = `ring_hash cannot work without a hash function: ${hash.failure}`;
    } else {
      this.failure = undefined;
      this.waitForHash(hash);
    }
  }

  private waitForHash(hash: XxHash64): void {
    this.hashWait ??= hash.whenReady(() =>
      this.host.environment.batch.run(() => {
        if (this.accepted !== undefined) this.apply(this.accepted);
        this.publication.request();
      }),
    );
  }

  /** Calls go by the ring there is until the next one is whole. */
  private *applyInSteps(accepted: Accepted): Steps<void> {
    const { builder, connections } = this;
    const { members } = builder;
    const previous = this.applied;
    let rebound: readonly RingMember[] = [];
    if (previous === undefined || !sameRing(previous, accepted)) {
      ({ rebound } = yield* builder.update(accepted.endpoints, this.ringLimits(accepted.config)));
    }
    this.applied = accepted;
    connections.setChannelOptions(accepted.channelOptions, members.all());
    for (const member of rebound) connections.rebind(member);
    this.useRing();
    const { requestHashHeader } = accepted.config;
    if (previous?.config.requestHashHeader !== requestHashHeader) this.isPickerDue = true;
    this.failure = members.size === 0 ? NO_ENDPOINTS : undefined;
    this.publication.request();
  }

  private ringLimits({ minRingSize, maxRingSize }: RingHashConfig): RingLimits {
    const { maxRingSize: max } = this.options.limits;
    return { min: Math.min(minRingSize, max), max: Math.min(maxRingSize, max) };
  }

  private useRing(): void {
    const { members, ring } = this.builder;
    if (ring === this.live.ring) return;
    for (const member of this.live.replace(ring)) {
      this.connections.drop(member);
      members.forget(member);
    }
    // A call that waits for an endpoint may have its place at another one now.
    if (this.live.hasQueued) this.isPickerDue = true;
    this.host.environment.logger.trace(
      TRACER,
      () => `ring of ${ring.size} entries for ${this.live.size} of ${members.size} endpoints`,
    );
  }

  private onLeafChanged(leaf: EndpointLeaf, previous: ConnectivityState): void {
    const { CONNECTING, READY } = ConnectivityState;
    if (leaf.errorMessage !== null) this.lastError = leaf.errorMessage;
    if (previous === READY && leaf.state !== READY) this.host.requestReresolution();
    // Whoever waits would only go on waiting for an attempt to end.
    if (leaf.state !== CONNECTING && this.live.hasQueued) this.isPickerDue = true;
    this.publication.request();
  }

  /** Publishes the state and the picker. */
  publish(): void {
    const { CONNECTING, TRANSIENT_FAILURE } = ConnectivityState;
    const { failure, live } = this;
    if (failure !== undefined) {
      const text = this.describeFailure(failure);
      this.publishPicker(TRANSIENT_FAILURE, text, () => createFailurePicker(text));
    } else if (live.size === 0) {
      this.publishPicker(CONNECTING, null, () => queuePicker);
    } else {
      this.tryAnother();
      const state = live.connectivity;
      const text = state === TRANSIENT_FAILURE ? this.describeFailure(this.lastError) : null;
      this.publishPicker(state, text, () => this.createPicker());
    }
  }

  /** The calls there are may all go by endpoints that have failed: the others have to be tried without them. */
  private tryAnother(): void {
    const { CONNECTING, TRANSIENT_FAILURE } = ConnectivityState;
    const { connections, live } = this;
    const state = live.connectivity;
    if (state !== TRANSIENT_FAILURE && state !== CONNECTING) return;
    if (live.count(CONNECTING) === 0) connections.connectAny();
  }

  /** Nothing is published that says what is known: pickers look at the ring as it is. */
  private publishPicker(state: ConnectivityState, text: string | null, create: () => Picker): void {
    const { published } = this;
    if (published?.state === state && published.text === text && !this.isPickerDue) return;
    this.published = { state, text };
    this.isPickerDue = false;
    this.live.hasQueued = false;
    this.host.updateState(state, create(), text);
  }

  private createPicker(): Picker {
    const { connections, host, live } = this;
    const { hash, flags } = this.options;
    const header = flags.requestHashKey ? this.applied?.config.requestHashHeader : undefined;
    return new RingHashPicker({
      live,
      connections,
      hash,
      requestHashHeader: header ?? '',
      random: host.environment.random,
      describeFailure: (reason) => this.describeFailure(reason),
    });
  }

  private describeFailure(reason: string): string {
    return failureText(reason, this.resolutionNote);
  }
}

function sameRing(a: Accepted, b: Accepted): boolean {
  return (
    a.config.minRingSize === b.config.minRingSize &&
    a.config.maxRingSize === b.config.maxRingSize &&
    sameEndpoints(a.endpoints, b.endpoints)
  );
}
