import type { ClusterStore, ClusterWatcher } from '../../dependency-manager/xds-config';
import type { Handle } from '../../util/handle';
import type { CdsConfig } from './config';

interface Subscription {
  readonly cluster: string;
  readonly isDynamic: boolean;
  readonly clusters: ClusterStore;
  readonly watch: Handle;
  /** Keeps a dynamic cluster in the config. */
  readonly kept: Handle | undefined;
}

/** The subscription of a policy to its cluster: watches it and, if it is a dynamic one, keeps it in the config (gRFC A74). */
export class ClusterSubscription {
  private current: Subscription | undefined;

  constructor(private readonly watcher: ClusterWatcher) {}

  /** Subscribes to the cluster of the config, and to no other. */
  update({ cluster, isDynamic }: CdsConfig, clusters: ClusterStore): void {
    const before = this.current;
    const isCurrent =
      before?.cluster === cluster && before.isDynamic === isDynamic && before.clusters === clusters;
    if (isCurrent) return;
    // Before: a watcher watches a cluster once.
    before?.watch.release();
    const watch = clusters.watchCluster(cluster, this.watcher);
    const kept = isDynamic ? clusters.subscribeCluster(cluster) : undefined;
    this.current = { cluster, isDynamic, clusters, watch, kept };
    // Afterwards, so that a cluster that stays in use never leaves the config.
    before?.kept?.release();
  }

  release(): void {
    this.current?.watch.release();
    this.current?.kept?.release();
    this.current = undefined;
  }
}
