import {
  findResourceKind,
  clusterKind,
  endpointKind,
  listenerKind,
  routeKind,
  type ClientEvent,
  type ClientStream,
  type Snapshot,
  type ResourceKind,
  type ClusterLoad,
  type LocalityLoad,
} from 'grpc-xds/control-plane';
import { assertNever } from '../../../src/util/errors';
import { listFirst, quoteText } from '../../../src/util/text';
import { formatTable, type Cell } from './io';

/**
 * Formats an event for the operator; `undefined` for an event that is not shown.
 *
 * @param snapshot The current snapshot of the clients.
 */
export function formatEvent(event: ClientEvent, snapshot: Snapshot): string | undefined {
  const who = formatClient(event.client);
  switch (event.kind) {
    case 'connected':
      return `${who} connected from ${event.client.peer}`;
    case 'disconnected':
      return `${who} disconnected`;
    case 'acked':
      return `${who} accepted ${formatType(event.typeUrl)} ${event.version}`;
    case 'nacked':
      return `${who} REJECTED ${formatType(event.typeUrl)} ${event.version}: ${oneLine(event.message)}`;
    case 'subscribed':
      return formatMissing(who, event.typeUrl, event.names, snapshot);
    case 'sent':
    case 'heartbeat':
      return undefined;
    default:
      return assertNever(event);
  }
}

/** Formats the requested resources that the snapshot does not have. */
function formatMissing(
  who: string,
  typeUrl: string,
  names: readonly string[],
  snapshot: Snapshot,
): string | undefined {
  const kind = findResourceKind(typeUrl);
  if (kind === undefined) return `${who} requests ${typeUrl}, which this server does not have`;
  const missing = names.filter((name) => snapshot.get(kind, name) === undefined);
  if (missing.length === 0) return undefined;
  const shown = listFirst(missing, (name) => quoteText(name)).join(', ');
  return `${who} requests ${formatType(typeUrl)} the file does not have: ${shown}`;
}

/** `client 2 (node-1)` */
export function formatClient({ nodeId, streamId }: ClientStream): string {
  return nodeId === '' ? `client ${streamId}` : `client ${streamId} (${nodeId})`;
}

function formatType(typeUrl: string): string {
  const kind = findResourceKind(typeUrl);
  return kind === undefined ? typeUrl : titleOf(kind);
}

function oneLine(text: string): string {
  const lines = text.split('\n').map((line) => line.trim());
  return lines.filter((line) => line !== '').join(' | ');
}

/** The kinds of resources with their names for users, in the order in which clients request them. */
const kindTitles: ReadonlyMap<ResourceKind, string> = new Map([
  [listenerKind, 'listeners'],
  [routeKind, 'routes'],
  [clusterKind, 'clusters'],
  [endpointKind, 'endpoints'],
]);

/** Returns the kinds of some snapshots: the four main kinds, then all others. */
export function kindsOf(...snapshots: readonly Snapshot[]): readonly ResourceKind[] {
  return [...new Set([...kindTitles.keys(), ...snapshots.flatMap((snapshot) => snapshot.kinds())])];
}

/** Returns the name of a kind for users. */
export function titleOf(kind: ResourceKind): string {
  return kindTitles.get(kind) ?? kind.label;
}

/** Formats a row per kind with the number of resources and their first names. */
export function formatSnapshot(snapshot: Snapshot): readonly string[] {
  return kindsOf(snapshot).map((kind) => {
    const names = [...snapshot.set(kind).byName.keys()];
    const list = listFirst(names).join(', ');
    return `  ${titleOf(kind).padEnd(9)} ${String(names.length).padStart(5)}  ${list}`.trimEnd();
  });
}

const titles = ['cluster', 'locality', 'started', 'succeeded', 'failed', 'running', 'dropped'];

/** Formats a row per cluster and locality, and one per cluster for the calls that were dropped before they had one. */
export function formatLoads(loads: readonly ClusterLoad[]): readonly string[] {
  return formatTable(titles, loads.flatMap(rowsOf));
}

/** Whether a report has calls; clients also report clusters without calls. */
export function hasLoad({ localities, totalDropped }: ClusterLoad): boolean {
  return (
    totalDropped > 0 ||
    localities.some((each) => each.issued + each.failed + each.succeeded + each.inProgress > 0)
  );
}

function rowsOf(load: ClusterLoad): readonly (readonly Cell[])[] {
  const { cluster, serviceName, totalDropped } = load;
  const name =
    serviceName === '' || serviceName === cluster ? cluster : `${cluster} (${serviceName})`;
  const rows: (readonly Cell[])[] = load.localities.map((locality) => {
    const { issued, succeeded, failed, inProgress } = locality;
    return [name, formatLocality(locality), issued, succeeded, failed, inProgress, 0];
  });
  if (totalDropped > 0) rows.push([name, formatDrops(load), 0, 0, 0, 0, totalDropped]);
  return rows;
}

function formatLocality({ region, zone, subZone }: LocalityLoad): string {
  const parts = [region, zone, subZone];
  while (parts.at(-1) === '') parts.pop();
  return parts.length === 0 ? '-' : parts.join('/');
}

/** Formats dropped calls by category: `throttle 3, other 2`. */
function formatDrops({ droppedByCategory, totalDropped }: ClusterLoad): string {
  let other = totalDropped;
  const reasons: string[] = [];
  for (const [category, count] of droppedByCategory) {
    reasons.push(`${category} ${count}`);
    other -= count;
  }
  if (reasons.length > 0 && other > 0) reasons.push(`other ${other}`);
  return reasons.length === 0 ? '-' : reasons.join(', ');
}
