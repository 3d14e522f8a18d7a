import { PickFirst } from '../../wire/generated/envoy/extensions/load_balancing_policies/pick_first/v3/pick_first';
import type { LbConfig } from '../../resources/extension-points';
import { decodeMessage } from '../../resources/shared/any';
import { parseObject, readBoolean } from '../../util/json-fields';
import type { Violations } from '../../util/violations';
import type { LbConfigConverter } from '../lb-policy';

export const PICK_FIRST = 'pick_first';

/** The config of `pick_first` (gRFC A62). */
export class PickFirstConfig implements LbConfig {
  readonly policyName = PICK_FIRST;

  /** @param shuffleAddressList Whether to try the endpoints in random order; default `false`. */
  constructor(readonly shuffleAddressList: boolean) {}
}

/** Validates the JSON config `{ shuffleAddressList }`. */
export function parsePickFirstConfig(
  json: unknown,
  violations: Violations,
): PickFirstConfig | undefined {
  return parseObject(
    json,
    violations,
    (fields) => new PickFirstConfig(readBoolean(fields, 'shuffleAddressList', false, violations)),
  );
}

/** Converts the xDS config of `pick_first`, which uses all endpoints of a priority (gRFC A62). */
export const pickFirstConverter: LbConfigConverter = {
  messageType: 'envoy.extensions.load_balancing_policies.pick_first.v3.PickFirst',
  convert(value, { violations }) {
    const message = decodeMessage(PickFirst, value, violations);
    return message && new PickFirstConfig(message.shuffleAddressList);
  },
};
