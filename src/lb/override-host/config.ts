import { formatDurationString } from '../../util/duration-string';
import { readDurationMs, readList, readObject, readRequiredString } from '../../util/json-fields';
import type { HealthStatus } from '../../resources/endpoints/endpoints';
import type { LbConfig } from '../../resources/extension-points';
import type { Violations } from '../../util/violations';
import type { LbChildParser } from '../lb-policy';
import { childPolicyToJson } from '../policy-json';

/** The gRPC name of the policy. */
export const OVERRIDE_HOST = 'xds_override_host_experimental';

/** How long a connection is kept for sessions nobody continues, unless the cluster says otherwise (gRFC A75). */
const DEFAULT_IDLE_TIMEOUT_MS = 3_600_000;

const HEALTH_STATUSES: ReadonlySet<unknown> = new Set<HealthStatus>([
  'UNKNOWN',
  'HEALTHY',
  'DRAINING',
]);
const defaultStatuses: ReadonlySet<HealthStatus> = new Set(['UNKNOWN', 'HEALTHY']);

/** What `xds_override_host_experimental` goes by. */
export interface OverrideHostOptions {
  readonly cluster: string;
  /** The health states of endpoints that sessions may stick to (gRFC A55). */
  readonly statuses: ReadonlySet<HealthStatus>;
  /** Milliseconds without a call after which a connection is no longer kept for sessions (gRFC A75). */
  readonly idleTimeoutMs: number;
  readonly childPolicy: LbConfig;
}

/** The config of `xds_override_host_experimental` (gRFCs A55, A75). */
export class OverrideHostConfig implements LbConfig {
  readonly policyName = OVERRIDE_HOST;

  constructor(readonly options: OverrideHostOptions) {}

  toJson(): object {
    const { cluster, statuses, idleTimeoutMs, childPolicy } = this.options;
    return {
      clusterName: cluster,
      overrideHostStatus: [...statuses],
      connectionIdleTimeout: formatDurationString(idleTimeoutMs),
      childPolicy: childPolicyToJson(childPolicy),
    };
  }
}

/**
 * Validates the JSON config `{ clusterName, overrideHostStatus, connectionIdleTimeout, childPolicy }`. gRFC A74 took
 * `overrideHostStatus` out of it and has the policy read the `XdsConfig`; here `cds_experimental` fills in the
 * whole, so the policy depends on nothing but its config.
 */
export function parseOverrideHostConfig(
  json: unknown,
  violations: Violations,
  parser: LbChildParser,
): OverrideHostConfig | undefined {
  const before = violations.count;
  const fields = readObject(json, violations);
  if (fields === undefined) return undefined;
  const cluster = readRequiredString(fields, 'clusterName', violations);
  const names = readList(fields, 'overrideHostStatus', violations);
  const statuses = parseStatuses(names, violations.at('overrideHostStatus'));
  const idleTimeoutMs = readDurationMs(
    fields,
    'connectionIdleTimeout',
    DEFAULT_IDLE_TIMEOUT_MS,
    violations,
  );
  const childPolicy = parser.parseList(fields.get('childPolicy'), violations.at('childPolicy'));
  if (violations.count > before) return undefined;
  if (cluster === undefined || childPolicy === undefined) return undefined;
  return new OverrideHostConfig({
    cluster,
    statuses: fields.has('overrideHostStatus') ? statuses : defaultStatuses,
    idleTimeoutMs,
    childPolicy,
  });
}

function parseStatuses(
  names: readonly unknown[],
  violations: Violations,
): ReadonlySet<HealthStatus> {
  const statuses = new Set<HealthStatus>();
  for (const [i, name] of names.entries()) {
    if (isHealthStatus(name)) statuses.add(name);
    else violations.index(i).add('must be UNKNOWN, HEALTHY or DRAINING');
  }
  return statuses;
}

function isHealthStatus(value: unknown): value is HealthStatus {
  return HEALTH_STATUSES.has(value);
}
