import type { DropCategory } from '../../resources/endpoints/endpoints';
import type { LbConfig } from '../../resources/extension-points';
import type { LoadReporting } from './cluster-loads';

export const CLUSTER_IMPL = 'xds_cluster_impl_experimental';

/** The settings of `xds_cluster_impl_experimental` for one cluster. */
export interface ClusterImplOptions {
  readonly cluster: string;
  /** `service_name` of an EDS cluster; else empty. Concurrent calls are counted per cluster and this name. */
  readonly edsServiceName: string;
  /** Concurrent calls allowed, in the whole process (gRFC A32). */
  readonly maxRequests: number;
  /** Calls to drop, in order of evaluation (gRFC A27). */
  readonly drops: readonly DropCategory[];
  readonly childPolicy: LbConfig;
  /** Absent if no load is reported (gRFC A27). */
  readonly loadReporting?: LoadReporting | undefined;
}

/** The config of `xds_cluster_impl_experimental` (gRFCs A32, A37). */
export class ClusterImplConfig implements LbConfig {
  readonly policyName = CLUSTER_IMPL;

  constructor(readonly options: ClusterImplOptions) {}
}
