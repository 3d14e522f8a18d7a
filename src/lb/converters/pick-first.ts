import { PickFirst } from '../../generated/envoy/extensions/load_balancing_policies/pick_first/v3/pick_first';
import { decodeMessage } from '../../resources/shared/any';
import { PickFirstConfig } from '../pick-first/config';
import type { LbConfigConverter } from './lb-config-converter';

/** `pick_first` over all endpoints of a priority (gRFC A62). */
export const pickFirstConverter: LbConfigConverter = {
  messageType: 'envoy.extensions.load_balancing_policies.pick_first.v3.PickFirst',
  convert(value, { violations }) {
    const message = decodeMessage(PickFirst, value, violations);
    return message === undefined ? undefined : new PickFirstConfig(message.shuffleAddressList);
  },
};
