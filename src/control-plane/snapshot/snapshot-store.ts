import type { ClientNode } from '../client-state';
import { checkConsistency, ConsistencyError } from './consistency';
import { Snapshot } from './snapshot';

/** The options of `ControlPlane.setSnapshot`. */
export interface SetSnapshotOptions {
  /** The node that receives the snapshot. Default: every node without a snapshot of its own or of its group. */
  readonly nodeId?: string;
  /** The group that receives it, as returned by `groupOf`: its nodes without a snapshot of their own. */
  readonly group?: string;
  /** Accepts a snapshot with references to resources it does not hold. Default false. */
  readonly allowInconsistent?: boolean;
}

/** The current snapshots: the shared one, and those of groups and nodes. */
export class SnapshotStore {
  private shared: Snapshot = Snapshot.empty;
  private readonly byNode = new Map<string, Snapshot>();
  private readonly byGroup = new Map<string, Snapshot>();

  /** @param groupOf Returns the group of a node; undefined if it has none. */
  constructor(private readonly groupOf: (node: ClientNode) => string | undefined) {}

  /**
   * Replaces a snapshot.
   *
   * @throws `ConsistencyError` if the snapshot refers to resources it does not hold; the current one stays.
   */
  set(snapshot: Snapshot, { nodeId, group, allowInconsistent = false }: SetSnapshotOptions): void {
    if (!allowInconsistent) {
      const problems = checkConsistency(snapshot);
      if (problems.length > 0) throw new ConsistencyError(problems);
    }
    if (nodeId !== undefined) this.byNode.set(nodeId, snapshot);
    if (group !== undefined) this.byGroup.set(group, snapshot);
    if (nodeId === undefined && group === undefined) this.shared = snapshot;
  }

  /** Returns the snapshot of a node: its own, else that of its group, else the shared one. */
  for(node: ClientNode): Snapshot {
    return this.byNode.get(node.id) ?? this.forGroup(this.groupOf(node)) ?? this.shared;
  }

  private forGroup(group: string | undefined): Snapshot | undefined {
    return group === undefined ? undefined : this.byGroup.get(group);
  }

  /** The shortest time to live in any snapshot, in milliseconds; undefined if no resource expires. */
  get shortestTtlMs(): number | undefined {
    let shortest = Infinity;
    for (const snapshot of [this.shared, ...this.byNode.values(), ...this.byGroup.values()]) {
      shortest = Math.min(shortest, snapshot.shortestTtlMs ?? Infinity);
    }
    return shortest === Infinity ? undefined : shortest;
  }
}
