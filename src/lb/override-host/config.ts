import type { HealthStatus } from '../../resources/endpoints/endpoints';
import type { LbConfig } from '../../resources/extension-points';
import { parseObject, readDurationMs, readList, readRequiredString } from '../../util/json-fields';
import type { Violations } from '../../util/violations';
import type { ParseLbConfig } from '../lb-policy';
import { readChildPolicy } from '../registry/policy-config';

export const OVERRIDE_HOST = 'xds_override_host_experimental';

/** The default time for which a connection without calls is kept for sessions (gRFC A75). */
const DEFAULT_IDLE_TIMEOUT_MS = 3_600_000;

const HEALTH_STATUSES: ReadonlySet<unknown> = new Set<HealthStatus>([
  'UNKNOWN',
  'HEALTHY',
  'DRAINING',
]);
const defaultStatuses: ReadonlySet<HealthStatus> = new Set(['UNKNOWN', 'HEALTHY']);

export interface OverrideHostOptions {
  readonly cluster: string;
  /** The health states of endpoints that sessions may stay on (gRFC A55). */
  readonly statuses: ReadonlySet<HealthStatus>;
  /** Milliseconds without a call after which a connection is released (gRFC A75). */
  readonly idleTimeoutMs: number;
  readonly childPolicy: LbConfig;
}

/** The config of `xds_override_host_experimental` (gRFCs A55, A75). */
export class OverrideHostConfig implements LbConfig {
  readonly policyName = OVERRIDE_HOST;

  constructor(readonly options: OverrideHostOptions) {}
}

/**
 * Validates the JSON config `{ clusterName, overrideHostStatus, connectionIdleTimeout, childPolicy }`. By gRFC A74,
 * `overrideHostStatus` is read from the `XdsConfig`; here `cds_experimental` fills in all fields, so that the policy
 * depends only on its config.
 */
export const parseOverrideHostConfig: ParseLbConfig<OverrideHostConfig> = (
  json,
  violations,
  parser,
) =>
  parseObject(json, violations, (fields) => {
    const cluster = readRequiredString(fields, 'clusterName', violations);
    const names = readList(fields, 'overrideHostStatus', violations);
    const statuses = parseStatuses(names, violations.at('overrideHostStatus'));
    const idleTimeoutMs = readDurationMs(
      fields,
      'connectionIdleTimeout',
      DEFAULT_IDLE_TIMEOUT_MS,
      violations,
    );
    const childPolicy = readChildPolicy(fields, violations, parser);
    if (cluster === undefined || childPolicy === undefined) return undefined;
    return new OverrideHostConfig({
      cluster,
      statuses: fields.has('overrideHostStatus') ? statuses : defaultStatuses,
      idleTimeoutMs,
      childPolicy,
    });
  });

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
