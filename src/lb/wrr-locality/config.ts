import type { LbConfig } from '../../resources/extension-points';
import { readObject } from '../../util/json-fields';
import type { Violations } from '../../util/violations';
import type { LbChildParser } from '../lb-policy';
import { childPolicyToJson } from '../policy-json';

/** The gRPC name of the policy. */
export const WRR_LOCALITY = 'xds_wrr_locality_experimental';

/** The config of `xds_wrr_locality_experimental` (gRFC A52). */
export class WrrLocalityConfig implements LbConfig {
  readonly policyName = WRR_LOCALITY;

  /** @param childPolicy The policy inside each locality. */
  constructor(readonly childPolicy: LbConfig) {}

  toJson(): object {
    return { childPolicy: childPolicyToJson(this.childPolicy) };
  }
}

/** Validates the JSON config `{ childPolicy }`. */
export function parseWrrLocalityConfig(
  json: unknown,
  violations: Violations,
  children: LbChildParser,
): WrrLocalityConfig | undefined {
  const fields = readObject(json, violations);
  if (fields === undefined) return undefined;
  const childPolicy = children.parseList(fields.get('childPolicy'), violations.at('childPolicy'));
  return childPolicy === undefined ? undefined : new WrrLocalityConfig(childPolicy);
}
