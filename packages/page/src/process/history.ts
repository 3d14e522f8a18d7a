import {
  cellText,
  createView,
  matchesFilter,
  MAX_EVENT_ROWS,
  rowId,
  type Row,
  type View,
  type ViewRequest,
} from '../live-page/view';
import { type ResourceChange } from 'grpc-xds/internal';
import { shortName } from '../../../../src/util/text';
import { shareList } from '../../../../src/util/share';
import { toIso } from '../../../../src/util/since';
import type { ProcessEvent } from './events';

/** The number of events of a target that a page has. */
const MAX_EVENTS = 1000;

/** An event of the history of a target: a change of a resource, or an event of the process. */
export interface HistoryEvent {
  readonly atMs: number;
  readonly kind: string;
  readonly subject: string;
  readonly text: string;
  /** How many events before it have the same time, kind and subject. */
  readonly position: number;
  readonly change: ResourceChange | undefined;
  /** Where it is looked up; absent in the list of one target. */
  readonly target?: string;
}

/** Returns the last events of a target, the newest first. */
export function listEvents(
  changes: readonly ResourceChange[],
  events: readonly ProcessEvent[],
  target: string,
): readonly HistoryEvent[] {
  const all = [
    ...changes.map((change) => ({ ...describeChange(change), change })),
    ...eventsOf(events, target).map((event) => ({ ...event, change: undefined })),
  ];
  // A change comes before the events that follow from it, which may have the same time.
  all.sort((a, b) => a.atMs - b.atMs);
  const counts = new Map<string, number>();
  const listed = all.slice(-MAX_EVENTS).map(({ atMs, kind, subject, text, change }) => {
    const key = JSON.stringify([atMs, kind, subject]);
    const position = counts.get(key) ?? 0;
    counts.set(key, position + 1);
    return { atMs, kind, subject, text, position, change };
  });
  return listed.reverse();
}

/** Those of a target, and of the process. */
function eventsOf(events: readonly ProcessEvent[], target: string): readonly ProcessEvent[] {
  return events.filter((event) => event.target === undefined || event.target === target);
}

/** Joins the events of several targets, the newest first: what is of the process or of a resource that they share is there once. */
export function joinEvents(
  lists: Iterable<readonly [target: string, events: readonly HistoryEvent[]]>,
): readonly HistoryEvent[] {
  const joined = new Map<string, HistoryEvent>();
  for (const [target, events] of lists) {
    for (const event of events) {
      const key = JSON.stringify([event.atMs, event.kind, event.subject, event.position]);
      if (!joined.has(key)) joined.set(key, { ...event, target });
    }
  }
  return [...joined.values()].sort((a, b) => b.atMs - a.atMs).slice(0, MAX_EVENTS);
}

/** Returns the id of an event, which stays the same while it is kept. */
export function eventId({ atMs, kind, subject, position }: HistoryEvent): string {
  return `${rowId(toIso(atMs), kind, subject)}.${position}`;
}

/** Finds an event by its id. */
export function findEvent(events: readonly HistoryEvent[], id: string): HistoryEvent | undefined {
  return events.find((event) => eventId(event) === id);
}

/** The events of a target as one reader sees them: rows are made again only when there are other events. */
export class ListedEvents {
  private latest: { readonly listed: readonly object[]; readonly view: View } | undefined;

  constructor(private readonly request: ViewRequest) {}

  /** Returns the view of these events, as `listEvents` takes them. */
  view(changes: readonly ResourceChange[], events: readonly ProcessEvent[], target: string): View {
    const own = eventsOf(events, target);
    const listed = shareList(this.latest?.listed, [...changes, ...own]);
    if (listed !== this.latest?.listed) {
      this.latest = { listed, view: eventView(listEvents(changes, own, target), this.request) };
    }
    return this.latest.view;
  }
}

/** The events as rows. */
export function eventView(events: readonly HistoryEvent[], request: ViewRequest): View {
  const found = events.filter(({ kind, subject, text }) =>
    matchesFilter(request.filter, kind, subject, text),
  );
  return createView(found, request, toRow, MAX_EVENT_ROWS);
}

function toRow(event: HistoryEvent): Row {
  const { atMs, kind, subject, text, target } = event;
  return {
    id: eventId(event),
    target: target && cellText(target),
    at: toIso(atMs),
    kind,
    subject: cellText(subject),
    text: cellText(text),
  };
}

/** Describes a change of a resource as an event. */
export function describeChange({
  atMs,
  typeUrl,
  name,
  kind,
  version,
  text,
}: ResourceChange): Omit<HistoryEvent, 'position' | 'change'> {
  const details = [version === '' ? '' : `version ${version}`, text].filter((part) => part !== '');
  return { atMs, kind, subject: `${shortName(typeUrl)} ${name}`, text: details.join(': ') };
}
