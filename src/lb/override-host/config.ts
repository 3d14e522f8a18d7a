import type { HealthStatus } from '../../resources/endpoints/endpoints';
import type { LbConfig } from '../../resources/extension-points';

export const OVERRIDE_HOST = 'xds_override_host_experimental';

export interface OverrideHostOptions {
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
