import type { Handle } from '../../util/handle';
import {
  ClusterLoad,
  type ClusterId,
  type ClusterOwner,
  type TakenClusterCounts,
} from './cluster-load';

/** The clusters that a server requests reports of. */
export type RequestedClusters = ReadonlySet<string> | 'all';

/** A reference to the load of a cluster. */
export interface ClusterLoadReference extends Handle {
  readonly load: ClusterLoad;
}

/**
 * The loads that are reported to one server. A cluster is known while it is referenced, calls to it are in progress, or
 * it has something to report; so that calls that outlive their channel are reported, too.
 */
export class ServerLoads implements ClusterOwner {
  private readonly clusters = new Map<string, ClusterLoad>();
  /** Replaced in the map after they were removed from it, and used again since, by calls of an old picker. */
  private readonly replaced = new Set<ClusterLoad>();

  /** @param onUseChanged Called whenever `isInUse` may have changed. */
  constructor(
    private readonly nowMs: () => number,
    private readonly onUseChanged: () => void,
  ) {}

  /** Whether there is, or will be, something to report. */
  get isInUse(): boolean {
    for (const load of this.all()) if (load.isInUse) return true;
    return false;
  }

  /** Acquires the load of a cluster. */
  acquire(id: ClusterId): ClusterLoadReference {
    const key = keyOf(id);
    let load = this.clusters.get(key);
    if (load === undefined) {
      load = new ClusterLoad(id, this.nowMs(), this);
      this.clusters.set(key, load);
    }
    const reference = load.acquire();
    this.onUseChanged();
    return { load, release: () => reference.release() };
  }

  /**
   * Takes the counts of the requested clusters, one cluster at a time; `undefined` for one without. A cluster that is not in
   * use is removed, requested or not: later reports are about later calls.
   */
  *take(requested: RequestedClusters): IterableIterator<TakenClusterCounts | undefined> {
    for (const load of [...this.all()]) {
      const isRequested = requested === 'all' || requested.has(load.id.cluster);
      const counts = isRequested ? load.take(this.nowMs()) : undefined;
      if (!load.isInUse) this.remove(load);
      yield counts;
    }
  }

  /** Removes the clusters that are not in use. */
  removeUnused(): void {
    for (const load of [...this.all()]) if (!load.isInUse) this.remove(load);
  }

  onBusy(load: ClusterLoad): void {
    const key = keyOf(load.id);
    const known = this.clusters.get(key);
    if (known === load || this.replaced.has(load)) return;
    if (known === undefined) this.clusters.set(key, load);
    else this.replaced.add(load);
    this.onUseChanged();
  }

  onIdle(load: ClusterLoad): void {
    if (!load.isInUse) this.onUseChanged();
  }

  private *all(): IterableIterator<ClusterLoad> {
    yield* this.clusters.values();
    yield* this.replaced;
  }

  private remove(load: ClusterLoad): void {
    const key = keyOf(load.id);
    if (this.clusters.get(key) === load) this.clusters.delete(key);
    this.replaced.delete(load);
  }
}

function keyOf({ cluster, edsServiceName }: ClusterId): string {
  return JSON.stringify([cluster, edsServiceName]);
}
