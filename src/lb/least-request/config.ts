import type { LbConfig } from '../../resources/extension-points';
import { readInteger, readObject } from '../../util/json-fields';
import type { Violations } from '../../util/violations';

/** The gRPC name of the policy. */
export const LEAST_REQUEST = 'least_request_experimental';

/** Compared per pick unless configured; also the least that can be. */
export const DEFAULT_CHOICE_COUNT = 2;

const MAX_CHOICE_COUNT = 10;

/** The config of `least_request_experimental` (gRFC A48). */
export class LeastRequestConfig implements LbConfig {
  readonly policyName = LEAST_REQUEST;
  /** How many endpoints are compared per pick, 2 to 10. */
  readonly choiceCount: number;

  /** @param choiceCount At least 2; more than 10 count as 10. */
  constructor(choiceCount: number) {
    this.choiceCount = Math.min(choiceCount, MAX_CHOICE_COUNT);
  }

  toJson(): object {
    return { choiceCount: this.choiceCount };
  }
}

/** Validates the JSON config `{ choiceCount }`. */
export function parseLeastRequestConfig(
  json: unknown,
  violations: Violations,
): LeastRequestConfig | undefined {
  const fields = readObject(json, violations);
  if (fields === undefined) return undefined;
  const choiceCount = readInteger(
    fields.get('choiceCount') ?? DEFAULT_CHOICE_COUNT,
    { min: DEFAULT_CHOICE_COUNT, max: 2 ** 32 - 1 },
    violations.at('choiceCount'),
  );
  return choiceCount === undefined ? undefined : new LeastRequestConfig(choiceCount);
}
