import type { LbEndpoints } from '../endpoints/endpoint-set';
import {
  ConnectivityState,
  Status,
  type Picker,
  type PickArgs,
  type PickResult,
} from '../../grpc-js';
import type { Handle } from '../../util/handle';
import {
  ConnectivityTally,
  createDropResult,
  createFailurePicker,
  queuePicker,
  QUEUED,
} from '../connectivity';
import type {
  LbContext,
  LbEnvironment,
  LbHost,
  LbPolicy,
  LbPolicyType,
  LbUpdate,
} from '../lb-policy';
import { SwitchingChild } from '../tree/child';
import type { Publication } from '../tree/lb-batch';
import type { ChildState, PolicyParts } from '../tree/policy-state';
import type { ClusterManagerConfig } from './config';
import { CLUSTER_MANAGER, type Unresolved } from './config';
import { quoteText } from '../../util/text';
import { callAttributes } from '../call-attributes';
import type * as Mirroring from '../mirroring/mirrored-call';
import { lazy } from '../../util/lazy';

/** Loaded for the first call that is copied. */
const loadMirroring = lazy<typeof Mirroring>(() => require('../mirroring/mirrored-call'));

/** The root of an xds channel: one child per cluster, among which the route of each call chooses (gRFC A31). */
export const clusterManagerPolicy: LbPolicyType = {
  name: CLUSTER_MANAGER,
  create: (host) => new ClusterManagerPolicy(host),
};

const TRACER = 'xds_cluster_manager';

/** The number of names of removed children kept, for the errors of pending calls. */
const MAX_REMOVED = 1000;

/**
 * The number of children that exist without a call that needs them. Those of further clusters are created by the first call of
 * each: most processes use few of the clusters that their routes name, and each child may be a tree with connections.
 */
export const MAX_CREATED_AHEAD = 1000;

interface ClusterChild {
  readonly policy: SwitchingChild;
  /** The state it is counted under. */
  state: ConnectivityState;
  /** Held while it fails: a change of the configuration that was not received yet may help. */
  hurry: Handle | undefined;
}

class ClusterManagerPolicy implements LbPolicy<ClusterManagerConfig> {
  private readonly children = new Map<string, ClusterChild>();
  private readonly tally = new ConnectivityTally();
  // Read by every picker ever published. A call that picks in the middle of a batch, through the picker of
  // the batch before, may see a child picker of this one, which is only newer.
  private readonly pickers = new Map<string, Picker>();
  private readonly removed = new Set<string>();
  /** Names of children that are not created yet; a call creates the one that it needs. */
  private readonly due = new Set<string>();
  private isCreating = false;
  /** Whether those that are being created connect at once. */
  private isExitingIdle = false;
  private readonly publication: Publication;
  private latest: LbUpdate<ClusterManagerConfig> | undefined;

  constructor(private readonly host: LbHost) {
    this.publication = host.environment.batch.createPublication(host.depth, this);
  }

  update(config: ClusterManagerConfig, endpoints: LbEndpoints, context: LbContext): void {
    const isOther = config !== this.latest?.config;
    this.latest = { config, endpoints, context };
    if (isOther) {
      this.removeMissing(config);
      this.publication.request();
    }
    for (const [name, childConfig] of config.children) {
      const child = this.children.get(name);
      if (child === undefined) this.due.add(name);
      else child.policy.update(childConfig, endpoints, context);
    }
    this.createAhead();
  }

  /** Creates the first children, one after the other, many of them in several turns of the event loop. */
  private createAhead(): void {
    if (this.isCreating || this.due.size === 0 || this.children.size >= MAX_CREATED_AHEAD) return;
    this.isCreating = true;
    this.isExitingIdle = false;
    const { batch, timeSlices } = this.host.environment;
    timeSlices.each({
      batch,
      items: this.due,
      atOnce: 1,
      act: (name) => this.createOne(name),
      onDone: () => (this.isCreating = false),
    });
  }

  private createOne(name: string): void {
    if (this.children.size >= MAX_CREATED_AHEAD) return;
    try {
      this.createIfDue(name);
      if (this.isExitingIdle) this.children.get(name)?.policy.exitIdle();
    } catch (error) {
      this.host.environment.batch.onError(error);
    }
  }

  exitIdle(): void {
    this.isExitingIdle = this.isCreating;
    for (const { policy } of this.children.values()) policy.exitIdle();
  }

  resetBackoff(): void {
    for (const { policy } of this.children.values()) policy.resetBackoff();
  }

  destroy(): void {
    this.publication.cancel();
    this.due.clear();
    for (const child of this.children.values()) destroyChild(child);
    this.children.clear();
  }

  describe(): PolicyParts {
    const children: ChildState[] = [];
    for (const [name, { policy }] of this.children) {
      const child = policy.describe();
      if (child !== undefined) children.push({ name, ...child });
    }
    return { children };
  }

  /** Removes children at once: the resolver keeps a cluster in the config while calls use it. */
  private removeMissing(config: ClusterManagerConfig): void {
    const names: string[] = [];
    for (const [name, child] of this.children) {
      if (config.children.has(name)) continue;
      this.trace(() => `removing ${name}`);
      this.children.delete(name);
      this.pickers.delete(name);
      this.tally.remove(child.state);
      names.push(name);
      destroyChild(child);
    }
    for (const name of this.due) {
      if (config.children.has(name)) continue;
      this.due.delete(name);
      names.push(name);
    }
    // Those before would only be forgotten again, which takes ten times as long as all the rest.
    for (const name of names.slice(-MAX_REMOVED)) this.rememberRemoved(name);
  }

