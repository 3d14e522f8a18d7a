import { ConnectivityState } from '../../grpc-js';
import type { EndpointsResource } from '../../resources/endpoints/endpoints';
import type { LbConfig } from '../../resources/extension-points';
import { createIdlePicker, queuePicker } from '../connectivity';
import type { LbEndpoints } from '../endpoints/endpoint-set';
import type { LbContext, LbPolicyLookup } from '../lb-policy';
import { SwitchingChild } from '../tree/child';

/**
 * A child that is created by its first update, or, if it may wait, when the first call needs it, and is IDLE until then. Most
 * processes use few of their clusters, and a usable cluster costs time and memory.
 */
export class LazyChild extends SwitchingChild {
  /** Whether it was updated, so that it need not wait any more. Read only. */
  isStarted = false;
  /** Updates the child that waits for a call; `undefined` if it does not. */
  private start: (() => void) | undefined;

  override update(config: LbConfig, endpoints: LbEndpoints, context: LbContext): void {
    if (this.start !== undefined) this.stopWaiting();
    this.isStarted = true;
    super.update(config, endpoints, context);
  }

  /** @param start Updates the child. Called when a call needs it; not at all if it is updated, or waits again, before. */
  waitForCall(start: () => void): void {
    if (this.start === undefined) {
      this.state = ConnectivityState.IDLE;
      this.picker = createIdlePicker(this.parent.host.environment, () => this.start?.());
      this.parent.onStateChanged();
    }
    this.start = start;
  }

  /** Creates the child if it waits for a call, and makes it connect. */
  override exitIdle(): void {
    this.start?.();
    super.exitIdle();
  }

  override destroy(): void {
    this.start = undefined;
    this.isStarted = false;
    super.destroy();
  }

  private stopWaiting(): void {
    this.start = undefined;
    this.state = ConnectivityState.CONNECTING;
    this.picker = queuePicker;
    this.parent.onStateChanged();
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
