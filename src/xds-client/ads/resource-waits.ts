import { inNextTurn } from '../../util/clock';
import type { Handle } from '../../util/handle';
import type { Random } from '../../util/random';
import { afterRunning } from '../../util/running-time';
import type { StreamClock } from '../reconnecting-stream';

/** Constructor options of the waits. */
export interface ResourceWaitsOptions {
  readonly clock: StreamClock;
  readonly random: Random;
  /** Milliseconds after which a resource is concluded to be missing. */
  readonly timeoutMs: number;
  /** Called when a resource was not received in time: `overdue` if it should be requested once more. */
  readonly onTimeout: (typeUrl: string, name: string, kind: 'missing' | 'overdue') => void;
}

/** By type and name, when waits end, on the monotonic clock. */
export type Deadlines = ReadonlyMap<string, ReadonlyMap<string, number>>;

/** How many waits time out in one turn of the event loop: what follows from each takes part of a millisecond. */
export const TIMEOUTS_PER_TURN = 1000;

/** The share of the timeout that is left for a second stream to answer in. */
const SECOND_CHANCE = 1 / 3;

/** Resources of one type that were requested together, with one timer of the clock. */
interface TimerGroup {
  readonly kind: 'missing' | 'overdue';
  readonly typeUrl: string;
  /** Also those that are no longer in the group. */
  readonly names: string[];
  /** On the monotonic clock. */
  readonly dueAtMs: number;
  timer: Handle;
  /** The index of the first one that has not timed out yet. */
  next: number;
  /** How many are being waited for. */
  running: number;
}

/** The wait for one resource. */
interface Wait {
  readonly missing: TimerGroup;
  /** `undefined` if the resource will not be overdue. */
  overdue: TimerGroup | undefined;
}

/**
 * The waits for the resources that were requested on one stream and not received yet (gRFC A57). A wait ends with the
 * resource, or with the conclusion that it does not exist. A resource that was requested in the course of a stream is
 * overdue some time before that. See docs/decisions/ads-streams.md.
 */
export class ResourceWaits {
  private readonly waits = new Map<string, Map<string, Wait>>();
  /** Due, but not timed out, because the waits are paused; `undefined` if they are not. */
  private due: TimerGroup[] | undefined;

  /** @param inherited The deadlines of the waits that began on the replaced stream. Default: there are none. */
  constructor(
    private readonly options: ResourceWaitsOptions,
    private readonly inherited: Deadlines = new Map(),
  ) {}

  /**
   * Starts the waits for the resources that one request names, except those that have started.
   * @param mayBeLost Whether the server may have lost the request, so that another one may help.
   */
  start(typeUrl: string, names: readonly string[], mayBeLost: boolean): void {
    let waits = this.waits.get(typeUrl);
    if (waits === undefined) {
      waits = new Map();
      this.waits.set(typeUrl, waits);
    }
    const { random, timeoutMs, clock } = this.options;
    const inherited = this.inherited.get(typeUrl);
    const nowMs = clock.monotonicMs();
    const missing = new Map<number, TimerGroup>();
    let overdue: TimerGroup | undefined;
    for (const name of names) {
      if (waits.has(name)) continue;
      const deadlineMs = inherited?.get(name);
      const restMs =
        deadlineMs === undefined
          ? timeoutMs
          : Math.max(deadlineMs - nowMs, timeoutMs * SECOND_CHANCE);
      const group = missing.get(restMs) ?? this.startGroup('missing', typeUrl, restMs);
      missing.set(restMs, group);
      join(group, name);
      const isNew = mayBeLost && restMs === timeoutMs;
      if (isNew) {
        // Clients that lost a resource together do not reconnect together.
        overdue ??= this.startGroup('overdue', typeUrl, timeoutMs * patience(random));
        join(overdue, name);
      }
      waits.set(name, { missing: group, overdue: isNew ? overdue : undefined });
    }
  }

