import type {
  RetryPolicy as RetryPolicyMessage,
  RetryPolicy_RetryBackOff,
} from '../../wire/generated/envoy/config/route/v3/route_components';
import { durationToMs } from '../../util/duration';
import { MAX_RETRY_ON_LENGTH } from '../../util/limits';
import type { Violations } from '../../util/violations';
import type { ParseContext } from '../extension-points';
import type { RetryableCode, RetryPolicy } from './route-config';

const MIN_INTERVAL_MS = 1;
const DEFAULT_BASE_INTERVAL_MS = 25;
const MAX_TO_BASE_INTERVAL = 10;

const retryableCodes: ReadonlySet<string> = new Set<RetryableCode>([
  'cancelled',
  'deadline-exceeded',
  'internal',
  'resource-exhausted',
  'unavailable',
]);

type Intervals = Pick<RetryPolicy, 'baseIntervalMs' | 'maxIntervalMs'>;

/**
 * Parses a retry policy; `undefined` after adding a violation (gRFC A44). A policy without a code that a client can
 * retry on is `'none'`: it still overrides that of the virtual host. With retries disabled there is no policy.
 */
export function parseRetryPolicy(
  { retryOn, numRetries = 1, retryBackOff, perTryTimeout }: RetryPolicyMessage,
  { extensions }: ParseContext,
  violations: Violations,
): RetryPolicy | 'none' | undefined {
  if (extensions.retries === false) return undefined;
  if (numRetries < 1) violations.at('num_retries').add(`must be at least 1, not ${numRetries}`);
  const intervals = parseIntervals(retryBackOff, violations.at('retry_back_off'));
  if (retryOn.length > MAX_RETRY_ON_LENGTH) {
    const reason = `must not exceed ${MAX_RETRY_ON_LENGTH} characters, but has ${retryOn.length}`;
    return violations.at('retry_on').add(reason);
  }
  const timeoutMs =
    extensions.envoyFeatures === true && perTryTimeout !== undefined
      ? durationToMs(perTryTimeout, violations.at('per_try_timeout'))
      : undefined;
  if (numRetries < 1 || intervals === undefined) return undefined;
  const codes = parseCodes(retryOn);
  if (codes.length === 0) return 'none';
  // Otherwise it would fail calls that could succeed.
  const isRetried = codes.includes('deadline-exceeded');
  const perTryTimeoutMs = isRetried ? timeoutMs || undefined : undefined;
  return { retryOn: codes, maxAttempts: numRetries + 1, ...intervals, perTryTimeoutMs };
}

function parseCodes(retryOn: string): readonly RetryableCode[] {
  return conditionsOf(retryOn).filter(isRetryableCode);
}

/** Returns the conditions of a `retry_on` that a client does not know, and ignores. */
export function unknownConditions(retryOn: string): readonly string[] {
  return conditionsOf(retryOn).filter((name) => name !== '' && !retryableCodes.has(name));
}

function conditionsOf(retryOn: string): readonly string[] {
  return [...new Set(retryOn.split(',').map((name) => name.trim().toLowerCase()))];
}

function isRetryableCode(name: string): name is RetryableCode {
  return retryableCodes.has(name);
}

function parseIntervals(
  backOff: RetryPolicy_RetryBackOff | undefined,
  violations: Violations,
): Intervals | undefined {
  if (backOff === undefined) return createIntervals(DEFAULT_BASE_INTERVAL_MS, undefined);
  const { baseInterval, maxInterval } = backOff;
  const baseAt = violations.at('base_interval');
  const maxAt = violations.at('max_interval');
  if (baseInterval === undefined) baseAt.add('field not present');
  const base = baseInterval && parsePositive(baseInterval, baseAt);
  const max = maxInterval && parsePositive(maxInterval, maxAt);
  if (base === undefined || (maxInterval !== undefined && max === undefined)) return undefined;
  if (max === undefined || max >= base) return createIntervals(base, max);
  return maxAt.add(`must not be less than base_interval, which is ${base} ms, but is ${max} ms`);
}

function createIntervals(base: number, max: number | undefined): Intervals {
  const baseIntervalMs = Math.max(base, MIN_INTERVAL_MS);
  const maxIntervalMs = Math.max(max ?? baseIntervalMs * MAX_TO_BASE_INTERVAL, MIN_INTERVAL_MS);
  return { baseIntervalMs, maxIntervalMs };
}

function parsePositive(
  duration: Parameters<typeof durationToMs>[0],
  violations: Violations,
): number | undefined {
  const ms = durationToMs(duration, violations);
  if (ms !== 0) return ms;
  return violations.add('must be more than 0');
}
