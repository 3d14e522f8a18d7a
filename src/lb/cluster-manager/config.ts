import type { LbConfig } from '../../resources/extension-points';

export const CLUSTER_MANAGER = 'xds_cluster_manager_experimental';

/** Why a channel has no clusters: its target is not resolved. */
export interface Unresolved {
  /** The error of calls; `undefined` while the first config is pending. */
  readonly error: string | undefined;
  /** Whether calls that wait for ready fail with it, too. Default false. */
  readonly isFinal?: boolean;
}

/** The config of `xds_cluster_manager_experimental` (gRFC A31). */
export class ClusterManagerConfig implements LbConfig {
  readonly policyName = CLUSTER_MANAGER;

  /**
   * @param children The policy of each child, by a name such as `cluster:foo`.
   * @param unresolved Set as long as there is no config to have children from.
   */
  constructor(
    readonly children: ReadonlyMap<string, LbConfig>,
    readonly unresolved?: Unresolved,
  ) {}
}
