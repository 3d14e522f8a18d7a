import type { Limits } from '../../bootstrap/limits';
import { ConnectivityState, type ChannelOptions, type Picker } from '../../grpc-js';
import type { XxHash64 } from '../../util/hashes';
import type { FeatureFlags } from '../../util/feature-flags';
import type { Handle } from '../../util/handle';
import { madeOnce } from '../../util/made-once';
import type { Steps } from '../../util/time-slices';
import { createFailurePicker, NO_ENDPOINTS, WaitPicker } from '../connectivity';
import type { EndpointLeaf } from '../endpoints/endpoint-leaf';
import {
  describeAwaited,
  describeConnecting,
  describeEndpointError,
  EndpointErrors,
} from '../endpoints/endpoint-errors';
import { combinedWeigher, type Weigher } from '../endpoints/endpoint-weights';
import { emptyEndpointSet, type EndpointSet, type LbEndpoints } from '../endpoints/endpoint-set';
import type { LbContext, LbHost, LbPolicy, LbPolicyType } from '../lb-policy';
import type { Publication } from '../tree/lb-batch';
import { describeEndpoint, type PolicyParts } from '../tree/policy-state';
import type { RingHashConfig } from './config';
import { parseRingHashConfig, RING_HASH, ringHashConverter } from './config';
import { RingConnections } from './connections';
import type { RingLimits } from './counts';
import { HeaderHashes, RingHashPicker } from './picker';
import { Ring, type HashTable } from './ring';
import { SharedTables } from './shared-tables';

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

/** How ring_hash and maglev, which send calls with the same hash to the same endpoint, differ. */
export interface HashPolicyKind {
  /** Its name in texts. */
  readonly name: string;
  /** The name of the number of positions in descriptions. */
  readonly sizeName: string;
  /** The first table, without members. */
  readonly empty: HashTable;
  readonly weigher: Weigher;
}

/**
 * Creates the policy that sends calls with the same hash to the same endpoint, few of which change when endpoints are
 * added or removed (gRFCs A42, A61, A76). It connects to an endpoint when a call needs it.
 */
export function createRingHashPolicyType(options: RingHashPolicyOptions): LbPolicyType {
  const create = hashPolicyFactory(options, {
    name: 'ring_hash',
    sizeName: 'ringSize',
    empty: Ring.empty,
    weigher: options.flags.weightedShuffling ? combinedWeigher : productWeigher,
  });
  return {
    name: RING_HASH,
    connectsOnDemand: true,
    parseConfig: parseRingHashConfig,
    converter: ringHashConverter,
    create,
  };
}

/** Returns the function that creates policies of a kind, which share their tables. */
export function hashPolicyFactory(
  options: RingHashPolicyOptions,
  kind: HashPolicyKind,
): (host: LbHost) => LbPolicy<RingHashConfig> {
  const usesHashKeys = !options.flags.endpointHashKeyBackwardCompat;
  const tables = new SharedTables({ hash: options.hash, usesHashKeys, weigher: kind.weigher });
  return (host) => new RingHashPolicy(host, { ...options, kind, tables, usesHashKeys });
}

/** The products may exceed 2^32, where those of grpc-go and C-core wrap around. */
const productWeigher: Weigher =
  ({ weight: factor }) =>
  (weight) =>
    factor * weight;

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

interface HashPolicyOptions extends RingHashPolicyOptions {
  readonly kind: HashPolicyKind;
  readonly tables: SharedTables;
  readonly usesHashKeys: boolean;
}

/** Returns the endpoints with positions in the order of the last list, each described as it is until a call needs it. */
const listMembers = madeOnce((ring: HashTable) =>
  [...new Set(ring.members.listed)].flatMap((member) => {
    const endpoint = ring.members.endpoints[member];
    if (endpoint === undefined || !ring.has(member)) return [];
    const idle = describeEndpoint(endpoint, ConnectivityState.IDLE, undefined);
    return [{ member, endpoint, idle }];
  }),
);

/** A policy that sends calls with the same hash to the same endpoint. */
class RingHashPolicy implements LbPolicy<RingHashConfig> {
  private readonly publication: Publication;
  private readonly hashes: HeaderHashes;
  private readonly connections: RingConnections;
  private accepted: Accepted | undefined;
  /** The update the ring was created from; `undefined` before the first. */
  private applied: Accepted | undefined;
  /** Computes rings. */
  private work: Handle | undefined;
  private isComputing = false;
  private hashWait: Handle | undefined;
  /** The error of picks without a ring; `undefined` while there is a ring, or one is being created. */
  private failure: string | undefined;
  private readonly errors = new EndpointErrors();
  private published: Published | undefined;
  /** Whether queued calls need a new picker even if the state is the same. */
  private isPickerDue = false;

