import { rowId } from '../../live-page/row-id';
import {
  cellText,
  createView,
  matchesFilter,
  type Row,
  type View,
  type ViewRequest,
} from '../../live-page/view';
import type { ResourceChange } from '../../../xds-client/client-snapshot';
import { shortName, toIso } from '../report-texts';
import { MAX_EVENTS, type ProcessEvent } from './process-events';

/** An event of either kind. */
interface Entry {
  readonly atMs: number;
  readonly kind: string;
  readonly subject: string;
  readonly text: string;
}

/** The last changes of the resources of a target, and the last events of the process, the newest first. */
export function eventView(
  changes: readonly ResourceChange[],
  events: readonly ProcessEvent[],
  request: ViewRequest,
): View {
  const { target, filter } = request;
  const own = events.filter((event) => event.target === undefined || event.target === target);
  const entries = [...changes.map(toEntry), ...own].sort((a, b) => b.atMs - a.atMs);
  const found = entries
    .slice(0, MAX_EVENTS)
    .filter(({ kind, subject, text }) => matchesFilter(filter, kind, subject, text));
  const seen = new Map<string, number>();
  return createView(found, request, (entry) => toRow(entry, seen));
}

function toEntry({ atMs, typeUrl, name, kind, version, text }: ResourceChange): Entry {
  const subject = `${shortName(typeUrl)} ${name}`;
  const details = [version === '' ? '' : `version ${version}`, text].filter((part) => part !== '');
  return { atMs, kind, subject, text: details.join(': ') };
}

/** @param seen How many rows have been created for each time. */
function toRow({ atMs, kind, subject, text }: Entry, seen: Map<string, number>): Row {
  const at = toIso(atMs);
  const key = rowId(at, kind, subject);
  const count = seen.get(key) ?? 0;
  seen.set(key, count + 1);
  const id = `${key} ${count}`;
  return { id, at, kind, subject: cellText(subject), text: cellText(text) };
}
