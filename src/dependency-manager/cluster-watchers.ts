import { createHandle, type Handle } from '../util/handle';
import { STEP_SIZE, type Steps } from '../util/steps';
import type { ClusterWatcher } from './xds-config';

/** The number of watchers that are called in one step. */
const WATCHERS_PER_STEP = 32;

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

  /**
   * Calls the watchers of clusters, those of one step in one task of each batch: of a few clusters that changed, there is one
   * picker. Each watcher may update a tree of policies.
   */
  *notify(clusters: ReadonlySet<string>): Steps<void> {
    let due: ClusterWatcher[] = [];
    let count = 0;
    for (const name of clusters) {
      if (++count % STEP_SIZE === 0) yield;
      for (const watcher of this.watchers.get(name) ?? []) due.push(watcher);
      if (due.length < WATCHERS_PER_STEP) continue;
      notifyAtOnce(due);
      due = [];
      yield;
    }
    notifyAtOnce(due);
  }
}

function notifyAtOnce(due: readonly ClusterWatcher[]): void {
  let task = () => {
    for (const watcher of due) watcher.onClusterChanged();
  };
  for (const batch of new Set(due.map((watcher) => watcher.batch))) {
    const inner = task;
    task = () => batch.run(inner);
  }
  task();
}
