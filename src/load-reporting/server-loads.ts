import { createHandle, type Handle } from '../util/handle';
import {
  ClusterLoad,
  type ClusterId,
  type ClusterOwner,
  type TakenClusterCounts,
} from './cluster-load';

/** The clusters that a server requests reports of. */
export type RequestedClusters = ReadonlySet<string> | 'all';

/** A hold on what a cluster's calls are counted by. */
export interface ClusterLoadHold extends Handle {
  readonly load: ClusterLoad;
}

/**
 * Everything that is to be reported to one server. A cluster is known while somebody holds it, calls to it are
 * running, or there is something left to report; so calls that outlive their channel are reported, too.
 */
export class ServerLoads implements ClusterOwner {
  private readonly clusters = new Map<string, ClusterLoad>();
  /** Out of the map, used again since, and replaced in the map by then: somebody kept an old picker. */
  private readonly strays = new Set<ClusterLoad>();

  /** @param onUseChanged Called whenever `isInUse` may have changed. */
  constructor(
    private readonly nowMs: () => number,
    private readonly onUseChanged: () => void,
  ) {}

  /** Whether there is, or will be, more to report. */
  get isInUse(): boolean {
    for (const load of this.all()) if (load.isInUse) return true;
    return false;
  }

  /** Takes a hold on a cluster. */
  acquire(id: ClusterId): ClusterLoadHold {
    const key = keyOf(id);
    let load = this.clusters.get(key);
    if (load === undefined) {
      load = new ClusterLoad(id, this.nowMs(), this);
      this.clusters.set(key, load);
    }
    const held = load;
    held.hold();
    this.onUseChanged();
    const handle = createHandle(() => held.letGo());
    return { load: held, release: () => handle.release() };
  }

  /**
   * Takes what there is to report of the wanted clusters. A cluster that nobody uses any more is forgotten, wanted
   * or not: later reports are about later calls.
   */
  take(wanted: RequestedClusters): readonly TakenClusterCounts[] {
    const nowMs = this.nowMs();
    const taken: TakenClusterCounts[] = [];
    for (const load of [...this.all()]) {
      const isWanted = wanted === 'all' || wanted.has(load.id.cluster);
      const counts = isWanted ? load.take(nowMs) : undefined;
      if (counts !== undefined) taken.push(counts);
      if (!load.isInUse) this.forget(load);
    }
    return taken;
  }

  /** Forgets what nobody will ask for: the clusters that are not used any more. */
  forgetUnused(): void {
    for (const load of [...this.all()]) if (!load.isInUse) this.forget(load);
  }

  onBusy(load: ClusterLoad): void {
    const key = keyOf(load.id);
    const known = this.clusters.get(key);
    if (known === load || this.strays.has(load)) return;
    if (known === undefined) this.clusters.set(key, load);
    else this.strays.add(load);
    this.onUseChanged();
  }

  onIdle(load: ClusterLoad): void {
    if (!load.isInUse) this.onUseChanged();
  }

  private *all(): IterableIterator<ClusterLoad> {
    yield* this.clusters.values();
    yield* this.strays;
  }

  private forget(load: ClusterLoad): void {
    const key = keyOf(load.id);
    if (this.clusters.get(key) === load) this.clusters.delete(key);
    this.strays.delete(load);
  }
}

function keyOf({ cluster, edsServiceName }: ClusterId): string {
  return JSON.stringify([cluster, edsServiceName]);
}
