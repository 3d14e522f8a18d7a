import type { ResourceChange } from 'grpc-xds/internal';
import type { ProcessEvent } from './events';
import type { HistoryEvent } from './history';

/** A config that comes into use within this time of a change is the one that the change is part of. */
const MAX_DELAY_MS = 10_000;

/** A time in the history of a target. */
export interface Moment {
  readonly atMs: number;
  /** Whether a change of a resource had its effect. */
  readonly hadHappened: (change: ResourceChange) => boolean;
  /** The events of the process until then, the oldest first. */
  readonly events: readonly ProcessEvent[];
}

/** What a moment is found in. */
interface MomentInput {
  /** Those of the target, the oldest first. */
  readonly events: readonly ProcessEvent[];
  /** Since when none of them is missing. */
  readonly completeSinceMs: number;
  /** Those that are kept, the oldest first. */
  readonly changes: readonly ResourceChange[];
}

/** Returns the moment at which an event had had its effect. */
export function momentAfter(event: HistoryEvent, input: MomentInput): Moment {
  const { events, changes } = input;
  const { change } = event;
  const used = usedAfter(event, input);
  const atMs = used?.atMs ?? event.atMs;
  if (change === undefined || used !== undefined) {
    return { atMs, hadHappened: (each) => each.atMs <= atMs, events: until(events, atMs) };
  }
  const happened = new Set(changes.slice(0, changes.indexOf(change) + 1));
  return { atMs, hadHappened: (each) => happened.has(each), events: until(events, atMs) };
}

/**
 * Returns the moment before the effect of an event: the one at which the config came into use that the event has replaced.
 *
 * @returns `undefined` if there was no config in use.
 */
export function momentBefore(event: HistoryEvent, input: MomentInput): Moment | undefined {
  const { events, changes } = input;
  const { change } = event;
  const after = momentAfter(event, input);
  const used = usedAfter(event, input);
  if (used !== undefined) {
    const previous = events
      .slice(0, events.indexOf(used))
      .findLast(({ kind }) => kind === 'config-published');
    if (previous === undefined) return undefined;
    const { atMs } = previous;
    const isEarlier = ({ atMs: changedMs }: ResourceChange) => changedMs <= atMs;
    return { ...after, atMs, hadHappened: (each) => each !== change && isEarlier(each) };
  }
  if (change === undefined) {
    return { ...after, events: after.events.slice(0, findProcessEvent(event, after.events)) };
  }
  const earlier = new Set(changes.slice(0, changes.indexOf(change)));
  return { ...after, hadHappened: (each) => earlier.has(each) };
}

/** The event that says that the config came into use, or failed to, which an event is part of; `undefined` if it is not kept. */
function usedAfter(
  event: HistoryEvent,
  { events, completeSinceMs }: MomentInput,
): ProcessEvent | undefined {
  const { atMs, change } = event;
  if (change === undefined) {
    const found = events[findProcessEvent(event, events)];
    return found?.kind === 'config-published' ? found : undefined;
  }
  // What was in use stays so.
  if (change.kind === 'rejected' && change.before !== undefined) return undefined;
  // The first one that is kept may be that of a later change.
  if (atMs <= completeSinceMs) return undefined;
  return events.find(
    ({ kind, atMs: usedMs }) =>
      (kind === 'config-published' || kind === 'config-failed') &&
      usedMs >= atMs &&
      usedMs <= atMs + MAX_DELAY_MS,
  );
}

/** Returns the index of an event of a history; that of the end if it is not kept. */
function findProcessEvent(
  { atMs, kind, subject, position }: HistoryEvent,
  events: readonly ProcessEvent[],
): number {
  const alike = events.filter(
    (each) => each.atMs === atMs && each.kind === kind && each.subject === subject,
  );
  const found = alike[position];
  return found === undefined ? events.length : events.indexOf(found);
}

function until(events: readonly ProcessEvent[], atMs: number): readonly ProcessEvent[] {
  return events.filter((each) => each.atMs <= atMs);
}