  private rememberRemoved(name: string): void {
    this.removed.add(name);
    if (this.removed.size <= MAX_REMOVED) return;
    for (const oldest of this.removed) {
      this.removed.delete(oldest);
      return;
    }
  }

  private createIfDue(name: string): void {
    const { latest } = this;
    const config = latest?.config.children.get(name);
    if (!this.due.delete(name) || latest === undefined || config === undefined) return;
    this.createChild(name).policy.update(config, latest.endpoints, latest.context);
    this.publication.request();
  }

  /** A call waits for a child that is not created yet: it is created when the pick is over. */
  private onDue(name: string): void {
    const { batch, clock } = this.host.environment;
    clock.soon(() => batch.run(() => this.createIfDue(name)));
  }

  private createChild(name: string): ClusterChild {
    this.trace(() => `adding ${name}`);
    const policy = new SwitchingChild({
      host: this.host,
      onStateChanged: () => this.onChildChanged(name, child),
    });
    const { state } = policy;
    const child: ClusterChild = { policy, state, hurry: undefined };
    this.children.set(name, child);
    this.pickers.set(name, policy.picker);
    this.removed.delete(name);
    this.tally.add(child.state);
    return child;
  }

  private onChildChanged(name: string, child: ClusterChild): void {
    const { state, picker } = child.policy;
    if (state !== child.state) {
      this.trace(() => `${name} is ${ConnectivityState[state]}`);
      this.tally.remove(child.state);
      this.tally.add(state);
      child.state = state;
      this.hurryFor(child);
    }
    this.pickers.set(name, picker);
    this.publication.request();
  }

  private hurryFor(child: ClusterChild): void {
    const isFailing = child.state === ConnectivityState.TRANSIENT_FAILURE;
    child.hurry?.release();
    child.hurry = isFailing ? this.latest?.context.xds?.clusters.hurry() : undefined;
  }

  publish(): void {
    const unresolved = this.latest?.config.unresolved;
    if (unresolved !== undefined) {
      this.publishUnresolved(unresolved);
      return;
    }
    const { due, removed, pickers: current } = this;
    const state = this.aggregateState();
    const { environment } = this.host;
    const pickers = { current, due, removed };
    const picker = new ClusterManagerPicker(pickers, environment, (name) => this.onDue(name));
    this.host.updateState(state, picker, this.errorMessage(state));
  }

  /** Children that wait for a call count as IDLE. */
  private aggregateState(): ConnectivityState {
    const { TRANSIENT_FAILURE, IDLE } = ConnectivityState;
    const aggregate = this.tally.aggregate();
    return aggregate === TRANSIENT_FAILURE && this.due.size > 0 ? IDLE : aggregate;
  }

  /** Calls are pending in the config selector: none is picked for. */
  private publishUnresolved({ error, isFinal = false }: Unresolved): void {
    const { CONNECTING, TRANSIENT_FAILURE } = ConnectivityState;
    if (error === undefined) this.host.updateState(CONNECTING, queuePicker, null);
    else {
      const picker = isFinal
        ? { pick: () => createDropResult(Status.UNAVAILABLE, error) }
        : createFailurePicker(error);
      this.host.updateState(TRANSIENT_FAILURE, picker, error);
    }
  }

  /** The error of any child, when all have failed. */
  private errorMessage(state: ConnectivityState): string | null {
    if (state !== ConnectivityState.TRANSIENT_FAILURE) return null;
    for (const { policy } of this.children.values()) {
      if (policy.errorMessage !== null) return policy.errorMessage;
    }
    return this.children.size === 0 ? 'There are no clusters' : null;
  }

  private trace(text: () => string): void {
    this.host.environment.logger.trace(TRACER, text);
  }
}

function destroyChild({ hurry, policy }: ClusterChild): void {
  hurry?.release();
  policy.destroy();
}

/** The children of the policy, which change while the picker is in use. */
export interface ClusterPickers {
  readonly current: ReadonlyMap<string, Picker>;
  /** The names of children that are not created yet. */
  readonly due: ReadonlySet<string>;
  /** The names of children that were removed recently. */
  readonly removed: ReadonlySet<string>;
}

/**
 * Forwards each pick to the child that the config selector chose (gRFC A31). The pickers of the children are looked up
 * in a map of the policy, so a change of one child among many costs one small object.
 */
export class ClusterManagerPicker implements Picker {
  /** @param onDue Called when a call waits for a child that is not created yet. */
  constructor(
    private readonly pickers: ClusterPickers,
    private readonly environment: Pick<LbEnvironment, 'clock' | 'random'>,
    private readonly onDue: (name: string) => void,
  ) {}

  pick(args: PickArgs): PickResult {
    const call = callAttributes(args);
    if (call === undefined) {
      return createDropResult(
        Status.INTERNAL,
        'The call was assigned no cluster by an xds resolver',
      );
    }
    const { cluster, endedPick } = call;
    const { current } = this.pickers;
    let result = endedPick ?? current.get(cluster)?.pick(args) ?? this.pickMissing(cluster);
    if (call.mirrors !== undefined) {
      result = loadMirroring().mirrorPick(call, args, result, current, this.environment);
    }
    return call.onPick === undefined ? result : call.onPick(result);
  }

  private pickMissing(cluster: string): PickResult {
    if (this.pickers.due.has(cluster)) {
      this.onDue(cluster);
      return QUEUED;
    }
    const quoted = quoteText(cluster);
    return this.pickers.removed.has(cluster)
      ? createDropResult(Status.UNAVAILABLE, `${quoted} was removed while the call waited for it`)
      : createDropResult(Status.INTERNAL, `${quoted} is not part of the load-balancing config`);
  }
}
