import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Clock } from '../../../../src/util/clock';

/** The number of events that are kept, and of those of one target. */
const MAX_EVENTS = 1000;
const MAX_EVENTS_OF_TARGET = 200;

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
  /** The endpoint that it is about, if it is about one. */
  readonly endpoint?: { readonly cluster: string; readonly address: string };
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
  'endpoint-ejected',
  'endpoint-unejected',
  'endpoints-failed',
  'endpoints-recovered',
  'endpoints-removed',
  'cluster-failed',
  'cluster-recovered',
  'notice',
] as const;

/** The last events of the process, from the creation of this object on. */
export class ProcessEvents {
  private events: ProcessEvent[] = [];
  private readonly listeners: readonly (readonly [string, (message: unknown) => void])[];

  constructor(readonly clock: Pick<Clock, 'now'>) {
    this.listeners = CHANNELS.map((kind) => {
      const listener = (message: unknown) => this.add(toEvent(kind, message, clock.now()));
      return [`grpc-xds:${kind}`, listener] as const;
    });
    for (const [channel, listener] of this.listeners) subscribe(channel, listener);
  }

  /** The oldest first. */
  latest(): readonly ProcessEvent[] {
    const counts = new Map<string | undefined, number>();
    const kept = this.events.toReversed().filter(({ target }) => {
      const count = (counts.get(target) ?? 0) + 1;
      counts.set(target, count);
      return target === undefined || count <= MAX_EVENTS_OF_TARGET;
    });
    return kept.slice(0, MAX_EVENTS).reverse();
  }

  release(): void {
    for (const [channel, listener] of this.listeners) unsubscribe(channel, listener);
  }

  private add(event: ProcessEvent): void {
    this.events.push(event);
    // Not one by one, since that would move all of them each time.
    if (this.events.length >= 2 * MAX_EVENTS) this.events = [...this.latest()];
  }
}

/** Since when all events of a target are among those that `latest` returned, in milliseconds since the epoch. */
export function completeSince(latest: readonly ProcessEvent[], target: string): number {
  const own = latest.filter((each) => each.target === target);
  const [oldest] = latest.length < MAX_EVENTS ? [] : latest;
  const [oldestOwn] = own.length < MAX_EVENTS_OF_TARGET ? [] : own;
  return Math.max(oldest?.atMs ?? -Infinity, oldestOwn?.atMs ?? -Infinity);
}

/** Returns what finds the ejection of an endpoint that had not ended at the last of these events; `undefined` without one. */
export function findEjections(
  events: readonly ProcessEvent[],
): (cluster: string, address: string) => ProcessEvent | undefined {
  const ejected = new Map<string, ProcessEvent>();
  const keyOf = (cluster: string, address: string) => JSON.stringify([cluster, address]);
  for (const event of events) {
    if (event.endpoint === undefined) continue;
    const key = keyOf(event.endpoint.cluster, event.endpoint.address);
    if (event.kind === 'endpoint-ejected') ejected.set(key, event);
    else ejected.delete(key);
  }
  return (cluster, address) => ejected.get(keyOf(cluster, address));
}

function toEvent(kind: string, message: unknown, atMs: number): ProcessEvent {
  const members: ReadonlyMap<string, unknown> = new Map(
    typeof message === 'object' && message !== null ? Object.entries(message) : [],
  );
  const find = (names: readonly string[]) =>
    names.map((name) => members.get(name)).find((value) => typeof value === 'string');
  const [cluster, address] = [find(['cluster']), find(['address'])];
  const isEndpoint = cluster !== undefined && address !== undefined;
  return {
    atMs,
    kind,
    text: find(TEXT) ?? '',
    target: find(['target']),
    subject: isEndpoint ? `${cluster} ${address}` : (find(SUBJECT) ?? ''),
    ...(isEndpoint && { endpoint: { cluster, address } }),
  };
}
