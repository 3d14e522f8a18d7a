import { RandomSubsetting } from '../../generated/envoy/extensions/load_balancing_policies/random_subsetting/v3/random_subsetting';
import { decodeMessage } from '../../resources/shared/any';
import { RandomSubsettingConfig } from '../random-subsetting/config';
import type { LbConfigConverter } from './lb-config-converter';
import { convertPolicyList } from './policy-list';

/** `random_subsetting_experimental` (gRFC A68). */
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
