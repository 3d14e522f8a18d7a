import { ConnectivityState, createChildChannelControlHelper } from '../grpc-js';
import type { LbHelper, Picker } from '../grpc-js';
import { createFailurePicker, queuePicker } from './connectivity';
import { createChildHost } from './lb-host';
import type { LbHost, LbPolicy, LbUpdate } from './lb-policy';
import { sameUpdate } from './lb-update';

/** How a child is tied to its parent. */
export interface ChildPolicyOptions {
  /** The host of the parent, which serves the requests of the child unless overridden. */
  readonly host: LbHost;
  /**
   * Called, in the batch, after `state`, `picker` or `errorMessage` changed. The parent requests its
   * publication here; it does not publish at once.
   */
  readonly onStateChanged: () => void;
  /** The requests that the parent serves itself. */
  readonly overrides?: Partial<Omit<LbHelper, 'updateState'>>;
}

/** One policy that was made for the child. There are two while one replaces the other. */
interface Instance {
  readonly policyName: string;
  readonly policy: LbPolicy;
  state: ConnectivityState;
  picker: Picker;
  errorMessage: string | null;
}

/**
 * A child of a policy: the policy its config names, and the state it last reported. When an update names
 * another policy, the old one goes on serving while it is READY, until the new one has left CONNECTING.
 *
 * To be used from the tree's batch, like the policies themselves.
 */
export class ChildPolicy {
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

  /** The error of a child in TRANSIENT_FAILURE, if it reported one. */
  get errorMessage(): string | null {
    return this.current?.errorMessage ?? null;
  }

  /** Hands the update on, unless it is the same as the last one by identity. */
  update(update: LbUpdate): void {
    if (this.lastUpdate !== undefined && sameUpdate(this.lastUpdate, update)) return;
    this.lastUpdate = update;
    this.instanceFor(update.config.policyName).policy.update(update);
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

  private instanceFor(policyName: string): Instance {
    const { current, pending } = this;
    if (pending?.policyName === policyName) return pending;
    if (current?.policyName === policyName) {
      // Back to the policy that still serves: the one that was to replace it is not needed.
      this.pending = undefined;
      this.retire(pending);
      return current;
    }
    const instance = this.createInstance(policyName);
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

  private createInstance(policyName: string): Instance {
    const { host: parent, overrides } = this.options;
    const answer = createChildChannelControlHelper(parent, overrides ?? {});
    const host = createChildHost(parent, {
      ...answer,
      updateState: (state, picker, errorMessage) => {
        instance.state = state;
        instance.picker = picker;
        instance.errorMessage = errorMessage;
        this.onReport(instance);
      },
      requestReresolution: () => {
        if (instance === (this.pending ?? this.current)) answer.requestReresolution();
      },
    });
    const type = parent.environment.policies.get(policyName);
    const instance: Instance = {
      policyName,
      policy: type === undefined ? createUnknownPolicy(host, policyName) : type.create(host),
      state: ConnectivityState.CONNECTING,
      picker: queuePicker,
      errorMessage: null,
    };
    return instance;
  }

  private onReport(instance: Instance): void {
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

  /** Destroys an instance later in the batch: it may be the one that is reporting. */
  private retire(instance: Instance | undefined): void {
    if (instance !== undefined)
      this.options.host.environment.batch.run(() => instance.policy.destroy());
  }
}

/** Replaces a policy that is not registered. Configs parsed by the registry never name one. */
function createUnknownPolicy(host: LbHost, policyName: string): LbPolicy {
  return {
    update() {
      const text = `Load-balancing policy ${JSON.stringify(policyName)} is not registered`;
      host.updateState(ConnectivityState.TRANSIENT_FAILURE, createFailurePicker(text), text);
    },
    exitIdle() {},
    resetBackoff() {},
    destroy() {},
  };
}
