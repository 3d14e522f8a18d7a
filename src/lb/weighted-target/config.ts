import type { LbConfig } from '../../resources/extension-points';
import { parseObject, readEntries, readInteger } from '../../util/json-fields';
import type { ParseLbConfig } from '../lb-policy';
import { readChildPolicy } from '../registry/policy-config';

export const WEIGHTED_TARGET = 'weighted_target_experimental';

const MAX_WEIGHT = 2 ** 32 - 1;

export interface WeightedTarget {
  /** Relative to the other targets; 1 to 4,294,967,295. */
  readonly weight: number;
  readonly childPolicy: LbConfig;
}

/** The config of `weighted_target_experimental` (gRFC A28). */
export class WeightedTargetConfig implements LbConfig {
  readonly policyName = WEIGHTED_TARGET;

  constructor(readonly targets: ReadonlyMap<string, WeightedTarget>) {}
}

/** Validates the JSON config `{ targets: { name: { weight, childPolicy } } }`. */
export const parseWeightedTargetConfig: ParseLbConfig<WeightedTargetConfig> = (
  json,
  violations,
  parser,
) =>
  parseObject(json, violations, (fields) => {
    const targets = readEntries(fields, 'targets', violations, (target, at) =>
      parseTarget(target, at, parser),
    );
    return new WeightedTargetConfig(targets);
  });

const parseTarget: ParseLbConfig<WeightedTarget> = (json, violations, parser) =>
  parseObject(json, violations, (fields) => {
    const bounds = { min: 1, max: MAX_WEIGHT };
    const weight = readInteger(fields.get('weight'), bounds, violations.at('weight'));
    const childPolicy = readChildPolicy(fields, violations, parser);
    if (weight === undefined || childPolicy === undefined) return undefined;
    return { weight, childPolicy };
  });
