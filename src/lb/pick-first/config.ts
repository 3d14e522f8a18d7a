import type { LbConfig } from '../../resources/extension-points';
import { readBoolean, readObject } from '../../util/json-fields';
import type { Violations } from '../../util/violations';

/** The gRPC name of the policy. */
export const PICK_FIRST = 'pick_first';

/** The config of `pick_first` (gRFC A62). */
export class PickFirstConfig implements LbConfig {
  readonly policyName = PICK_FIRST;

  /** @param shuffleAddressList Whether to try the endpoints in random order; default `false`. */
  constructor(readonly shuffleAddressList: boolean) {}

  toJson(): object {
    return { shuffleAddressList: this.shuffleAddressList };
  }
}

/** Validates the JSON config `{ shuffleAddressList }`. */
export function parsePickFirstConfig(
  json: unknown,
  violations: Violations,
): PickFirstConfig | undefined {
  const fields = readObject(json, violations);
  if (fields === undefined) return undefined;
  const before = violations.count;
  const shuffle = readBoolean(fields, 'shuffleAddressList', false, violations);
  return violations.count === before ? new PickFirstConfig(shuffle) : undefined;
}
