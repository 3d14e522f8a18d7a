import type { LbConfig } from '../../resources/extension-points';

/** A config parsed by a policy of the application. */
export class CustomConfig<Config> implements LbConfig {
  constructor(
    readonly policyName: string,
    readonly value: Config,
  ) {}
}
