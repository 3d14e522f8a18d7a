import { RoundRobin } from '../../generated/envoy/extensions/load_balancing_policies/round_robin/v3/round_robin';
import { decodeMessage } from '../../resources/shared/any';
import { createRoundRobinConfig } from '../round-robin/config';
import type { LbConfigConverter } from './lb-config-converter';

/** `round_robin` (gRFC A52). What the message configures, gRPC does not have. */
export const roundRobinConverter: LbConfigConverter = {
  messageType: 'envoy.extensions.load_balancing_policies.round_robin.v3.RoundRobin',
  convert(value, { violations }) {
    const message = decodeMessage(RoundRobin, value, violations);
    return message === undefined ? undefined : createRoundRobinConfig();
  },
};
