import { ConnectivityState } from '../../grpc-js';
import type { Picker } from '../../grpc-js';
import { createPolicyType, isInstanceOf } from '../checked-policy';
import { ChildPolicy } from '../child-policy';
import { ConnectivityTally } from '../connectivity';
import type { Publication } from '../lb-batch';
import type { LbHost, LbPolicy, LbPolicyType, LbUpdate } from '../lb-policy';
import { childUpdate } from '../lb-update';
import { CLUSTER_MANAGER, ClusterManagerConfig, parseClusterManagerConfig } from './config';
import { ClusterManagerPicker } from './picker';

/** The root of an xds channel: one child per cluster, among which the route of each call chooses (gRFC A31). */
export const clusterManagerPolicy: LbPolicyType = createPolicyType({
  name: CLUSTER_MANAGER,
  isConfig: isInstanceOf(ClusterManagerConfig),
  parseConfig: parseClusterManagerConfig,
  create: (host) => new ClusterManagerPolicy(host),
});

const TRACER = 'xds_cluster_manager';

/** The number of names of removed children kept, for the errors of pending calls. */
const MAX_REMOVED = 1000;

interface Child {
  readonly policy: ChildPolicy;
  /** The state it is counted under. */
  state: ConnectivityState;
}

class ClusterManagerPolicy implements LbPolicy<ClusterManagerConfig> {
  private readonly children = new Map<string, Child>();
  private readonly tally = new ConnectivityTally();
  // Read by every picker ever published. A call that picks in the middle of a batch, through the picker of
  // the batch before, may see a child picker of this one, which is only newer.
  private readonly pickers = new Map<string, Picker>();
  private readonly removed = new Set<string>();
  private readonly publication: Publication;
  private config: ClusterManagerConfig | undefined;

  constructor(private readonly host: LbHost) {
    this.publication = host.environment.batch.createPublication(host.depth, () => this.publish());
  }

  update(update: LbUpdate<ClusterManagerConfig>): void {
    const { config } = update;
    if (config !== this.config) {
      this.config = config;
      this.removeMissing(config);
      this.publication.request();
    }
    for (const [name, childConfig] of config.children) {
      this.updateChild(name, childUpdate(update, childConfig));
    }
  }

  exitIdle(): void {
    for (const { policy } of this.children.values()) policy.exitIdle();
  }

  resetBackoff(): void {
    for (const { policy } of this.children.values()) policy.resetBackoff();
  }

  destroy(): void {
    this.publication.cancel();
    for (const { policy } of this.children.values()) policy.destroy();
    this.children.clear();
  }

  /** Removes children at once: the resolver keeps a cluster in the config while calls use it. */
  private removeMissing(config: ClusterManagerConfig): void {
    for (const [name, child] of this.children) {
      if (config.children.has(name)) continue;
      this.trace(() => `removing ${name}`);
      this.children.delete(name);
      this.pickers.delete(name);
      this.tally.remove(child.state);
      this.rememberRemoved(name);
      child.policy.destroy();
    }
  }

  private rememberRemoved(name: string): void {
    this.removed.add(name);
    if (this.removed.size <= MAX_REMOVED) return;
    for (const oldest of this.removed) {
      this.removed.delete(oldest);
      return;
    }
  }

  private updateChild(name: string, update: LbUpdate): void {
    const child = this.children.get(name) ?? this.createChild(name);
    child.policy.update(update);
  }

  private createChild(name: string): Child {
    this.trace(() => `adding ${name}`);
    const policy = new ChildPolicy({
      host: this.host,
      onStateChanged: () => this.onChildChanged(name, child),
    });
    const child: Child = { policy, state: policy.state };
    this.children.set(name, child);
    this.pickers.set(name, policy.picker);
    this.removed.delete(name);
    this.tally.add(child.state);
    return child;
  }

  private onChildChanged(name: string, child: Child): void {
    const { state, picker } = child.policy;
    if (state !== child.state) {
      this.trace(() => `${name} is ${ConnectivityState[state]}`);
      this.tally.remove(child.state);
      this.tally.add(state);
      child.state = state;
    }
    this.pickers.set(name, picker);
    this.publication.request();
  }

  private publish(): void {
    const state = this.tally.aggregate();
    const picker = new ClusterManagerPicker({ current: this.pickers, removed: this.removed });
    this.host.updateState(state, picker, this.errorMessage(state));
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
