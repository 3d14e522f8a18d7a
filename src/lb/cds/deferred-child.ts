import { ConnectivityState, type Picker } from '../../grpc-js';
import type { EndpointsResource } from '../../resources/endpoints/endpoints';
import type { LbConfig } from '../../resources/extension-points';
import { ChildPolicy, type ChildPolicyOptions } from '../tree/child-policy';
import { createIdlePicker } from '../connectivity';
import type { LbPolicyLookup, LbUpdate } from '../lb-policy';
import type { PolicyState } from '../tree/policy-state';

/** The state of a child that is not created yet. */
interface Waiting {
  readonly picker: Picker;
  /** Creates the first update of the child. */
  createUpdate: () => LbUpdate;
}

/**
 * A child that is created when the first call needs it, and is IDLE until then. Most processes use few of their
 * clusters, and a usable cluster costs time and memory.
 *
 * Must be used in the batch of the tree, like the policies themselves.
 */
export class DeferredChild {
  private readonly child: ChildPolicy;
  private waiting: Waiting | undefined;
  private isStarted = false;

  constructor(private readonly options: ChildPolicyOptions) {
    this.child = new ChildPolicy(options);
  }

  get state(): ConnectivityState {
    return this.waiting === undefined ? this.child.state : ConnectivityState.IDLE;
  }

  get picker(): Picker {
    return this.waiting?.picker ?? this.child.picker;
  }

  get errorMessage(): string | null {
    return this.child.errorMessage;
  }

  /**
   * Applies an update.
   *
   * @param createUpdate Called now, or when a call needs the child; not at all if another update is applied first.
   * @param canWait Whether a child that is not created yet may be created by the first call.
   */
  update(createUpdate: () => LbUpdate, canWait: boolean): void {
    if (this.isStarted || !canWait) {
      this.start(createUpdate);
    } else if (this.waiting !== undefined) {
      this.waiting.createUpdate = createUpdate;
    } else {
      this.waiting = { picker: this.createPicker(), createUpdate };
      this.options.onStateChanged();
    }
  }

  /** Creates the child if it waits for a call, and makes it connect. */
  exitIdle(): void {
    this.stopWaiting();
    this.child.exitIdle();
  }

  resetBackoff(): void {
    this.child.resetBackoff();
  }

  /** Destroys the child; nothing is reported afterwards. An update creates a new one. */
  destroy(): void {
    this.waiting = undefined;
    this.isStarted = false;
    this.child.destroy();
  }

  /** Describes the child; `undefined` before it is created. */
  describe(): PolicyState | undefined {
    return this.child.describe();
  }

  private createPicker(): Picker {
    const { batch, clock } = this.options.host.environment;
    return createIdlePicker(clock, () => batch.run(() => this.stopWaiting()));
  }

  private stopWaiting(): void {
    if (this.waiting !== undefined) this.start(this.waiting.createUpdate);
  }

  private start(createUpdate: () => LbUpdate): void {
    if (this.waiting !== undefined) this.options.onStateChanged();
    this.waiting = undefined;
    this.isStarted = true;
    this.child.update(createUpdate());
  }
}

/**
 * Whether the policies of a cluster may be created by its first call: they would not connect before it anyway. A cluster
 * without endpoints has failed, and reports that at once.
 */
export function canWaitForCall(
  policies: LbPolicyLookup,
  { policyName }: LbConfig,
  { priorities }: EndpointsResource,
): boolean {
  if (policies.get(policyName)?.connectsOnDemand !== true) return false;
  const [first] = priorities;
  return first?.localities.some(({ endpoints }) => endpoints.length > 0) === true;
}
