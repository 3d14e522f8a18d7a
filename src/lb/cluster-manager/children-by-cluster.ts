import type { XdsConfig } from '../../dependency-manager/xds-config';
import type { LbConfig } from '../../resources/extension-points';
import { CdsConfig } from '../cds/config';

/** Which children go by which clusters of an `XdsConfig`. */
export class ChildrenByCluster {
  private readonly byCluster = new Map<string, string[]>();
  /** Children that are not cds, and may go by anything. */
  private readonly others: string[] = [];

  /** @param children The config of each child, by name. */
  constructor(children: ReadonlyMap<string, LbConfig>, { clusters }: XdsConfig) {
    for (const [child, config] of children) {
      if (!(config instanceof CdsConfig)) {
        this.others.push(child);
        continue;
      }
      this.add(config.cluster, child);
      const cluster = clusters.get(config.cluster);
      if (!cluster?.ok || cluster.value.children.kind !== 'aggregate') continue;
      for (const leaf of cluster.value.children.leafClusters) this.add(leaf, child);
    }
  }

  /** The names of the children that have to hear of changes of the clusters, none of which is an aggregate. */
  concernedBy(clusters: readonly string[]): ReadonlySet<string> {
    const concerned = new Set(this.others);
    for (const cluster of clusters) {
      for (const child of this.byCluster.get(cluster) ?? []) concerned.add(child);
    }
    return concerned;
  }

  private add(cluster: string, child: string): void {
    const children = this.byCluster.get(cluster);
    if (children === undefined) this.byCluster.set(cluster, [child]);
    else children.push(child);
  }
}
