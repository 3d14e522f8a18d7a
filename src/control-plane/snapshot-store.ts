import type { ClientNode } from './client-state';
import { checkConsistency, ConsistencyError } from './consistency';
import type { SetSnapshotOptions } from './control-plane-options';
import { Snapshot } from './snapshot';

/** What each node is told. */
export class SnapshotStore {
  private shared: Snapshot = Snapshot.empty;
  private readonly byNode = new Map<string, Snapshot>();
  private readonly byGroup = new Map<string, Snapshot>();

  /** @param groupOf The group of a node; undefined for none. */
  constructor(private readonly groupOf: (node: ClientNode) => string | undefined) {}

  /** @throws `ConsistencyError` when the snapshot refers to resources it does not hold; the old one then stays. */
  set(snapshot: Snapshot, { nodeId, group, allowInconsistent = false }: SetSnapshotOptions): void {
    if (!allowInconsistent) {
      const problems = checkConsistency(snapshot);
      if (problems.length > 0) throw new ConsistencyError(problems);
    }
    if (nodeId !== undefined) this.byNode.set(nodeId, snapshot);
    if (group !== undefined) this.byGroup.set(group, snapshot);
    if (nodeId === undefined && group === undefined) this.shared = snapshot;
  }

  /** A node's own snapshot or, failing that, the one of its group or, failing that, the one of all. */
  for(node: ClientNode): Snapshot {
    return this.byNode.get(node.id) ?? this.forGroup(this.groupOf(node)) ?? this.shared;
  }

  private forGroup(group: string | undefined): Snapshot | undefined {
    return group === undefined ? undefined : this.byGroup.get(group);
  }

  /** The shortest time to live in any snapshot, in milliseconds; undefined when nothing expires. */
  get shortestTtlMs(): number | undefined {
    const lives = [this.shared, ...this.byNode.values(), ...this.byGroup.values()].flatMap(
      ({ shortestTtlMs }) => (shortestTtlMs === undefined ? [] : [shortestTtlMs]),
    );
    return lives.length === 0 ? undefined : Math.min(...lives);
  }
}
