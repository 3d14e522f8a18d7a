import { RoundRobin } from '../../wire/generated/envoy/extensions/load_balancing_policies/round_robin/v3/round_robin';
import type { LbConfig } from '../../resources/extension-points';
import { decodeMessage } from '../../resources/shared/any';
import { readObject } from '../../util/json-fields';
import type { Violations } from '../../util/violations';
import type { LbConfigConverter } from '../lb-policy';

export const ROUND_ROBIN = 'round_robin';

/** The config of `round_robin`, which has no settings. */
export class RoundRobinConfig implements LbConfig {
  readonly policyName = ROUND_ROBIN;
}

// One for all, since configs are compared by identity.
const CONFIG = new RoundRobinConfig();

/** Validates the JSON config: any object. */
export function parseRoundRobinConfig(
  json: unknown,
  violations: Violations,
): RoundRobinConfig | undefined {
  return readObject(json, violations) && CONFIG;
}

/** Converts the xDS config of `round_robin` (gRFC A52). The fields of the message are not supported by gRPC. */
export const roundRobinConverter: LbConfigConverter = {
  messageType: 'envoy.extensions.load_balancing_policies.round_robin.v3.RoundRobin',
  convert: (value, { violations }) => decodeMessage(RoundRobin, value, violations) && CONFIG,
};
