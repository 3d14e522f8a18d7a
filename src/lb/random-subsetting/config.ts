import { RandomSubsetting } from '../../wire/generated/envoy/extensions/load_balancing_policies/random_subsetting/v3/random_subsetting';
import type { LbConfig } from '../../resources/extension-points';
import { decodeMessage } from '../../resources/shared/any';
import { parseObject, readInteger } from '../../util/json-fields';
import type { LbConfigConverter, ParseLbConfig } from '../lb-policy';
import { convertPolicyList, readChildPolicy } from '../registry/policy-config';

export const RANDOM_SUBSETTING = 'random_subsetting_experimental';

/** The config of `random_subsetting_experimental` (gRFC A68). */
export class RandomSubsettingConfig implements LbConfig {
  readonly policyName = RANDOM_SUBSETTING;

  constructor(
    /** The number of endpoints to use, at least 1. */
    readonly subsetSize: number,
    /** The policy that balances among them. */
    readonly childPolicy: LbConfig,
  ) {}
}

/** Validates the JSON config `{ subsetSize, childPolicy }`, both of which are required. */
export const parseRandomSubsettingConfig: ParseLbConfig<RandomSubsettingConfig> = (
  json,
  violations,
  parser,
) =>
  parseObject(json, violations, (fields) => {
    const bounds = { min: 1, max: 2 ** 32 - 1 };
    const subsetSize = readInteger(fields.get('subsetSize'), bounds, violations.at('subsetSize'));
    const childPolicy = readChildPolicy(fields, violations, parser);
    if (subsetSize === undefined || childPolicy === undefined) return undefined;
    return new RandomSubsettingConfig(subsetSize, childPolicy);
  });

/** Converts the xDS config of `random_subsetting_experimental` (gRFC A68). */
export const randomSubsettingConverter: LbConfigConverter = {
  messageType: 'envoy.extensions.load_balancing_policies.random_subsetting.v3.RandomSubsetting',
  convert(value, { parser, depth, violations }) {
    const before = violations.count;
    const message = decodeMessage(RandomSubsetting, value, violations);
    if (message === undefined) return undefined;
    const { subsetSize = 0, childPolicy: list } = message;
    if (subsetSize === 0) violations.at('subset_size').add('must be at least 1');
    const at = violations.at('child_policy');
    if (list === undefined) at.add('field not present');
    const childPolicy =
      list && convertPolicyList(list, { parser, depth: depth + 1, violations: at });
    if (violations.count > before || childPolicy === undefined) return undefined;
    return new RandomSubsettingConfig(subsetSize, childPolicy);
  },
};
