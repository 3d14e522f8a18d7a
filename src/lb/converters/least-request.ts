import { LeastRequest } from '../../generated/envoy/extensions/load_balancing_policies/least_request/v3/least_request';
import { decodeMessage } from '../../resources/shared/any';
import { DEFAULT_CHOICE_COUNT, LeastRequestConfig } from '../least-request/config';
import type { LbConfigConverter } from './lb-config-converter';

/** `least_request_experimental` (gRFC A48). What else the message configures, gRPC does not have. */
export const leastRequestConverter: LbConfigConverter = {
  messageType: 'envoy.extensions.load_balancing_policies.least_request.v3.LeastRequest',
  convert(value, { violations }) {
    const message = decodeMessage(LeastRequest, value, violations);
    if (message === undefined) return undefined;
    const { choiceCount = DEFAULT_CHOICE_COUNT } = message;
    if (choiceCount >= DEFAULT_CHOICE_COUNT) return new LeastRequestConfig(choiceCount);
    violations
      .at('choice_count')
      .add(`must be at least ${DEFAULT_CHOICE_COUNT}, not ${choiceCount}`);
    return undefined;
  },
};
