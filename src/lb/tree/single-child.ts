import { ConnectivityState } from '../../grpc-js';
import type {
  ChannelOptions,
  LbHelper,
  Picker,
  Subchannel,
  SubchannelAddress,
} from '../../grpc-js';
import type { LbConfig } from '../../resources/extension-points';
import { createFailurePicker } from '../connectivity';
import type { EndpointWatcher, LbHost, LbPolicy, LbUpdate } from '../lb-policy';
import { ChildPolicy, type ChildPolicyOptions } from './child-policy';
import type { Publication } from './lb-batch';
import type { ChildState, PolicyParts, StateDetails } from './policy-state';

/** The state of a child, and the calls that its parent forwards. `ChildPolicy` is one. */
export type ForwardedChild = Pick<
  ChildPolicy,
  'state' | 'picker' | 'errorMessage' | 'exitIdle' | 'resetBackoff' | 'destroy' | 'describe'
>;

/** The only child of a policy, and the publication of its state or of a failure. */
export interface OnlyChild<Child extends ForwardedChild = ChildPolicy> {
  readonly host: LbHost;
  readonly child: Child;
  /** Publishes the state of the child, or the failure, at the end of the batch. */
  requestPublication(): void;
  /**
   * Fails picks with a text instead of using the child; `undefined` uses the child again.
   *
   * @returns Whether that is a change.
   */
  setFailure(failure: string | undefined): boolean;
}

/** The part of a policy with one child besides forwarding. */
export interface SingleChildDelegate<Config extends LbConfig> {
  update(update: LbUpdate<Config>): void;
  /** Wraps the picker of the child. Default: the picker is published as it is. */
  createPicker?(childPicker: Picker): Picker;
  /** Creates the subchannels of the child. Default: the host does. */
  createSubchannel?(address: SubchannelAddress, options: ChannelOptions): Subchannel;
  /** Receives which endpoints fail. Default: that of the host. */
  readonly endpointWatcher?: EndpointWatcher;
  /** Describes what the delegate knows. Default: nothing. */
  describe?(): StateDetails;
  /** Adds what the delegate knows to the description of the child. Default: nothing. */
  describeChild?(child: ChildState): ChildState;
  /** Releases what the delegate acquired, before the child is destroyed. */
  release?(): void;
}

/** Creates the delegate of a new policy instance. */
export type CreateDelegate<Config extends LbConfig, Child extends ForwardedChild = ChildPolicy> = (
  only: OnlyChild<Child>,
) => SingleChildDelegate<Config>;

/** Creates a policy that has one `ChildPolicy` and publishes its state, unless the delegate sets a failure. */
export function createSingleChildPolicy<Config extends LbConfig>(
  host: LbHost,
  createDelegate: CreateDelegate<Config>,
): LbPolicy<Config> {
  return new SingleChildPolicy(host, (options) => new ChildPolicy(options), createDelegate);
}

/** A policy with one child of any kind. */
export class SingleChildPolicy<Config extends LbConfig, Child extends ForwardedChild>
  implements LbPolicy<Config>, OnlyChild<Child>, ChildPolicyOptions
{
  readonly child: Child;
  private readonly delegate: SingleChildDelegate<Config>;
  private readonly publication: Publication;
  private failure: string | undefined;

  constructor(
    readonly host: LbHost,
    createChild: (options: ChildPolicyOptions) => Child,
    createDelegate: CreateDelegate<Config, Child>,
  ) {
    this.publication = host.environment.batch.createPublication(host.depth, this);
    this.child = createChild(this);
    this.delegate = createDelegate(this);
  }

  /** The requests of the child that this policy serves itself. */
  get overrides(): Pick<LbHelper, 'createSubchannel'> {
    return this;
  }

  get endpointWatcher(): EndpointWatcher | undefined {
    return this.delegate.endpointWatcher;
  }

  onStateChanged(): void {
    this.publication.request();
  }

  requestPublication(): void {
    this.publication.request();
  }

  setFailure(failure: string | undefined): boolean {
    if (failure === this.failure) return false;
    this.failure = failure;
    this.publication.request();
    return true;
  }

  update(update: LbUpdate<Config>): void {
    this.delegate.update(update);
  }

  exitIdle(): void {
    this.child.exitIdle();
  }

  resetBackoff(): void {
    this.child.resetBackoff();
  }

  destroy(): void {
    this.publication.cancel();
    this.delegate.release?.();
    this.child.destroy();
  }

  describe(): PolicyParts {
    const child = this.child.describe();
    const details = this.delegate.describe?.();
    return {
      ...(details !== undefined && { details }),
      ...(child !== undefined && { children: [this.delegate.describeChild?.(child) ?? child] }),
    };
  }

  createSubchannel(address: SubchannelAddress, options: ChannelOptions): Subchannel {
    return (
      this.delegate.createSubchannel?.(address, options) ??
      this.host.createSubchannel(address, options)
    );
  }

  publish(): void {
    const { child, delegate, failure, host } = this;
    if (failure !== undefined) {
      const picker = createFailurePicker(failure);
      host.updateState(ConnectivityState.TRANSIENT_FAILURE, picker, failure);
      return;
    }
    const picker = delegate.createPicker?.(child.picker) ?? child.picker;
    host.updateState(child.state, picker, child.errorMessage);
  }
}
