import type { MethodConfig } from '../grpc-js';
import type {
  RetryPolicy,
  RetryableCode,
  Route,
  VirtualHost,
} from '../resources/route-config/route-config';
import type { StatusCode } from '../util/status-code';
import { formatDurationString } from '../util/duration';

type RetryPolicyConfig = NonNullable<MethodConfig['retryPolicy']>;

const STATUS_NAMES: Readonly<Record<RetryableCode, keyof typeof StatusCode>> = {
  cancelled: 'CANCELLED',
  'deadline-exceeded': 'DEADLINE_EXCEEDED',
  internal: 'INTERNAL',
  'resource-exhausted': 'RESOURCE_EXHAUSTED',
  unavailable: 'UNAVAILABLE',
};

/** Returns the host library's method config: timeout (gRFC A31) and retries (gRFC A44). */
export function toMethodConfig(
  timeoutMs: number | undefined,
  retryPolicy: RetryPolicy | undefined,
): MethodConfig {
  const config: MethodConfig = { name: [] };
  if (timeoutMs !== undefined) config.timeout = toDuration(timeoutMs);
  if (retryPolicy !== undefined) config.retryPolicy = toRetryPolicyConfig(retryPolicy);
  return config;
}

/** Returns the timeout of the route's calls in milliseconds, besides the application's own deadline (gRFC A31). */
export function effectiveTimeoutMs(
  { action }: Route,
  listenerMaxStreamDurationMs: number | undefined,
): number | undefined {
  if (action.kind !== 'forward') return undefined;
  const timeoutMs = action.maxStreamDurationMs ?? listenerMaxStreamDurationMs ?? 0;
  return timeoutMs > 0 ? timeoutMs : undefined;
}

/** Returns the retry policy of the route, or else of its virtual host (gRFC A44). */
export function effectiveRetryPolicy(
  { action }: Route,
  virtualHost: VirtualHost,
): RetryPolicy | undefined {
  if (action.kind !== 'forward') return undefined;
  const policy = action.retryPolicy ?? virtualHost.retryPolicy;
  return policy === 'none' ? undefined : policy;
}

function toDuration(ms: number): { seconds: number; nanos: number } {
  const seconds = Math.floor(ms / 1000);
  return { seconds, nanos: Math.round((ms - seconds * 1000) * 1e6) };
}

function toRetryPolicyConfig(policy: RetryPolicy): RetryPolicyConfig {
  return {
    maxAttempts: policy.maxAttempts,
    initialBackoff: formatDurationString(policy.baseIntervalMs),
    maxBackoff: formatDurationString(policy.maxIntervalMs),
    backoffMultiplier: 2,
    retryableStatusCodes: policy.retryOn.map((code) => STATUS_NAMES[code]),
  };
}
