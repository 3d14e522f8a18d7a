import type { Limits } from '../../bootstrap/limits';
import { ConnectivityState, type ChannelOptions, type Picker } from '../../grpc-js';
import type { XxHash64 } from '../../util/xx-hash';
import type { FeatureFlags } from '../../util/feature-flags';
import type { Handle } from '../../util/handle';
import type { Steps } from '../../util/steps';
import { SteppedUpdates } from '../../util/time-slices';
import { createFailurePicker, failureText, WaitPicker } from '../connectivity';
import type { EndpointLeaf } from '../endpoints/endpoint-leaf';
import {
  describeConnecting,
  describeEndpointError,
  EndpointErrors,
} from '../endpoints/endpoint-errors';
import { emptyEndpointSet, type EndpointSet } from '../endpoints/endpoint-set';
import type { LbHost, LbPolicy, LbPolicyType, LbUpdate } from '../lb-policy';
import { createPolicyType, isInstanceOf } from '../tree/checked-policy';
import type { Publication } from '../tree/lb-batch';
import { describeEndpoint, type PolicyParts } from '../tree/policy-state';
import type { RingLimits } from './choose-entry-counts';
import { ColumnPool } from './column-pool';
import { parseRingHashConfig, RING_HASH, RingHashConfig } from './config';
import { HeaderHashes } from './header-hashes';
import { LiveRing } from './live-ring';
import { RingHashPicker } from './picker';
import { RingBuilder } from './ring-builder';
import { RingConnections } from './ring-connections';
import type { RingMembers } from './ring-members';

/** The options that all ring_hash policies of a process share. */
export interface RingHashPolicyOptions {
  readonly hash: XxHash64;
  readonly flags: Pick<
    FeatureFlags,
    'requestHashKey' | 'endpointHashKeyBackwardCompat' | 'weightedShuffling'
  >;
  /** The limit of both sizes of a config (gRFC A42). */
  readonly limits: Pick<Limits, 'maxRingSize'>;
}

interface PolicyOptions extends RingHashPolicyOptions {
  readonly columns: ColumnPool;
}

/**
 * Creates the policy that sends calls with the same hash to the same endpoint, few of which change when endpoints are
 * added or removed (gRFCs A42, A61, A76). It connects to an endpoint when a call needs it.
 */
