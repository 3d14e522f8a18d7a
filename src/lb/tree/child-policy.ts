import {
  ConnectivityState,
  type ChannelOptions,
  type LbHelper,
  type Picker,
  type Subchannel,
  type SubchannelAddress,
} from '../../grpc-js';
import { queuePicker } from '../connectivity';
import type { EndpointWatcher, LbEnvironment, LbHost, LbPolicy, LbUpdate } from '../lb-policy';
import { shareUpdate } from './lb-update';
import { stateName, type PolicyState } from './policy-state';

export interface ChildPolicyOptions {
  /** The host of the parent, which serves the requests of the child unless overridden. */
  readonly host: LbHost;
  /**
   * Called, in the batch, after `state`, `picker` or `errorMessage` changed. The parent requests its
   * publication here; it does not publish at once.
   */
  readonly onStateChanged: () => void;
  /** The requests that the parent serves itself. */
  readonly overrides?: Partial<Pick<LbHelper, 'createSubchannel' | 'requestReresolution'>>;
  /** Default: that of the host. */
  readonly endpointWatcher?: EndpointWatcher | undefined;
}

type ChannelzRef = Parameters<LbHelper['addChannelzChild']>[0];

/** The child that an instance belongs to. */
interface InstanceOwner {
  onReport(instance: Instance): void;
  isLatest(instance: Instance): boolean;
}

/**
 * One policy that was created for the child, and the host of that policy. There are two while one replaces the other. A
 * class, not an object of functions: a channel has some eight of them for each cluster.
 */
class Instance implements LbHost {
  readonly environment: LbEnvironment;
  readonly depth: number;
  readonly policy: LbPolicy;
  state = ConnectivityState.CONNECTING;
  picker: Picker = queuePicker;
  errorMessage: string | null = null;

  constructor(
    readonly policyName: string,
    private readonly owner: InstanceOwner,
    private readonly parent: ChildPolicyOptions,
  ) {
    const { environment, depth } = parent.host;
    this.environment = environment;
    this.depth = depth + 1;
    const type = environment.policies.get(policyName);
    if (type === undefined) throw new Error(`Bug: there is no policy ${policyName}`);
    this.policy = type.create(this);
  }

  get endpointWatcher(): EndpointWatcher | undefined {
    return this.parent.endpointWatcher ?? this.parent.host.endpointWatcher;
  }

  createSubchannel(address: SubchannelAddress, options: ChannelOptions): Subchannel {
    const { host, overrides } = this.parent;
    if (overrides?.createSubchannel !== undefined)
      return overrides.createSubchannel(address, options);
    return host.createSubchannel(address, options);
  }

  updateState(state: ConnectivityState, picker: Picker, errorMessage: string | null): void {
    this.state = state;
    this.picker = picker;
    this.errorMessage = errorMessage;
    this.owner.onReport(this);
  }

  requestReresolution(): void {
    if (!this.owner.isLatest(this)) return;
    const { host, overrides } = this.parent;
    if (overrides?.requestReresolution !== undefined) overrides.requestReresolution();
    else host.requestReresolution();
  }

  addChannelzChild(child: ChannelzRef): void {
    this.parent.host.addChannelzChild(child);
  }

  removeChannelzChild(child: ChannelzRef): void {
    this.parent.host.removeChannelzChild(child);
  }
}

/**
 * A child of a policy: the policy named by its config, and the state it last reported. When an update names another
 * policy, the old one stays in use while it is READY, until the new one has left CONNECTING.
 *
 * Must be used in the batch of the tree, like the policies themselves.
 */
export class ChildPolicy implements InstanceOwner {
  private current: Instance | undefined;
  private pending: Instance | undefined;
  private lastUpdate: LbUpdate | undefined;

  constructor(private readonly options: ChildPolicyOptions) {}

  /** CONNECTING until the child has reported. */
  get state(): ConnectivityState {
    return this.current?.state ?? ConnectivityState.CONNECTING;
  }

  /** Queues until the child has reported. */
  get picker(): Picker {
    return this.current?.picker ?? queuePicker;
  }

  get errorMessage(): string | null {
    return this.current?.errorMessage ?? null;
  }

  /** Forwards the update, unless its parts are those of the last one. */
  update(update: LbUpdate): void {
    const next = shareUpdate(this.lastUpdate, update);
    if (next === this.lastUpdate) return;
    this.lastUpdate = next;
    this.instanceFor(next.config.policyName).policy.update(next);
  }

  exitIdle(): void {
    this.current?.policy.exitIdle();
    this.pending?.policy.exitIdle();
  }

  resetBackoff(): void {
    this.current?.policy.resetBackoff();
    this.pending?.policy.resetBackoff();
  }

  /** Destroys the child; nothing is reported afterwards. An update creates a new one. */
  destroy(): void {
    const { current, pending } = this;
    this.current = undefined;
    this.pending = undefined;
    this.lastUpdate = undefined;
    current?.policy.destroy();
    pending?.policy.destroy();
  }

  /** Describes the policy in use; `undefined` before the first update. */
  describe(): PolicyState | undefined {
    const { current } = this;
    if (current === undefined) return undefined;
    const { policyName: policy, state, errorMessage: error } = current;
    return {
      ...{ policy, state: stateName(state) },
      ...(error !== null && { error }),
      ...current.policy.describe?.(),
    };
  }

  onReport(instance: Instance): void {
    const { current, pending } = this;
    if (instance !== current && instance !== pending) return;
    if (current !== undefined && pending !== undefined) {
      const stillNeeded =
        current.state === ConnectivityState.READY && pending.state === ConnectivityState.CONNECTING;
      if (!stillNeeded) {
        this.current = pending;
        this.pending = undefined;
        this.retire(current);
      } else if (instance === pending) {
        return;
      }
    }
    this.options.onStateChanged();
  }

  /** Whether an instance is the one that the last update was for. */
  isLatest(instance: Instance): boolean {
    return instance === (this.pending ?? this.current);
  }

  private instanceFor(policyName: string): Instance {
    const { current, pending } = this;
    if (pending?.policyName === policyName) return pending;
    if (current?.policyName === policyName) {
      // Back to the policy in use: its replacement is not needed.
      this.pending = undefined;
      this.retire(pending);
      return current;
    }
    const instance = new Instance(policyName, this, this.options);
    if (current?.state === ConnectivityState.READY) {
      this.pending = instance;
      this.retire(pending);
    } else {
      this.current = instance;
      this.pending = undefined;
      this.retire(current);
      this.retire(pending);
    }
    return instance;
  }

  /** Destroys an instance later in the batch: it may be the one that is reporting. */
  private retire(instance: Instance | undefined): void {
    if (instance !== undefined)
      this.options.host.environment.batch.run(() => instance.policy.destroy());
  }
}
