import type { LbConfig } from '../../resources/extension-points';
import { readInteger, readObject } from '../../util/json-fields';
import type { Violations } from '../../util/violations';
import type { LbChildParser } from '../lb-policy';
import { childPolicyToJson } from '../policy-json';

/** The gRPC name of the policy. */
export const RANDOM_SUBSETTING = 'random_subsetting_experimental';

/** The config of `random_subsetting_experimental` (gRFC A68). */
export class RandomSubsettingConfig implements LbConfig {
  readonly policyName = RANDOM_SUBSETTING;

  constructor(
    /** How many endpoints to use, at least 1. */
    readonly subsetSize: number,
    /** The policy that balances over them. */
    readonly childPolicy: LbConfig,
  ) {}

  toJson(): object {
    return { subsetSize: this.subsetSize, childPolicy: childPolicyToJson(this.childPolicy) };
  }
}

/** Validates the JSON config `{ subsetSize, childPolicy }`, both of which must be present. */
export function parseRandomSubsettingConfig(
  json: unknown,
  violations: Violations,
  children: LbChildParser,
): RandomSubsettingConfig | undefined {
  const fields = readObject(json, violations);
  if (fields === undefined) return undefined;
  const subsetSize = readInteger(
    fields.get('subsetSize'),
    { min: 1, max: 2 ** 32 - 1 },
    violations.at('subsetSize'),
  );
  const childPolicy = children.parseList(fields.get('childPolicy'), violations.at('childPolicy'));
  if (subsetSize === undefined || childPolicy === undefined) return undefined;
  return new RandomSubsettingConfig(subsetSize, childPolicy);
}
