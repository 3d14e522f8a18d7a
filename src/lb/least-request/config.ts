import { LeastRequest } from '../../wire/generated/envoy/extensions/load_balancing_policies/least_request/v3/least_request';
import type { LbConfig } from '../../resources/extension-points';
import { decodeMessage } from '../../resources/shared/any';
import { parseObject, readInteger } from '../../util/json-fields';
import type { Violations } from '../../util/violations';
import type { LbConfigConverter } from '../lb-policy';

export const LEAST_REQUEST = 'least_request_experimental';

/** The default and the minimum of `choiceCount`. */
export const DEFAULT_CHOICE_COUNT = 2;

const MAX_CHOICE_COUNT = 10;

/** The config of `least_request_experimental` (gRFC A48). */
export class LeastRequestConfig implements LbConfig {
  readonly policyName = LEAST_REQUEST;
  /** The number of endpoints compared per pick, 2 to 10. */
  readonly choiceCount: number;

  /** @param choiceCount At least 2; more than 10 count as 10. */
  constructor(choiceCount: number) {
    this.choiceCount = Math.min(choiceCount, MAX_CHOICE_COUNT);
  }
}

/** Validates the JSON config `{ choiceCount }`. */
export function parseLeastRequestConfig(
  json: unknown,
  violations: Violations,
): LeastRequestConfig | undefined {
  return parseObject(json, violations, (fields) => {
    const choiceCount = readInteger(
      fields.get('choiceCount') ?? DEFAULT_CHOICE_COUNT,
      { min: DEFAULT_CHOICE_COUNT, max: 2 ** 32 - 1 },
      violations.at('choiceCount'),
    );
    return choiceCount === undefined ? undefined : new LeastRequestConfig(choiceCount);
  });
}

/** Converts the xDS config of `least_request_experimental` (gRFC A48). Other fields are not supported by gRPC. */
export const leastRequestConverter: LbConfigConverter = {
  messageType: 'envoy.extensions.load_balancing_policies.least_request.v3.LeastRequest',
  convert(value, { violations }) {
    const message = decodeMessage(LeastRequest, value, violations);
    if (message === undefined) return undefined;
    const { choiceCount = DEFAULT_CHOICE_COUNT } = message;
    if (choiceCount >= DEFAULT_CHOICE_COUNT) return new LeastRequestConfig(choiceCount);
    return violations
      .at('choice_count')
      .add(`must be at least ${DEFAULT_CHOICE_COUNT}, not ${choiceCount}`);
  },
};
