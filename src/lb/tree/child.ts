import type { LbEndpoints } from '../endpoints/endpoint-set';
import {
  ConnectivityState,
  type ChannelOptions,
  type Picker,
  type Subchannel,
  type SubchannelAddress,
} from '../../grpc-js';
import type { LbConfig } from '../../resources/extension-points';
import { queuePicker } from '../connectivity';
import type {
  EndpointWatcher,
  LbContext,
  LbEnvironment,
  LbHost,
  LbPolicy,
  LbPolicyType,
} from '../lb-policy';
import { stateName, type PolicyState } from './policy-state';

/** The parent of a child. */
export interface ChildParent {
  /** The host of the parent, which serves the requests of the child that the parent does not serve itself. */
  readonly host: LbHost;
  /** Default: that of the host. */
  readonly endpointWatcher?: EndpointWatcher | undefined;
  /**
   * Called, in the batch, after `state`, `picker` or `errorMessage` changed. The parent requests its
   * publication here; it does not publish at once.
   */
  onStateChanged(): void;
  createSubchannel?(address: SubchannelAddress, options: ChannelOptions): Subchannel;
  requestReresolution?(): void;
}

/** What a parent sees of its child, of whatever class it is. */
export type AnyChild = Pick<
  Child,
  'state' | 'picker' | 'errorMessage' | 'exitIdle' | 'resetBackoff' | 'destroy'
> & { describe(): PolicyState | undefined };

/**
 * A policy below another one: its host, and the state it last reported. Stops an update that has nothing new, and contains
 * what the policy throws.
 *
 * Must be used in the batch of the tree, like the policies themselves.
 */
export class Child<Config extends LbConfig = LbConfig> implements LbHost {
  readonly environment: LbEnvironment;
  readonly depth: number;
  readonly createSubchannel: LbHost['createSubchannel'];
  readonly addChannelzChild: LbHost['addChannelzChild'];
  readonly removeChannelzChild: LbHost['removeChannelzChild'];
  readonly policyName: string;
  /** CONNECTING until the policy has reported. */
  state = ConnectivityState.CONNECTING;
  /** Queues until the policy has reported. */
  picker: Picker = queuePicker;
  errorMessage: string | null = null;
  private readonly policy: LbPolicy<Config>;
  private config: Config | undefined;
  private endpoints: LbEndpoints | undefined;
  private context: LbContext | undefined;

  /** @param switching The graceful switch that owns it; absent if its policy is never replaced. */
  constructor(
    private readonly parent: ChildParent,
    type: LbPolicyType<Config>,
    private readonly switching?: SwitchingChild,
  ) {
    const { host } = parent;
    this.environment = host.environment;
    this.depth = host.depth + 1;
    this.createSubchannel = parent.createSubchannel?.bind(parent) ?? host.createSubchannel;
    this.addChannelzChild = host.addChannelzChild;
    this.removeChannelzChild = host.removeChannelzChild;
    this.policyName = type.name;
    this.policy = type.create(this);
  }

  get endpointWatcher(): EndpointWatcher | undefined {
    return this.parent.endpointWatcher ?? this.parent.host.endpointWatcher;
  }

  /** Updates the policy, unless all three are the objects of the last update. */
  update(config: Config, endpoints: LbEndpoints, context: LbContext): void {
    if (config === this.config && endpoints === this.endpoints && context === this.context) return;
    this.config = config;
    this.endpoints = endpoints;
    this.context = context;
    try {
      this.policy.update(config, endpoints, context);
    } catch (error) {
      this.environment.batch.onError(error);
    }
  }

  exitIdle(): void {
    this.policy.exitIdle();
  }

  resetBackoff(): void {
    this.policy.resetBackoff();
  }

  destroy(): void {
    this.policy.destroy();
  }

  describe(): PolicyState {
    const { errorMessage: error, policyName: policy } = this;
    const state = stateName(this.state);
    const parts = this.policy.describe?.();
    return error === null ? { policy, state, ...parts } : { policy, state, error, ...parts };
  }

