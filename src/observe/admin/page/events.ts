import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import {
  rowId,
  cellText,
  createView,
  matchesFilter,
  type Row,
  type View,
  type ViewRequest,
} from '../../live-page/view';
import type { ResourceChange } from '../../../xds-client/client-snapshot';
import { toIso } from '../../../util/since';
import { shortName } from '../resource-report';
import type { Clock } from '../../../util/clock';

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

/** The number of events that are kept. */
const MAX_EVENTS = 1000;

/** An event that is not about one resource. */
export interface ProcessEvent {
  readonly atMs: number;
  /** Such as `fallback`. */
  readonly kind: string;
  /** The server, the cluster, the listener or the address. */
  readonly subject: string;
  readonly text: string;
  /** `undefined` for events of the process. */
  readonly target: string | undefined;
}

/** The members of a message that name what it is about, and those that say what has happened. */
const SUBJECT = ['serverUri', 'toServerUri', 'cluster', 'listener', 'address', 'name'];
const TEXT = ['direction', 'error', 'text', 'result', 'state'];

/**
 * The rare messages of this package, and the notices of the application; docs/observability.md lists them. Messages about
 * the value of a resource are in the history of the client already, and a handshake is one of many.
 */
const CHANNELS = [
  'server-connected',
  'server-failed',
  'resource-waiting',
  'fallback',
  'config-published',
  'config-failed',
  'tls-not-used',
  'serving-state',
  'notice',
] as const;

/** The last events of the process, from the creation of this object on. */
export class ProcessEvents {
  private events: ProcessEvent[] = [];
  private readonly listeners: readonly (readonly [string, (message: unknown) => void])[];

  constructor(clock: Pick<Clock, 'now'>) {
    this.listeners = CHANNELS.map((kind) => {
      const listener = (message: unknown) => this.add(toEvent(kind, message, clock.now()));
      return [`grpc-xds:${kind}`, listener] as const;
    });
    for (const [channel, listener] of this.listeners) subscribe(channel, listener);
  }

  /** The oldest first. */
  latest(): readonly ProcessEvent[] {
    return this.events.slice(-MAX_EVENTS);
  }

  release(): void {
    for (const [channel, listener] of this.listeners) unsubscribe(channel, listener);
  }

  private add(event: ProcessEvent): void {
    this.events.push(event);
    // Not one by one, since that would move all of them each time.
    if (this.events.length >= 2 * MAX_EVENTS) this.events = this.events.slice(-MAX_EVENTS);
  }
}

function toEvent(kind: string, message: unknown, atMs: number): ProcessEvent {
  const members: ReadonlyMap<string, unknown> = new Map(
    typeof message === 'object' && message !== null ? Object.entries(message) : [],
  );
  const find = (names: readonly string[]) =>
    names.map((name) => members.get(name)).find((value) => typeof value === 'string') ?? '';
  const target = members.get('target');
  return {
    ...{ atMs, kind, subject: find(SUBJECT), text: find(TEXT) },
    target: typeof target === 'string' ? target : undefined,
  };
}