  constructor(
    private readonly host: LbHost,
    private readonly options: HashPolicyOptions,
  ) {
    const { hash, kind, usesHashKeys } = options;
    this.hashes = new HeaderHashes(hash);
    this.connections = new RingConnections({
      host,
      ring: kind.empty,
      usesHashKeys,
      onConnecting: () => this.publication.request(),
      onChanged: (leaf, previous) => this.onLeafChanged(leaf, previous),
      onReleased: (leaf) => this.errors.remove(leaf),
    });
    this.publication = host.environment.batch.createPublication(host.depth, this);
  }

  update(config: RingHashConfig, endpoints: LbEndpoints, context: LbContext): void {
    if (typeof endpoints === 'string') {
      this.failUnlessServing(endpoints);
    } else {
      this.accepted = { config, endpoints, channelOptions: context.options };
      this.apply();
    }
    this.publication.request();
  }

  /** Connects to any endpoint, since the application waits for the channel itself (gRFC A117). */
  exitIdle(): void {
    const { connections } = this;
    if (connections.connectivity === ConnectivityState.IDLE) connections.connectAny();
  }

  /** Does nothing: the backoff is that of the subchannels, which policies cannot reset. */
  resetBackoff(): void {}

  destroy(): void {
    this.publication.cancel();
    this.hashWait?.release();
    this.work?.release();
    this.connections.destroy();
  }

  describe(): PolicyParts {
    const { connections } = this;
    const { ring } = connections;
    const endpoints = listMembers(ring).map(({ member, endpoint, idle }) => {
      const connection = connections.get(member);
      if (connection === undefined) return idle;
      return describeEndpoint(endpoint, connection.state, connection.leaf.failure);
    });
    const { sizeName } = this.options.kind;
    return { details: { endpoints: ring.members.size, [sizeName]: ring.size }, endpoints };
  }

  /** Fails calls, unless there are endpoints: the last good endpoints stay in use. */
  private failUnlessServing(failure: string): void {
    if (this.accepted === undefined || this.failure !== undefined) this.failure = failure;
  }

  private apply(): void {
    const { hash, kind } = this.options;
    if (hash.isReady) {
      this.failure = undefined;
      this.startComputing();
    } else if (hash.failure !== undefined) {
      this.failure = `${kind.name} cannot work without a hash function: ${hash.failure}`;
    } else {
      this.failure = undefined;
      this.waitForHash(hash);
    }
  }

  private waitForHash(hash: XxHash64): void {
    this.hashWait ??= hash.whenReady(() =>
      this.host.environment.batch.run(() => {
        this.apply();
        this.publication.request();
      }),
    );
  }

  /**
   * Computes the ring of the latest update: a large one in several turns of the event loop. One that is being computed is
   * finished first, or frequent updates would never take effect.
   */
  private startComputing(): void {
    if (this.isComputing) return;
    const { batch, timeSlices } = this.host.environment;
    this.work = timeSlices.start({ batch, steps: this.applyLatest() });
  }

  private *applyLatest(): Steps<void> {
    this.isComputing = true;
    try {
      while (this.accepted !== undefined && this.accepted !== this.applied) {
        yield* this.applyAccepted(this.accepted);
      }
    } finally {
      this.isComputing = false;
    }
  }

  /** Calls use the previous ring until the next one is complete. */
  private *applyAccepted(accepted: Accepted): Steps<void> {
    const { connections } = this;
    const previous = this.applied;
    const before = connections.ring;
    let ring = before;
    if (previous === undefined || changesRing(previous, accepted)) {
      const limits = this.ringLimits(accepted.config);
      const build = this.options.tables.find(before, accepted.endpoints, limits);
      let table = build.advance();
      for (; table === undefined; table = build.advance()) yield;
      ring = table;
    }
    this.applied = accepted;
    connections.update(ring, accepted.channelOptions);
    if (ring !== before) this.onNewRing(ring);
    const { requestHashHeader } = accepted.config;
    if (previous?.config.requestHashHeader !== requestHashHeader) this.isPickerDue = true;
    this.failure = ring.members.size === 0 ? NO_ENDPOINTS : undefined;
    this.publication.request();
  }

