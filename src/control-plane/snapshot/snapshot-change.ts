import type { ResourceKind } from './resource-kind';
import { changedNames } from './resource-set';
import type { Snapshot } from './snapshot';

/** The change from one snapshot to the next. The sets of each kind are compared when a client needs it, and once. */
export class SnapshotChange {
  private readonly names = new Map<ResourceKind, readonly string[]>();

  constructor(
    readonly previous: Snapshot,
    readonly next: Snapshot,
  ) {}

  /** Returns the names and aliases of a kind for which clients receive something else, or nothing any more. */
  changedNames(kind: ResourceKind): readonly string[] {
    let names = this.names.get(kind);
    if (names === undefined) {
      names = changedNames(this.previous.set(kind), this.next.set(kind));
      this.names.set(kind, names);
    }
    return names;
  }
}

/** The changes that the streams of a server apply at one time. Streams with the same snapshots share one. */
export class SnapshotChanges {
  private readonly byPrevious = new Map<Snapshot, SnapshotChange>();

  /** Returns the change from one snapshot to another. */
  between(previous: Snapshot, next: Snapshot): SnapshotChange {
    const known = this.byPrevious.get(previous);
    if (known?.next === next) return known;
    const change = new SnapshotChange(previous, next);
    this.byPrevious.set(previous, change);
    return change;
  }
}
