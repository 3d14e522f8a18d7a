import { ConnectivityState } from '../../grpc-js';
import type { Picker } from '../../grpc-js';
import { ChildPolicy, type ChildPolicyOptions } from '../child-policy';
import { createIdlePicker } from '../connectivity';
import type { LbUpdate } from '../lb-policy';

/** A child that is not there yet. */
interface Waiting {
  readonly picker: Picker;
  /** What it will be updated with. */
  createUpdate: () => LbUpdate;
}

/**
 * A child of a policy that may wait for the first call that wants it, being IDLE until then. Of a thousand
 * clusters most processes use few, and what makes a cluster usable costs time and memory.
 *
 * To be used from the tree's batch, like the policies themselves.
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

  /** Why the child is in TRANSIENT_FAILURE, if it is and says so. */
  get errorMessage(): string | null {
    return this.child.errorMessage;
  }

  /**
   * Takes an update.
   * @param createUpdate Called now, or when a call wants the child; not at all if another update comes first.
   * @param canWait Whether the child, if there is none, may wait for a call.
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

  /** Makes the child if it is not there yet, and has it start connecting. */
  exitIdle(): void {
    this.stopWaiting();
    this.child.exitIdle();
  }

  resetBackoff(): void {
    this.child.resetBackoff();
  }

  /** Destroys the child; nothing is reported afterwards. An update would start it anew. */
  destroy(): void {
    this.waiting = undefined;
    this.isStarted = false;
    this.child.destroy();
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