export function createRingHashPolicyType(shared: RingHashPolicyOptions): LbPolicyType {
  const options = { ...shared, columns: new ColumnPool() };
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

/** The last update with endpoints. */
interface Accepted {
  readonly config: RingHashConfig;
  readonly endpoints: EndpointSet;
  readonly channelOptions: ChannelOptions;
}

interface Published {
  readonly state: ConnectivityState;
  readonly text: string | null;
}

class RingHashPolicy implements LbPolicy<RingHashConfig> {
  private readonly publication: Publication;
  private readonly builder: RingBuilder;
  private readonly live: LiveRing;
  private readonly hashes: HeaderHashes;
  private readonly connections: RingConnections;
  private readonly updates: SteppedUpdates<Accepted>;
  private accepted: Accepted | undefined;
  /** The update the ring was created from; `undefined` before the first. */
  private applied: Accepted | undefined;
  private hashWait: Handle | undefined;
  /** The error of picks without a ring; `undefined` while there is a ring, or one is being created. */
  private failure: string | undefined;
  private readonly errors = new EndpointErrors();
  private resolutionNote = '';
  private published: Published | undefined;
  /** Whether queued calls need a new picker even if the state is the same. */
  private isPickerDue = false;

  constructor(
    private readonly host: LbHost,
    private readonly options: PolicyOptions,
  ) {
    const { columns, flags, hash } = options;
    const usesHashKeys = !flags.endpointHashKeyBackwardCompat;
    const normalizesWeights = flags.weightedShuffling;
    this.builder = new RingBuilder({ columns, hash, normalizesWeights, usesHashKeys });
    this.live = new LiveRing(this.builder.ring);
    this.hashes = new HeaderHashes(hash);
    this.connections = new RingConnections({
      host,
      live: this.live,
      members: this.members,
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

  /** Connects to any endpoint, since the application waits for the channel itself (gRFC A117). */
  exitIdle(): void {
    if (this.live.connectivity === ConnectivityState.IDLE) this.connections.connectAny();
  }

  /** Does nothing: the backoff is that of the subchannels, which policies cannot reset. */
  resetBackoff(): void {}

  destroy(): void {
    this.publication.cancel();
    this.hashWait?.release();
    this.updates.cancel();
    this.connections.destroy();
  }

  describe(): PolicyParts {
    const { connections, live, members } = this;
    const { ring } = this.builder;
    const slots = Array.from({ length: members.capacity }, (_, slot) => slot);
    const endpoints = slots
      .filter((slot) => live.has(slot) && members.has(slot))
      .map((slot) => {
        const error = connections.leafOf(slot)?.errorMessage ?? null;
        return describeEndpoint(members.endpointIn(slot), live.stateOf(slot), error);
      });
    return { details: { endpoints: members.size, ringSize: ring.size }, endpoints };
  }

  /** Fails calls, unless there are endpoints: the last good endpoints stay in use. */
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

  /** Calls use the previous ring until the next one is complete. */
  private *applyInSteps(accepted: Accepted): Steps<void> {
    const { builder, connections, members } = this;
    const previous = this.applied;
    let rebound: readonly number[] = [];
    if (previous === undefined || changesRing(previous, accepted)) {
      ({ rebound } = yield* builder.update(accepted.endpoints, this.ringLimits(accepted.config)));
    }
    this.applied = accepted;
    // First: from here on, no entry has a slot that another endpoint may get.
    this.useRing();
    connections.setChannelOptions(accepted.channelOptions);
    for (const slot of rebound) connections.rebind(slot);
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
    const { members } = this;
    const { ring } = this.builder;
    if (ring === this.live.ring) return;
    this.live.replace(ring, members.capacity);
    this.builder.releaseReplaced();
    this.connections.releaseUnused((leaf) => this.errors.remove(leaf));
    // A call that waits for an endpoint may belong to another one now.
    if (this.live.hasQueued) this.isPickerDue = true;
    this.host.environment.logger.trace(
      TRACER,
      () => `ring of ${ring.size} entries for ${this.live.size} of ${members.size} endpoints`,
    );
  }

  private onLeafChanged(leaf: EndpointLeaf, previous: ConnectivityState): void {
    const { CONNECTING, READY } = ConnectivityState;
    if (leaf.errorMessage !== null) this.errors.add(leaf, leaf.errorMessage);
    else if (leaf.state === READY) this.errors.remove(leaf);
    if (previous === READY && leaf.state !== READY) this.host.requestReresolution();
    // While CONNECTING, queued calls would only be queued again.
    if (leaf.state !== CONNECTING && this.live.hasQueued) this.isPickerDue = true;
    this.publication.request();
  }

  publish(): void {
    const { CONNECTING, TRANSIENT_FAILURE } = ConnectivityState;
    const { failure, live } = this;
    if (failure !== undefined) {
      const text = this.describeFailure(failure);
      this.publishPicker(TRANSIENT_FAILURE, text, () => createFailurePicker(text));
    } else if (live.size === 0) {
      this.publishPicker(CONNECTING, null, () => new WaitPicker(() => this.describeWait()));
    } else {
      this.tryAnother();
      const state = live.connectivity;
      const text =
        state === TRANSIENT_FAILURE
          ? this.describeFailure(this.errors.describe(this.endpoints))
          : null;
      this.publishPicker(state, text, () => this.createPicker());
    }
  }

  /** Connects to another endpoint: all calls may belong to endpoints that have failed (gRFC A61). */
  private tryAnother(): void {
    const { CONNECTING, TRANSIENT_FAILURE } = ConnectivityState;
    const { connections, live } = this;
    const state = live.connectivity;
    if (state !== TRANSIENT_FAILURE && state !== CONNECTING) return;
    if (live.count(CONNECTING) === 0) connections.connectAny();
  }

  /** Publishes a picker unless state and text are the same: pickers read the ring, which changes. */
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
    const { flags } = this.options;
    const header = flags.requestHashKey ? this.applied?.config.requestHashHeader : undefined;
    return new RingHashPicker({
      live,
      connections,
      hashes: this.hashes,
      requestHashHeader: header ?? '',
      random: host.environment.random,
      describeFailure: (failed) => this.describeMember(failed),
      describeWait: () => this.describeWait(),
    });
  }

  private get members(): RingMembers {
    return this.builder.members;
  }

  private get endpoints(): EndpointSet {
    return this.applied?.endpoints ?? emptyEndpointSet;
  }

  /** Returns the error of calls whose endpoint has failed, as all others have. */
  private describeMember(slot: number): string {
    const leaf = this.connections.leafOf(slot);
    const error = leaf?.errorMessage ?? undefined;
    return this.describeFailure(
      leaf === undefined || error === undefined
        ? this.errors.describe(this.endpoints)
        : describeEndpointError(leaf.endpoint, error, this.endpoints),
    );
  }

  private describeWait(): string {
    const { connections, errors, members } = this;
    return describeConnecting(connections.all(), members.size, this.endpoints, errors);
  }

  private describeFailure(reason: string): string {
    return failureText(reason, this.resolutionNote);
  }
}

function changesRing(previous: Accepted, { config, endpoints }: Accepted): boolean {
  return (
    endpoints !== previous.endpoints ||
    config.minRingSize !== previous.config.minRingSize ||
    config.maxRingSize !== previous.config.maxRingSize
  );
}
