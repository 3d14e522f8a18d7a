import {
  clusterKind,
  endpointKind,
  listenerKind,
  routeKind,
  type ResourceKind,
  type Snapshot,
} from '../control-plane';

/** The kinds of resources under the names users know them by, in the order clients ask for them. */
const kindTitles: ReadonlyMap<ResourceKind, string> = new Map([
  [listenerKind, 'listeners'],
  [routeKind, 'routes'],
  [clusterKind, 'clusters'],
  [endpointKind, 'endpoints'],
]);

/** The kinds of some snapshots: those users know, and after them all others there are. */
export function kindsOf(...snapshots: readonly Snapshot[]): readonly ResourceKind[] {
  return [...new Set([...kindTitles.keys(), ...snapshots.flatMap((snapshot) => snapshot.kinds())])];
}

/** What users call resources of a kind. */
export function titleOf(kind: ResourceKind): string {
  return kindTitles.get(kind) ?? kind.label;
}

/** How many names a row of the table shows. */
const shownNames = 5;

/** A row per kind with the number of resources and their first names. */
export function formatSnapshot(snapshot: Snapshot): readonly string[] {
  return kindsOf(snapshot).map((kind) => {
    const names = [...snapshot.set(kind).byName.keys()];
    const more = names.length > shownNames ? `, and ${names.length - shownNames} more` : '';
    const list = names.slice(0, shownNames).join(', ') + more;
    return `  ${titleOf(kind).padEnd(9)} ${String(names.length).padStart(5)}  ${list}`.trimEnd();
  });
}
