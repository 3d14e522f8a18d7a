import { ConnectivityState, type Picker } from '../../grpc-js';
import type { LbConfig } from '../../resources/extension-points';
import type { Result } from '../../util/result';
import { quoteName } from '../../util/text';
import { createFailurePicker, queuePicker } from '../connectivity';
import type { LbHost, LbUpdate } from '../lb-policy';
import { SwitchingChild, type ChildParent } from '../tree/child';
import type { ChildState } from '../tree/policy-state';
import type { RlsConfig, TargetConfigs } from './config';

/** The policy of one target, as long as responses or the config refer to it. */
export class TargetChild implements ChildParent {
  references = 0;
  state = ConnectivityState.CONNECTING;
  picker: Picker = queuePicker;
  errorMessage: string | null = null;
  private readonly policy = new SwitchingChild(this);
  private targets: TargetConfigs | undefined;
  private config: Result<LbConfig, string> | undefined;

  /** @param onChanged Called in the batch, with the state before. */
  constructor(
    readonly host: LbHost,
    readonly target: string,
    private readonly onChanged: (child: TargetChild, before: ConnectivityState) => void,
  ) {}

  update({ config: { targets }, endpoints, context }: LbUpdate<RlsConfig>): void {
    if (this.config === undefined || !targets.equals(this.targets))
      this.config = targets.of(this.target);
    this.targets = targets;
    if (this.config.ok) this.policy.update(this.config.value, endpoints, context);
    else this.fail(`Target ${quoteName(this.target)}: ${this.config.error}`);
  }

  /** A target that fails counts as failing until it is connected: its calls do not wait for each attempt. */
  onStateChanged(): void {
    const { state, picker, errorMessage } = this.policy;
    const { CONNECTING, TRANSIENT_FAILURE } = ConnectivityState;
    if (this.state === TRANSIENT_FAILURE && state === CONNECTING) return;
    this.set(state, picker, errorMessage);
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

  describe(isDefault: boolean): readonly ChildState[] {
    const child = this.policy.describe();
    return child === undefined ? [] : [{ name: this.target, role: { isDefault }, ...child }];
  }

  private fail(error: string): void {
    this.policy.destroy();
    this.set(ConnectivityState.TRANSIENT_FAILURE, createFailurePicker(error), error);
  }

  private set(state: ConnectivityState, picker: Picker, errorMessage: string | null): void {
    const before = this.state;
    this.state = state;
    this.picker = picker;
    this.errorMessage = errorMessage;
    this.onChanged(this, before);
  }
}
