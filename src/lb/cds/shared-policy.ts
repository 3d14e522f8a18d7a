import type { ClusterConfig } from '../../dependency-manager/xds-config';
import type { LbConfig } from '../../resources/extension-points';
import type { CdsConfig } from './config';

/** A cluster whose policy is that of its aggregate cluster. */
interface Replaced {
  readonly original: ClusterConfig;
  readonly lbConfig: LbConfig;
  readonly cluster: ClusterConfig;
}

/** The policy that the leaves of an aggregate cluster share, as before gRFC A75. */
export class SharedPolicy {
  private replaced: Replaced | undefined;

  /** Returns the cluster with the shared policy, if the config has one. The same object while neither changes. */
  applyTo(cluster: ClusterConfig, { lbConfig }: CdsConfig): ClusterConfig {
    if (lbConfig === undefined) return cluster;
    const { replaced } = this;
    if (replaced?.original === cluster && replaced.lbConfig === lbConfig) return replaced.cluster;
    const resource = { ...cluster.resource, lbConfig };
    this.replaced = { original: cluster, lbConfig, cluster: { ...cluster, resource } };
    return this.replaced.cluster;
  }
}
