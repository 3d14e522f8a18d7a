import { WrrLocality } from '../../generated/envoy/extensions/load_balancing_policies/wrr_locality/v3/wrr_locality';
import { decodeMessage } from '../../resources/shared/any';
import { WrrLocalityConfig } from '../wrr-locality/config';
import type { LbConfigConverter } from './lb-config-converter';
import { convertPolicyList } from './policy-list';

/** `xds_wrr_locality_experimental` (gRFC A52). */
export const wrrLocalityConverter: LbConfigConverter = {
  messageType: 'envoy.extensions.load_balancing_policies.wrr_locality.v3.WrrLocality',
  convert(value, { parser, depth, violations }) {
    const message = decodeMessage(WrrLocality, value, violations);
    if (message === undefined) return undefined;
    const at = violations.at('endpoint_picking_policy');
    if (message.endpointPickingPolicy === undefined) {
      at.add('field not present');
      return undefined;
    }
    const context = { parser, depth: depth + 1, violations: at };
    const childPolicy = convertPolicyList(message.endpointPickingPolicy, context);
    return childPolicy === undefined ? undefined : new WrrLocalityConfig(childPolicy);
  },
};
