import { ConnectivityState } from '../../grpc-js';
import type { LbConfig } from '../../resources/extension-points';
import { createFailurePicker, queuePicker } from '../connectivity';
import type { LbHost, LbPolicy, LbPolicyType, LbUpdate } from '../lb-policy';
import type { PolicyParts } from './policy-state';
import type { Steps } from '../../util/steps';

/** A kind of policy that is updated with configs of its own type only. */
export interface CheckedPolicyType<Config extends LbConfig> extends LbPolicyType<Config> {
  /** Whether a config is one that `parseConfig` of this policy returns. */
  isConfig(config: LbConfig): config is Config;
}

/** Returns the guard for the configs of a class. */
export function isInstanceOf<Config extends LbConfig>(
  configClass: abstract new (...args: never[]) => Config,
): (config: LbConfig) => config is Config {
  return (config): config is Config => config instanceof configClass;
}

/**
 * Creates a policy type that may be updated with any config. A config of another policy is logged and ignored; picks
 * fail while there was no other one.
 */
export function createPolicyType<Config extends LbConfig>(
  type: CheckedPolicyType<Config>,
): LbPolicyType {
  const { name, connectsOnDemand = false } = type;
  return {
    name,
    connectsOnDemand,
    parseConfig: (json, violations, children) => type.parseConfig(json, violations, children),
    create: (host) => new CheckedPolicy(type, host),
  };
}

class CheckedPolicy<Config extends LbConfig> implements LbPolicy {
  private readonly policy: LbPolicy<Config>;
  private state: 'new' | 'failed' | 'configured' = 'new';

  constructor(
    private readonly type: CheckedPolicyType<Config>,
    private readonly host: LbHost,
  ) {
    this.policy = type.create(host);
  }

  update(update: LbUpdate): void {
    if (!this.isAccepted(update)) {
      this.reject(update.config);
      return;
    }
    if (this.state === 'failed') {
      this.host.updateState(ConnectivityState.CONNECTING, queuePicker, null);
    }
    this.state = 'configured';
    this.policy.update(update);
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

  describe(): PolicyParts {
    return this.policy.describe?.() ?? {};
  }

  describeInSteps(): Steps<PolicyParts> | undefined {
    return this.policy.describeInSteps?.();
  }

  private isAccepted(update: LbUpdate): update is LbUpdate<Config> {
    return this.type.isConfig(update.config);
  }

  /** Parsers return only configs of their own policy, so this is a bug of the code that created the config. */
  private reject({ policyName }: LbConfig): void {
    const text = `${this.type.name} was given a config of ${policyName} that it cannot use`;
    this.host.environment.logger.error(() => text);
    if (this.state === 'configured') return;
    this.state = 'failed';
    this.host.updateState(ConnectivityState.TRANSIENT_FAILURE, createFailurePicker(text), text);
  }
}
