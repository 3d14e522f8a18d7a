import {
  FractionalPercent_DenominatorType,
  type FractionalPercent,
} from '../../wire/generated/envoy/type/v3/percent';
import type { RuntimeFractionalPercent } from '../../wire/generated/envoy/config/core/v3/base';
import type { Violations } from '../../util/violations';

/** The highest sum of the weights of a list (gRFCs A27, A28), which are unsigned 32-bit numbers. */
export const MAX_TOTAL_WEIGHT = 2 ** 32 - 1;

/** The whole, in parts per million. */
export const MILLION = 1_000_000;

/** Returns a fraction in parts per million, at most the whole; `undefined` after adding a violation (gRFC A28). */
export function parseFraction(
  fraction: FractionalPercent,
  violations: Violations,
): number | undefined {
  const unit = parseUnit(fraction, violations);
  return unit && Math.min(fraction.numerator * unit, MILLION);
}

/**
 * Returns the fraction that a runtime key could replace in Envoy, in parts per million. Without `default_value` it would be none of the
 * calls for some and all of them for others: it is refused, as in Envoy.
 *
 * @returns `undefined` if there is no message, and after adding a violation.
 */
export function parseRuntimeFraction(
  message: RuntimeFractionalPercent | undefined,
  violations: Violations,
): number | undefined {
  if (message === undefined) return undefined;
  const at = violations.at('default_value');
  return message.defaultValue === undefined
    ? at.add('field not present')
    : parseFraction(message.defaultValue, at);
}

/** Returns the parts per million of a numerator of 1; `undefined` after adding a violation. */
export function parseUnit(
  { denominator }: FractionalPercent,
  violations: Violations,
): number | undefined {
  switch (denominator) {
    case FractionalPercent_DenominatorType.HUNDRED:
      return 10_000;
    case FractionalPercent_DenominatorType.TEN_THOUSAND:
      return 100;
    case FractionalPercent_DenominatorType.MILLION:
      return 1;
    default:
      return violations
        .at('denominator')
        .add(`must be HUNDRED, TEN_THOUSAND or MILLION, not ${denominator}`);
  }
}
