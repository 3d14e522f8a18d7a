import { BOOLEAN, optional, STRING, type MembersOf } from '../../util/check-arguments';
import type { Closable } from '../../util/handle';
import type { ResourceView, ServedResources } from '../ads/resource-view';
import type { ClientNode } from '../client-state';
import { findResourceKind } from '../resource';
import { checkConsistency, ConsistencyError } from './consistency';
import { Snapshot } from './snapshot';

/** The options of `ControlPlane.setSnapshot`. */
export interface SetSnapshotOptions {
  /** The node that receives the snapshot. Default: every node without a snapshot of its own or of its group. */
  readonly nodeId?: string;
  /** The group that receives it, as returned by `groupOf`: its nodes without a snapshot of their own. Not with `nodeId`. */
  readonly group?: string;
  /** Accepts a snapshot with references to missing resources. Default false. */
  readonly allowInconsistent?: boolean;
}

export const SET_OPTIONS: MembersOf<SetSnapshotOptions> = {
  nodeId: optional(STRING),
  group: optional(STRING),
  allowInconsistent: optional(BOOLEAN),
};

/** A snapshot as it is served. */
interface ServedSnapshot extends ServedResources {
  readonly snapshot: Snapshot;
}

/** Returns what is served of a snapshot: a resource that is not in it does not exist. */
export function serveSnapshot(snapshot: Snapshot): ServedSnapshot {
  return {
    snapshot,
    set(typeUrl) {
      const kind = findResourceKind(typeUrl);
      return kind && snapshot.set(kind);
    },
    isPending: () => false,
  };
}

/** The current snapshots: the shared one, and those of groups and nodes. */
export class SnapshotStore implements ResourceView {
  private shared = serveSnapshot(Snapshot.empty);
  private readonly byNode = new Map<string, ServedSnapshot>();
  private readonly byGroup = new Map<string, ServedSnapshot>();
  private readonly watchers = new Set<() => void>();

  /** @param groupOf Returns the group of a node; undefined if it has none. */
  constructor(private readonly groupOf: (node: ClientNode) => string | undefined) {}

  /**
   * Replaces a snapshot, and then calls the watchers.
   *
   * @throws `ConsistencyError` if the snapshot refers to resources it does not hold; the current one stays.
   */
  set(snapshot: Snapshot, { nodeId, group, allowInconsistent = false }: SetSnapshotOptions): void {
    if (!allowInconsistent) {
      const problems = checkConsistency(snapshot);
      if (problems.length > 0) throw new ConsistencyError(problems);
    }
    const served = serveSnapshot(snapshot);
    if (nodeId !== undefined) this.byNode.set(nodeId, served);
    else if (group !== undefined) this.byGroup.set(group, served);
    else this.shared = served;
    for (const onChanged of [...this.watchers]) onChanged();
  }

  watch(onChanged: () => void): Closable {
    this.watchers.add(onChanged);
    return { close: () => void this.watchers.delete(onChanged) };
  }

  /** Returns the resources of a node: those of its own snapshot, else of that of its group, else of the shared one. */
  resourcesFor(node: ClientNode): ServedResources {
    const own = this.byNode.get(node.id);
    if (own !== undefined) return own;
    const group = this.groupOf(node);
    return (group === undefined ? undefined : this.byGroup.get(group)) ?? this.shared;
  }

  get shortestTtlMs(): number | undefined {
    let shortest = Infinity;
    for (const { snapshot } of [this.shared, ...this.byNode.values(), ...this.byGroup.values()]) {
      shortest = Math.min(shortest, snapshot.shortestTtlMs ?? Infinity);
    }
    return shortest === Infinity ? undefined : shortest;
  }
}
