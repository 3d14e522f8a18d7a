import type { LbConfig } from '../resources/extension-points';
import type { Handle } from '../util/handle';

/**
 * One cluster that calls may be sent to. Config selectors and calls hold it; while anyone does, it stays in
 * the load-balancing config and in the `XdsConfig` (gRFCs A31, A74).
 */
export class ClusterRef {
  private holders = 0;

  /**
   * @param cluster The name of the cluster itself.
   * @param childName The name of the cluster's child in the cluster manager, such as `cluster:foo`.
   * @param lbConfig The config of that child.
   */
  constructor(
    readonly cluster: string,
    readonly childName: string,
    readonly lbConfig: LbConfig,
    private readonly onUnused: () => void,
  ) {}

  /** Whether anyone holds it. Once nobody does, it is gone for good. */
  get isHeld(): boolean {
    return this.holders > 0;
  }

  /** Takes a hold. Each must be let go exactly once. */
  hold(): void {
    this.holders++;
  }

  /** Lets go of one hold; the last one gives the cluster up. */
  letGo(): void {
    if (--this.holders > 0) return;
    this.onUnused();
  }
}

/** The clusters of one target that are held by anyone, by name. */
export class ClusterRefs {
  private readonly refs = new Map<string, ClusterRef>();
  /** Counts changes of the set of clusters, so that a reader can tell whether there was one. */
  private changes = 0;

  /**
   * @param subscribe Keeps the cluster in the `XdsConfig`.
   * @param createLbConfig Makes the config of the cluster's child.
   * @param onUnused Called when a cluster has left the set.
   */
  constructor(
    private readonly subscribe: (cluster: string) => Handle,
    private readonly createLbConfig: (cluster: string) => LbConfig,
    private readonly onUnused: () => void,
  ) {}

  /** The ref of a cluster, with a hold taken on it. */
  hold(cluster: string): ClusterRef {
    const ref = this.refs.get(cluster) ?? this.add(cluster);
    ref.hold();
    return ref;
  }

  /** Grows whenever a cluster joins or leaves. */
  get revision(): number {
    return this.changes;
  }

  /** Every cluster that is held. */
  values(): Iterable<ClusterRef> {
    return this.refs.values();
  }

  private add(cluster: string): ClusterRef {
    const subscription = this.subscribe(cluster);
    const ref = new ClusterRef(cluster, `cluster:${cluster}`, this.createLbConfig(cluster), () => {
      // Out of the set first: the end of the subscription may publish a config without the cluster at once.
      this.refs.delete(cluster);
      this.changes++;
      subscription.release();
      this.onUnused();
    });
    this.refs.set(cluster, ref);
    this.changes++;
    return ref;
  }
}
