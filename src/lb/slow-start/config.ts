import type { SlowStartConfig as SlowStartMessage } from '../../wire/generated/envoy/extensions/load_balancing_policies/common/v3/common';
import { durationToMs } from '../../util/duration';
import { parseObject, readDurationMs, readNumber, type JsonFields } from '../../util/json-fields';
import type { Violations } from '../../util/violations';

/** How the share of an endpoint grows after it became READY (draft gRFC A100). */
export interface SlowStartConfig {
  /** The time until it has its full share; more than 0. */
  readonly windowMs: number;
  /** The shape of the growth: 1 is linear, more is faster at first. */
  readonly aggression: number;
  /** The least share, from 0 to 1. */
  readonly minShare: number;
}

const DEFAULT_AGGRESSION = 1;
const DEFAULT_MIN_WEIGHT_PERCENT = 10;

/** Reads the field `slowStartConfig`; `undefined` if it is absent or has no window, and after adding a violation. */
export function readSlowStart(
  fields: JsonFields,
  violations: Violations,
): SlowStartConfig | undefined {
  const json = fields.get('slowStartConfig');
  if (json === undefined) return undefined;
  const at = violations.at('slowStartConfig');
  return parseObject(json, at, (own) => {
    const windowMs = readDurationMs(own, 'slowStartWindow', 0, at);
    const aggression = readNumber(own, 'aggression', DEFAULT_AGGRESSION, at);
    const percent = readNumber(own, 'minWeightPercent', DEFAULT_MIN_WEIGHT_PERCENT, at);
    checkAggression(aggression, at.at('aggression'));
    checkPercent(percent, at.at('minWeightPercent'));
    return createSlowStart(windowMs, aggression, percent);
  });
}

/** Converts the message of a policy; `undefined` if it has no window, and after adding a violation. */
export function convertSlowStart(
  message: SlowStartMessage | undefined,
  violations: Violations,
): SlowStartConfig | undefined {
  const { slowStartWindow: window, aggression, minWeightPercent } = message ?? {};
  const windowMs = window && durationToMs(window, violations.at('slow_start_window'));
  const { defaultValue = DEFAULT_AGGRESSION } = aggression ?? {};
  const { value = DEFAULT_MIN_WEIGHT_PERCENT } = minWeightPercent ?? {};
  checkAggression(defaultValue, violations.at('aggression').at('default_value'));
  checkPercent(value, violations.at('min_weight_percent').at('value'));
  return createSlowStart(windowMs ?? 0, defaultValue, value);
}

function checkAggression(aggression: number, violations: Violations): void {
  if (!(aggression > 0 && aggression < Infinity)) {
    violations.add(`must be a finite number greater than 0, not ${aggression}`);
  }
}

function checkPercent(percent: number, violations: Violations): void {
  if (!(percent >= 0 && percent <= 100)) violations.add(`must be from 0 to 100, not ${percent}`);
}

function createSlowStart(
  windowMs: number,
  aggression: number,
  percent: number,
): SlowStartConfig | undefined {
  return windowMs > 0 ? { windowMs, aggression, minShare: percent / 100 } : undefined;
}
