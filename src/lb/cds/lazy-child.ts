import { ConnectivityState, type Picker } from '../../grpc-js';
import type { EndpointsResource } from '../../resources/endpoints/endpoints';
import type { LbConfig } from '../../resources/extension-points';
import { createIdlePicker } from '../connectivity';
import type { LbPolicyLookup, LbUpdate } from '../lb-policy';
import { SwitchingChild } from '../tree/child';

/** The state of a child that is not created yet. */
interface Waiting {
  readonly picker: Picker;
  /** Creates the first update of the child. */
  createUpdate: () => LbUpdate;
}

/**
 * A child that is created when the first call needs it, and is IDLE until then. Most processes use few of their
 * clusters, and a usable cluster costs time and memory.
 */
export class LazyChild extends SwitchingChild {
  private waiting: Waiting | undefined;
  private isStarted = false;

  override get state(): ConnectivityState {
    return this.waiting === undefined ? super.state : ConnectivityState.IDLE;
  }

  override get picker(): Picker {
    return this.waiting?.picker ?? super.picker;
  }

  /**
   * Applies an update.
   *
   * @param createUpdate Called now, or when a call needs the child; not at all if another update is applied first.
   * @param canWait Whether a child that is not created yet may be created by the first call. Default: it may not.
   */
  updateBy(createUpdate: () => LbUpdate, canWait: () => boolean = () => false): void {
    if (this.isStarted || !canWait()) {
      this.start(createUpdate);
    } else if (this.waiting !== undefined) {
      this.waiting.createUpdate = createUpdate;
    } else {
      this.waiting = { picker: this.createPicker(), createUpdate };
      this.parent.onStateChanged();
    }
  }

  /** Creates the child if it waits for a call, and makes it connect. */
  override exitIdle(): void {
    this.stopWaiting();
    super.exitIdle();
  }

  override destroy(): void {
    this.waiting = undefined;
    this.isStarted = false;
    super.destroy();
  }

  private createPicker(): Picker {
    const { batch, clock } = this.parent.host.environment;
    return createIdlePicker(clock, () => batch.run(() => this.stopWaiting()));
  }

  private stopWaiting(): void {
    if (this.waiting !== undefined) this.start(this.waiting.createUpdate);
  }

  private start(createUpdate: () => LbUpdate): void {
    if (this.waiting !== undefined) this.parent.onStateChanged();
    this.waiting = undefined;
    this.isStarted = true;
    const { config, endpoints, context } = createUpdate();
    this.update(config, endpoints, context);
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
