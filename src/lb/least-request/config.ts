import { LeastRequest } from '../../wire/generated/envoy/extensions/load_balancing_policies/least_request/v3/least_request';
import type { LbConfig } from '../../resources/extension-points';
import { decodeMessage } from '../../resources/shared/any';
import { parseObject, readInteger } from '../../util/json-fields';
import type { Violations } from '../../util/violations';
import type { LbConfigConverter } from '../lb-policy';
import { convertSlowStart, readSlowStart, type SlowStartConfig } from '../slow-start/config';

export const LEAST_REQUEST = 'least_request_experimental';

/** The default and the minimum of `choiceCount`. */
export const DEFAULT_CHOICE_COUNT = 2;

const MAX_CHOICE_COUNT = 10;

/** The config of `least_request_experimental` (gRFC A48). */
export class LeastRequestConfig implements LbConfig {
  readonly policyName = LEAST_REQUEST;
  /** The number of endpoints compared per pick, 2 to 10. */
  readonly choiceCount: number;

  /**
   * @param choiceCount At least 2; more than 10 count as 10.
   * @param slowStart How endpoints begin. Default: with their full shares.
   */
  constructor(
    choiceCount: number,
    readonly slowStart?: SlowStartConfig,
  ) {
    this.choiceCount = Math.min(choiceCount, MAX_CHOICE_COUNT);
  }
}

/**
 * Validates the JSON config `{ choiceCount, slowStartConfig }`.
 * @param hasSlowStart Whether the latter is read.
 */
export function parseLeastRequestConfig(
  json: unknown,
  violations: Violations,
  hasSlowStart = false,
): LeastRequestConfig | undefined {
  return parseObject(json, violations, (fields) => {
    const choiceCount = readInteger(
      fields.get('choiceCount') ?? DEFAULT_CHOICE_COUNT,
      { min: DEFAULT_CHOICE_COUNT, max: 2 ** 32 - 1 },
      violations.at('choiceCount'),
    );
    const slowStart = hasSlowStart ? readSlowStart(fields, violations) : undefined;
    return choiceCount === undefined ? undefined : new LeastRequestConfig(choiceCount, slowStart);
  });
}

/**
 * Creates the converter of the xDS config of `least_request_experimental` (gRFC A48). Other fields are not supported by gRPC.
 * @param hasSlowStart Whether `slow_start_config` is read.
 */
export function createLeastRequestConverter(hasSlowStart: boolean): LbConfigConverter {
  return {
    messageType: 'envoy.extensions.load_balancing_policies.least_request.v3.LeastRequest',
    convert(value, { violations }) {
      const before = violations.count;
      const message = decodeMessage(LeastRequest, value, violations);
      if (message === undefined) return undefined;
      const { choiceCount = DEFAULT_CHOICE_COUNT, slowStartConfig } = message;
      const slowStart = hasSlowStart
        ? convertSlowStart(slowStartConfig, violations.at('slow_start_config'))
        : undefined;
      if (choiceCount < DEFAULT_CHOICE_COUNT) {
        const reason = `must be at least ${DEFAULT_CHOICE_COUNT}, not ${choiceCount}`;
        violations.at('choice_count').add(reason);
      }
      return violations.count > before ? undefined : new LeastRequestConfig(choiceCount, slowStart);
    },
  };
}
