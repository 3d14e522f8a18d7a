import type { LbConfig } from '../../resources/extension-points';
import { readInteger, readMap, readObject } from '../../util/json-fields';
import type { Violations } from '../../util/violations';
import type { LbChildParser } from '../lb-policy';
import { childPolicyToJson } from '../policy-json';

/** The gRPC name of the policy. */
export const WEIGHTED_TARGET = 'weighted_target_experimental';

const MAX_WEIGHT = 2 ** 32 - 1;

/** One child and its share. */
export interface WeightedTarget {
  /** Relative to the other targets; 1 to 4,294,967,295. */
  readonly weight: number;
  readonly childPolicy: LbConfig;
}

/** The config of `weighted_target_experimental` (gRFC A28). */
export class WeightedTargetConfig implements LbConfig {
  readonly policyName = WEIGHTED_TARGET;

  constructor(readonly targets: ReadonlyMap<string, WeightedTarget>) {}

  toJson(): object {
    const targets = Array.from(
      this.targets,
      ([name, { weight, childPolicy }]): [string, object] => [
        name,
        { weight, childPolicy: childPolicyToJson(childPolicy) },
      ],
    );
    return { targets: Object.fromEntries<object>(targets) };
  }
}

/** Validates the JSON config `{ targets: { name: { weight, childPolicy } } }`. */
export function parseWeightedTargetConfig(
  json: unknown,
  violations: Violations,
  children: LbChildParser,
): WeightedTargetConfig | undefined {
  const fields = readObject(json, violations);
  if (fields === undefined) return undefined;
  const at = violations.at('targets');
  const targetFields = readMap(fields.get('targets') ?? {}, at);
  if (targetFields === undefined) return undefined;
  const targets = new Map<string, WeightedTarget>();
  for (const [name, target] of targetFields) {
    const parsed = parseTarget(target, at.key(name), children);
    if (parsed !== undefined) targets.set(name, parsed);
  }
  return targets.size === targetFields.size ? new WeightedTargetConfig(targets) : undefined;
}

function parseTarget(
  json: unknown,
  violations: Violations,
  children: LbChildParser,
): WeightedTarget | undefined {
  const fields = readObject(json, violations);
  if (fields === undefined) return undefined;
  const bounds = { min: 1, max: MAX_WEIGHT };
  const weight = readInteger(fields.get('weight'), bounds, violations.at('weight'));
  const childPolicy = children.parseList(fields.get('childPolicy'), violations.at('childPolicy'));
  if (weight === undefined || childPolicy === undefined) return undefined;
  return { weight, childPolicy };
}
