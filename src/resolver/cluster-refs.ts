import type { LbConfig } from '../resources/extension-points';
import type { Handle } from '../util/handle';

/** One cluster that is referenced. */
interface SharedCluster {
  /** The name of the cluster itself. */
  readonly cluster: string;
  /** The name of the cluster's child in the cluster manager, such as `cluster:foo`. */
  readonly childName: string;
  readonly lbConfig: LbConfig;
  count: number;
  readonly onUnused: () => void;
}

/**
 * A reference to a cluster. The cluster stays in the load-balancing config and in the `XdsConfig` until every reference
 * is released (gRFCs A31, A74): those of the routes, and one for each call until its pick is committed.
 */
export class ClusterRef implements Handle {
  readonly cluster: string;
  /** The name of the cluster's child in the cluster manager, such as `cluster:foo`. */
  readonly childName: string;
  private isLive = true;

  constructor(private readonly shared: SharedCluster) {
    this.cluster = shared.cluster;
    this.childName = shared.childName;
    shared.count++;
  }

  /** Whether it has been released. */
  get isReleased(): boolean {
    return !this.isLive;
  }

  /** Acquires another reference to the same cluster. Only before the release of this one. */
  acquire(): ClusterRef {
    return new ClusterRef(this.shared);
  }

  release(): void {
    if (!this.isLive) return;
    this.isLive = false;
    if (--this.shared.count === 0) this.shared.onUnused();
  }
}

/** The clusters of one target that are referenced. */
export class ClusterRefs {
  private readonly clusters = new Map<string, SharedCluster>();
  private changes = 0;

  /**
   * @param subscribe Keeps the cluster in the `XdsConfig`.
   * @param createLbConfig Creates the config of the cluster's child.
   * @param onUnused Called when a cluster was removed.
   */
  constructor(
    private readonly subscribe: (cluster: string) => Handle,
    private readonly createLbConfig: (cluster: string) => LbConfig,
    private readonly onUnused: () => void,
  ) {}

  /** Changes whenever a cluster is added or removed. */
  get revision(): number {
    return this.changes;
  }

  /** Acquires a reference to a cluster. */
  acquire(cluster: string): ClusterRef {
    return new ClusterRef(this.clusters.get(cluster) ?? this.add(cluster));
  }

  /** Returns the child of each cluster in the cluster manager, with its config. */
  *children(): Iterable<readonly [childName: string, lbConfig: LbConfig]> {
    for (const { childName, lbConfig } of this.clusters.values()) yield [childName, lbConfig];
  }

  private add(cluster: string): SharedCluster {
    const subscription = this.subscribe(cluster);
    const shared: SharedCluster = {
      cluster,
      childName: `cluster:${cluster}`,
      lbConfig: this.createLbConfig(cluster),
      count: 0,
      onUnused: () => {
        // Removed first: the end of the subscription may synchronously publish a config without the cluster.
        this.clusters.delete(cluster);
        this.changes++;
        subscription.release();
        this.onUnused();
      },
    };
    this.clusters.set(cluster, shared);
    this.changes++;
    return shared;
  }
}