  private ringLimits({ minRingSize, maxRingSize }: RingHashConfig): RingLimits {
    const { maxRingSize: max } = this.options.limits;
    return { min: Math.min(minRingSize, max), max: Math.min(maxRingSize, max) };
  }

  private onNewRing({ memberCount, members, size }: HashTable): void {
    // A call that waits for an endpoint may belong to another one now.
    if (this.connections.hasQueued) this.isPickerDue = true;
    this.host.environment.logger.trace(
      this.options.kind.name,
      () => `ring of ${size} entries for ${memberCount} of ${members.size} endpoints`,
    );
  }

  private onLeafChanged(leaf: EndpointLeaf, previous: ConnectivityState): void {
    const { CONNECTING, READY } = ConnectivityState;
    if (leaf.errorMessage !== null) this.errors.add(leaf, leaf.errorMessage);
    else if (leaf.state === READY) this.errors.remove(leaf);
    if (previous === READY && leaf.state !== READY) this.host.requestReresolution();
    // While CONNECTING, queued calls would only be queued again.
    if (leaf.state !== CONNECTING && this.connections.hasQueued) this.isPickerDue = true;
    this.publication.request();
  }

  publish(): void {
    const { CONNECTING, TRANSIENT_FAILURE } = ConnectivityState;
    const { connections, failure } = this;
    if (failure !== undefined) {
      const text = failure;
      this.publishPicker(TRANSIENT_FAILURE, text, () => createFailurePicker(text));
    } else if (connections.ring.size === 0) {
      this.publishPicker(CONNECTING, null, () => new WaitPicker(() => this.describeWait()));
    } else {
      this.tryAnother();
      const state = connections.connectivity;
      const text = state === TRANSIENT_FAILURE ? this.errors.describe(this.endpoints) : null;
      this.publishPicker(state, text, () => this.createPicker());
    }
  }

  /** Connects to another endpoint: all calls may belong to endpoints that have failed (gRFC A61). */
  private tryAnother(): void {
    const { CONNECTING, TRANSIENT_FAILURE } = ConnectivityState;
    const { connections } = this;
    const state = connections.connectivity;
    if (state !== TRANSIENT_FAILURE && state !== CONNECTING) return;
    if (connections.count(CONNECTING) === 0) connections.connectAny();
  }

  /** Publishes a picker unless state and text are the same: pickers read the ring, which changes. */
  private publishPicker(state: ConnectivityState, text: string | null, create: () => Picker): void {
    const { published } = this;
    if (published?.state === state && published.text === text && !this.isPickerDue) return;
    this.published = { state, text };
    this.isPickerDue = false;
    this.connections.hasQueued = false;
    this.host.updateState(state, create(), text);
  }

  private createPicker(): Picker {
    const { connections, host } = this;
    const { flags, kind } = this.options;
    const header = flags.requestHashKey ? this.applied?.config.requestHashHeader : undefined;
    return new RingHashPicker({
      policy: kind.name,
      connections,
      hashes: this.hashes,
      requestHashHeader: header ?? '',
      random: host.environment.random,
      describeFailure: (failed) => this.describeMember(failed),
      describeWait: (awaited) => this.describeWait(awaited),
    });
  }

  private get endpoints(): EndpointSet {
    return this.applied?.endpoints ?? emptyEndpointSet;
  }

  /** Returns the error of calls whose endpoint has failed, as all others have. */
  private describeMember(member: number): string {
    const leaf = this.connections.get(member)?.leaf;
    const error = leaf?.errorMessage ?? undefined;
    return leaf === undefined || error === undefined
      ? this.errors.describe(this.endpoints)
      : describeEndpointError(leaf.endpoint, error, this.endpoints);
  }

  private describeWait(awaited?: number): string {
    const { connections, errors } = this;
    const leaf = awaited === undefined ? undefined : connections.get(awaited)?.leaf;
    if (leaf !== undefined && connections.connectivity === ConnectivityState.READY) {
      return `the endpoint of the call's hash is not connected; ${describeAwaited(leaf, this.endpoints)}`;
    }
    return describeConnecting(
      connections.leaves(),
      connections.ring.members.size,
      this.endpoints,
      errors,
    );
  }
}

function changesRing(previous: Accepted, { config, endpoints }: Accepted): boolean {
  return (
    endpoints !== previous.endpoints ||
    config.minRingSize !== previous.config.minRingSize ||
    config.maxRingSize !== previous.config.maxRingSize
  );
}
