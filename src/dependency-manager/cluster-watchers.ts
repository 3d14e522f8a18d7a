import { createHandle, type Handle } from '../util/handle';
import type { ClusterWatcher } from './xds-config';

/** The watchers of the clusters of one target. */
export class ClusterWatchers {
  private readonly watchers = new Map<string, Set<ClusterWatcher>>();

  /** Adds a watcher of a cluster, until released. */
  add(name: string, watcher: ClusterWatcher): Handle {
    const watchers = this.watchers.get(name) ?? new Set();
    watchers.add(watcher);
    this.watchers.set(name, watchers);
    return createHandle(() => {
      watchers.delete(watcher);
      if (watchers.size === 0 && this.watchers.get(name) === watchers) this.watchers.delete(name);
    });
  }

  /** Calls the watchers of clusters, all in one task of each batch: however many clusters changed, there is one picker. */
  notify(clusters: Iterable<string>): void {
    const due: ClusterWatcher[] = [];
    for (const name of clusters) {
      for (const watcher of this.watchers.get(name) ?? []) due.push(watcher);
    }
    let task = () => {
      for (const watcher of due) watcher.onClusterChanged();
    };
    for (const batch of new Set(due.map((watcher) => watcher.batch))) {
      const inner = task;
      task = () => batch.run(inner);
    }
    task();
  }
}
