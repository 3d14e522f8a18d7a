import { ConnectivityState, type Picker } from '../../grpc-js';
import type { EndpointsResource } from '../../resources/endpoints/endpoints';
import type { LbConfig } from '../../resources/extension-points';
import { createIdlePicker } from '../connectivity';
import type { LbEndpoints } from '../endpoints/endpoint-set';
import type { LbContext, LbPolicyLookup } from '../lb-policy';
import { SwitchingChild } from '../tree/child';

/** The state of a child that is not created yet. */
interface Waiting {
  readonly picker: Picker;
  /** Updates the child. */
  start: () => void;
}

/**
 * A child that is created by its first update, or, if it may wait, when the first call needs it, and is IDLE until then. Most
 * processes use few of their clusters, and a usable cluster costs time and memory.
 */
export class LazyChild extends SwitchingChild {
  /** Whether it was updated, so that it need not wait any more. Read only. */
  isStarted = false;
  private waiting: Waiting | undefined;

  override get state(): ConnectivityState {
    return this.waiting === undefined ? super.state : ConnectivityState.IDLE;
  }

  override get picker(): Picker {
    return this.waiting?.picker ?? super.picker;
  }

  override update(config: LbConfig, endpoints: LbEndpoints, context: LbContext): void {
    if (this.waiting !== undefined) this.parent.onStateChanged();
    this.waiting = undefined;
    this.isStarted = true;
    super.update(config, endpoints, context);
  }

  /** @param start Updates the child. Called when a call needs it; not at all if it is updated, or waits again, before. */
  waitForCall(start: () => void): void {
    if (this.waiting !== undefined) {
      this.waiting.start = start;
      return;
    }
    const { batch, clock } = this.parent.host.environment;
    const picker = createIdlePicker(clock, () => batch.run(() => this.waiting?.start()));
    this.waiting = { picker, start };
    this.parent.onStateChanged();
  }

  /** Creates the child if it waits for a call, and makes it connect. */
  override exitIdle(): void {
    this.waiting?.start();
    super.exitIdle();
  }

  override destroy(): void {
    this.waiting = undefined;
    this.isStarted = false;
    super.destroy();
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
