import { WrrLocality } from '../../wire/generated/envoy/extensions/load_balancing_policies/wrr_locality/v3/wrr_locality';
import type { LbConfig } from '../../resources/extension-points';
import { decodeMessage } from '../../resources/shared/any';
import { parseObject } from '../../util/json-fields';
import type { LbConfigConverter, ParseLbConfig } from '../lb-policy';
import { convertPolicyList, readChildPolicy } from '../registry/policy-config';

export const WRR_LOCALITY = 'xds_wrr_locality_experimental';

/** The config of `xds_wrr_locality_experimental` (gRFC A52). */
export class WrrLocalityConfig implements LbConfig {
  readonly policyName = WRR_LOCALITY;

  /** @param childPolicy The policy inside each locality. */
  constructor(readonly childPolicy: LbConfig) {}
}

/** Validates the JSON config `{ childPolicy }`. */
export const parseWrrLocalityConfig: ParseLbConfig<WrrLocalityConfig> = (
  json,
  violations,
  parser,
) =>
  parseObject(json, violations, (fields) => {
    const childPolicy = readChildPolicy(fields, violations, parser);
    return childPolicy && new WrrLocalityConfig(childPolicy);
  });

/** Converts the xDS config of `xds_wrr_locality_experimental` (gRFC A52). */
export const wrrLocalityConverter: LbConfigConverter = {
  messageType: 'envoy.extensions.load_balancing_policies.wrr_locality.v3.WrrLocality',
  convert(value, { parser, depth, violations }) {
    const message = decodeMessage(WrrLocality, value, violations);
    if (message === undefined) return undefined;
    const at = violations.at('endpoint_picking_policy');
    if (message.endpointPickingPolicy === undefined) return at.add('field not present');
    const context = { parser, depth: depth + 1, violations: at };
    const childPolicy = convertPolicyList(message.endpointPickingPolicy, context);
    return childPolicy && new WrrLocalityConfig(childPolicy);
  },
};
