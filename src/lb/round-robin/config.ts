import type { LbConfig } from '../../resources/extension-points';
import { readObject } from '../../util/json-fields';
import type { Violations } from '../../util/violations';

/** The gRPC name of the policy. */
export const ROUND_ROBIN = 'round_robin';

/** The config of `round_robin`, which has nothing to configure. */
export class RoundRobinConfig implements LbConfig {
  readonly policyName = ROUND_ROBIN;
}

// Configs compare by identity, so there is one.
const CONFIG = new RoundRobinConfig();

/** Validates the JSON config: an object, whatever is in it. */
export function parseRoundRobinConfig(
  json: unknown,
  violations: Violations,
): RoundRobinConfig | undefined {
  return readObject(json, violations) === undefined ? undefined : CONFIG;
}

/** The config without any JSON. */
export function createRoundRobinConfig(): RoundRobinConfig {
  return CONFIG;
}
