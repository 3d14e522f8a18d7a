import { RoundRobin } from '../../generated/envoy/extensions/load_balancing_policies/round_robin/v3/round_robin';
import type { LbConfig } from '../../resources/extension-points';
import { decodeMessage } from '../../resources/shared/any';
import { readObject } from '../../util/json-fields';
import type { Violations } from '../../util/violations';
import type { LbConfigConverter } from '../converters/lb-config-converter';

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

/** `round_robin` (gRFC A52). What the message configures, gRPC does not have. */
export const roundRobinConverter: LbConfigConverter = {
  messageType: 'envoy.extensions.load_balancing_policies.round_robin.v3.RoundRobin',
  convert(value, { violations }) {
    const message = decodeMessage(RoundRobin, value, violations);
    return message === undefined ? undefined : createRoundRobinConfig();
  },
};
