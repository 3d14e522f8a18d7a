import type { LbConfig } from '../resources/extension-points';
import type { Handle } from '../util/handle';

/**
 * One cluster that is referenced. The cluster stays in the load-balancing config and in the `XdsConfig` until every
 * reference is released (gRFCs A31, A74): those of the routes, and one for each call until its pick is committed.
 */
export class ActiveCluster {
  private count = 0;

  /**
   * @param cluster The name of the cluster itself; that of the child for a cluster specifier plugin.
   * @param lbConfig Replaced by a newer one of the plugin.
   * @param onUnused Called after the last release.
   * @param childName The name of the cluster's child in the cluster manager, such as `cluster:foo`.
   */
  constructor(
    readonly cluster: string,
    public lbConfig: LbConfig,
    private readonly onUnused: () => void,
    readonly childName = `cluster:${cluster}`,
  ) {}

  /** Counts a reference. The caller releases it exactly once; `ClusterRef` does that for others. */
  acquire(): void {
    this.count++;
  }

  release(): void {
    if (--this.count === 0) this.onUnused();
  }
}

/** A reference to a cluster. */
export class ClusterRef implements Handle {
  readonly cluster: string;
  /** The name of the cluster's child in the cluster manager, such as `cluster:foo`. */
  readonly childName: string;
  private isLive = true;

  /** @param target For a call that is itself the reference: a call should not leave many objects behind. */
  constructor(readonly target: ActiveCluster) {
    this.cluster = target.cluster;
    this.childName = target.childName;
    target.acquire();
  }

  /** Whether it has been released. */
  get isReleased(): boolean {
    return !this.isLive;
  }

  /** Acquires another reference to the same cluster. Only before the release of this one. */
  acquire(): ClusterRef {
    return new ClusterRef(this.target);
  }

  release(): void {
    if (!this.isLive) return;
    this.isLive = false;
    this.target.release();
  }
}

/** The clusters of one target that are referenced. */
export class ClusterRefs {
  private readonly clusters = new Map<string, ActiveCluster>();
  /** The cluster specifier plugins, which choose from clusters that they subscribe to themselves. */
  private readonly plugins = new Map<string, ActiveCluster>();
  /** Changes whenever a cluster is added or removed, or a plugin changes. Read only. */
  revision = 0;
  private isClosed = false;

  /**
   * @param subscribe Keeps the cluster in the `XdsConfig`.
   * @param createLbConfig Creates the config of the cluster's child.
   * @param onUnused Called when a cluster was removed.
   * @param run Runs a task in the queue in which changes are applied after the task. Default: at once.
   */
  constructor(
    private readonly subscribe: (cluster: string) => Handle,
    private readonly createLbConfig: (cluster: string) => LbConfig,
    private readonly onUnused: () => void,
    private readonly run: (task: () => void) => void = (task) => task(),
  ) {}

  /** Acquires a reference to a cluster. */
  acquire(cluster: string): ClusterRef {
    return new ClusterRef(this.clusters.get(cluster) ?? this.add(cluster));
  }

  /** Acquires a reference to a plugin, which has this config from now on. @param name That of its child. */
  acquirePlugin(name: string, lbConfig: LbConfig): ClusterRef {
    const plugin = this.plugins.get(name) ?? this.addPlugin(name, lbConfig);
    if (plugin.lbConfig !== lbConfig) {
      plugin.lbConfig = lbConfig;
      this.revision++;
    }
    return new ClusterRef(plugin);
  }

  /** Releases the references of a table of routes. */
  releaseAll(refs: ReadonlyMap<string, ClusterRef>): void {
    if (this.isClosed) return;
    // In one task: there may be thousands, and what follows from their removal is done once.
    this.run(() => {
      for (const ref of refs.values()) ref.release();
    });
  }

  /** The target is not used any more: nothing follows from what a table has references to. */
  close(): void {
    this.isClosed = true;
  }

  /** Returns every cluster and plugin. */
  all(): readonly ActiveCluster[] {
    return [...this.clusters.values(), ...this.plugins.values()];
  }

  private addPlugin(name: string, lbConfig: LbConfig): ActiveCluster {
    const onUnused = () => {
      this.plugins.delete(name);
      this.revision++;
      this.onUnused();
    };
    const added = new ActiveCluster(name, lbConfig, onUnused, name);
    this.plugins.set(name, added);
    this.revision++;
    return added;
  }

  private add(cluster: string): ActiveCluster {
    const subscription = this.subscribe(cluster);
    const added = new ActiveCluster(cluster, this.createLbConfig(cluster), () => {
      // Removed first: the end of the subscription may synchronously publish a config without the cluster.
      this.clusters.delete(cluster);
      this.revision++;
      subscription.release();
      this.onUnused();
    });
    this.clusters.set(cluster, added);
    this.revision++;
    return added;
  }
}
