import type { LbPolicyConfigInput } from './definition';
import type { LbConfig } from '../../resources/extension-points';

/** A config parsed by a policy of the application. */
export class CustomConfig<Config> implements LbConfig {
  constructor(
    readonly policyName: string,
    readonly value: Config,
    /** What it was parsed from. */
    private readonly input: LbPolicyConfigInput,
  ) {}

  /** JSON as it was given; a message, which only the application can decode, as its type and bytes in base64. */
  toJson(): object {
    const { input } = this;
    if (input.kind === 'message') {
      return { '@type': input.typeName, value: Buffer.from(input.bytes).toString('base64') };
    }
    return typeof input.json === 'object' && input.json !== null ? input.json : {};
  }
}