  updateState(state: ConnectivityState, picker: Picker, errorMessage: string | null): void {
    this.state = state;
    this.picker = picker;
    this.errorMessage = errorMessage;
    if (this.switching === undefined) this.parent.onStateChanged();
    else this.switching.onReport(this);
  }

  requestReresolution(): void {
    const { parent, switching } = this;
    if (switching?.isLatest(this) === false) return;
    if (parent.requestReresolution === undefined) parent.host.requestReresolution();
    else parent.requestReresolution();
  }
}

/**
 * A child whose config names its policy. When an update names another policy, the old one stays in use while it is READY,
 * until the new one has left CONNECTING.
 */
export class SwitchingChild {
  // What the policy in use has reported: see `Child`.
  state = ConnectivityState.CONNECTING;
  picker: Picker = queuePicker;
  errorMessage: string | null = null;
  private current: Child | undefined;
  private pending: Child | undefined;

  constructor(protected readonly parent: ChildParent) {}

  update(config: LbConfig, endpoints: LbEndpoints, context: LbContext): void {
    const { policyName } = config;
    const { current, pending } = this;
    const isCurrent = current?.policyName === policyName && pending === undefined;
    const child = isCurrent ? current : this.switchTo(policyName);
    child.update(config, endpoints, context);
  }

  exitIdle(): void {
    this.current?.exitIdle();
    this.pending?.exitIdle();
  }

  resetBackoff(): void {
    this.current?.resetBackoff();
    this.pending?.resetBackoff();
  }

  /** Destroys the child; nothing is reported afterwards. An update creates a new one. */
  destroy(): void {
    const { current, pending } = this;
    this.use(undefined);
    this.pending = undefined;
    current?.destroy();
    pending?.destroy();
  }

  /** Describes the policy in use; `undefined` before the first update. */
  describe(): PolicyState | undefined {
    return this.current?.describe();
  }

  /** Handles that a child has reported. */
  onReport(child: Child): void {
    const { current, pending } = this;
    if (child !== current && child !== pending) return;
    if (current !== undefined && pending !== undefined) {
      const stillNeeded =
        current.state === ConnectivityState.READY && pending.state === ConnectivityState.CONNECTING;
      if (!stillNeeded) {
        this.current = pending;
        this.pending = undefined;
        this.retire(current);
      } else if (child === pending) {
        return;
      }
    }
    this.use(this.current);
    this.parent.onStateChanged();
  }

  /** Whether a child is the one that the last update was for. */
  isLatest(child: Child): boolean {
    return child === (this.pending ?? this.current);
  }

  private use(child: Child | undefined): void {
    this.current = child;
    this.state = child?.state ?? ConnectivityState.CONNECTING;
    this.picker = child?.picker ?? queuePicker;
    this.errorMessage = child?.errorMessage ?? null;
  }

  private switchTo(policyName: string): Child {
    const { current, pending } = this;
    if (pending?.policyName === policyName) return pending;
    if (current?.policyName === policyName) {
      // Back to the policy in use: its replacement is not needed.
      this.pending = undefined;
      this.retire(pending);
      return current;
    }
    const created = this.createChild(policyName);
    if (current?.state === ConnectivityState.READY) {
      this.pending = created;
    } else {
      this.use(created);
      this.pending = undefined;
      this.retire(current);
    }
    this.retire(pending);
    return created;
  }

  private createChild(policyName: string): Child {
    const type = this.parent.host.environment.policies.get(policyName);
    if (type === undefined) throw new Error(`Bug: there is no policy ${policyName}`);
    return new Child(this.parent, type, this);
  }

  /** Destroys a child later in the batch: it may be the one that is reporting. */
  private retire(child: Child | undefined): void {
    if (child !== undefined) this.parent.host.environment.batch.run(() => child.destroy());
  }
}
