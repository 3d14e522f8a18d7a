import { checkConsistency, ConsistencyError } from './consistency';
import type { SetSnapshotOptions } from './control-plane-options';
import { Snapshot } from './snapshot';

/** What each node is told. */
export class SnapshotStore {
  private shared: Snapshot = Snapshot.empty;
  private readonly byNode = new Map<string, Snapshot>();

  /** @throws `ConsistencyError` when the snapshot refers to resources it does not hold; the old one then stays. */
  set(snapshot: Snapshot, { nodeId, allowInconsistent = false }: SetSnapshotOptions): void {
    if (!allowInconsistent) {
      const problems = checkConsistency(snapshot);
      if (problems.length > 0) throw new ConsistencyError(problems);
    }
    if (nodeId === undefined) this.shared = snapshot;
    else this.byNode.set(nodeId, snapshot);
  }

  /** A node's own snapshot or, failing that, the one of all. */
  for(nodeId: string): Snapshot {
    return this.byNode.get(nodeId) ?? this.shared;
  }

  /** The shortest time to live in any snapshot, in milliseconds; undefined when nothing expires. */
  get shortestTtlMs(): number | undefined {
    const lives = [this.shared, ...this.byNode.values()].flatMap(({ shortestTtlMs }) =>
      shortestTtlMs === undefined ? [] : [shortestTtlMs],
    );
    return lives.length === 0 ? undefined : Math.min(...lives);
  }
}