  /** Ends the wait for a resource. */
  end(typeUrl: string, name: string): void {
    const waits = this.waits.get(typeUrl);
    const wait = waits?.get(name);
    if (wait === undefined) return;
    waits?.delete(name);
    leave(wait.missing);
    leave(wait.overdue);
  }

  /** The resources of a type that pass the filter are not overdue: the server has listed all there is. Waits go on. */
  endOverdue(typeUrl: string, filter: (name: string) => boolean): void {
    for (const [name, wait] of this.waits.get(typeUrl) ?? []) {
      if (wait.overdue === undefined || !filter(name)) continue;
      leave(wait.overdue);
      wait.overdue = undefined;
    }
  }

  /** Ends no wait by time until `resume` is called: what is awaited may be in the response that is being read. */
  pause(): void {
    this.due ??= [];
  }

  /** Lets waits end by time again, beginning with those whose time has passed. */
  resume(): void {
    const { due } = this;
    if (due === undefined) return;
    this.due = undefined;
    for (const group of due) this.timeOut(group);
  }

  /** Ends every wait. */
  clear(): void {
    for (const waits of this.waits.values()) {
      for (const { missing, overdue } of waits.values()) {
        missing.timer.release();
        overdue?.timer.release();
      }
    }
    this.waits.clear();
  }

  /** Whether nothing is being waited for. */
  get isEmpty(): boolean {
    for (const waits of this.waits.values()) if (waits.size > 0) return false;
    return true;
  }

  /** When the waits end that have not ended. A copy. */
  deadlines(): Deadlines {
    const deadlines = new Map<string, Map<string, number>>();
    for (const [typeUrl, waits] of this.waits) {
      const copy = new Map<string, number>();
      for (const [name, { missing }] of waits) copy.set(name, missing.dueAtMs);
      deadlines.set(typeUrl, copy);
    }
    return deadlines;
  }

  /** Milliseconds until a resource is concluded to be missing; `undefined` if it is not being waited for. */
  remainingMs(typeUrl: string, name: string): number | undefined {
    const wait = this.waits.get(typeUrl)?.get(name);
    if (wait === undefined) return undefined;
    return Math.max(0, wait.missing.dueAtMs - this.options.clock.monotonicMs());
  }

  private startGroup(kind: TimerGroup['kind'], typeUrl: string, timeoutMs: number): TimerGroup {
    const { clock } = this.options;
    const timer = afterRunning(clock, () => this.onDue(group), timeoutMs);
    const dueAtMs = clock.monotonicMs() + timeoutMs;
    const group: TimerGroup = { kind, typeUrl, names: [], dueAtMs, timer, next: 0, running: 0 };
    return group;
  }

  private onDue(group: TimerGroup): void {
    if (this.due === undefined) this.timeOut(group);
    else this.due.push(group);
  }

  private timeOut(group: TimerGroup): void {
    const { kind, typeUrl, names } = group;
    for (let left = TIMEOUTS_PER_TURN; left > 0 && group.running > 0;) {
      const name = names[group.next++];
      if (name === undefined) return;
      const waits = this.waits.get(typeUrl);
      const wait = waits?.get(name);
      if (wait?.[kind] !== group) continue;
      left--;
      group.running--;
      if (kind === 'missing') {
        waits?.delete(name);
        leave(wait.overdue);
      } else {
        wait.overdue = undefined;
      }
      this.options.onTimeout(typeUrl, name, kind);
    }
    const { clock } = this.options;
    if (group.running > 0) group.timer = inNextTurn(clock, () => this.onDue(group));
  }
}

/** The share of the timeout after which a resource is overdue. */
function patience(random: Random): number {
  return (1 - SECOND_CHANCE) * (1 - random() / 4);
}

function join(group: TimerGroup, name: string): void {
  group.names.push(name);
  group.running++;
}

/** Notes that a resource is no longer waited for, with which its timer may end. */
function leave(group: TimerGroup | undefined): void {
  if (group === undefined) return;
  group.running--;
  if (group.running === 0) group.timer.release();
}
