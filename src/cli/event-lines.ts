import {
  findResourceKind,
  type ClientEvent,
  type ClientIdentity,
  type Snapshot,
} from '../control-plane';
import { assertNever } from '../util/assert-never';
import { titleOf } from './snapshot-table';

/**
 * What to tell the operator about an event; undefined for what goes without saying.
 *
 * @param snapshot What the clients are told at the moment.
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

/** A client waits for what it asks for; what this server does not have, it will not get. */
function formatMissing(
  who: string,
  typeUrl: string,
  names: readonly string[],
  snapshot: Snapshot,
): string | undefined {
  const kind = findResourceKind(typeUrl);
  if (kind === undefined) return `${who} asks for ${typeUrl}, which this server does not have`;
  const missing = names.filter((name) => snapshot.get(kind, name) === undefined);
  if (missing.length === 0) return undefined;
  const list = missing.map((name) => JSON.stringify(name)).join(', ');
  return `${who} asks for ${formatType(typeUrl)} the file does not have: ${list}`;
}

/** `client 2 (node-1)` */
export function formatClient({ nodeId, streamId }: ClientIdentity): string {
  return nodeId === '' ? `client ${streamId}` : `client ${streamId} (${nodeId})`;
}

function formatType(typeUrl: string): string {
  const kind = findResourceKind(typeUrl);
  return kind === undefined ? typeUrl : titleOf(kind);
}

function oneLine(text: string): string {
  return text.replace(/\s*\n\s*/g, ' | ');
}
