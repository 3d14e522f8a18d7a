import { inNextTurn } from '../../util/clock';
import type { Handle } from '../../util/handle';
import type { Random } from '../../util/random';
import type { StreamClock } from '../reconnecting-stream';
import { afterRunning } from '../../util/running-time';

/** Constructor options of the waits. */
export interface ResourceWaitsOptions {
  readonly clock: StreamClock;
  readonly random: Random;
  /** Milliseconds after which a resource is concluded to be missing. */
  readonly timeoutMs: number;
  /** Called when a resource was not received in time. */
  readonly onTimeout: (typeUrl: string, name: string) => void;
  /** Called when a resource should be requested once more. */
  readonly onOverdue: (typeUrl: string, name: string) => void;
}

/** By type and name, when waits end, on the monotonic clock. */
export type Deadlines = ReadonlyMap<string, ReadonlyMap<string, number>>;

/** No deadlines. */
export const NO_DEADLINES: Deadlines = new Map();

/** The share of the timeout that is left for a second stream to answer in. */
const SECOND_CHANCE = 1 / 3;

/**
 * The waits for the resources that were requested on one stream and not received yet (gRFC A57). A wait ends with the
 * resource, or with the conclusion that it does not exist. A resource that was requested in the course of a stream is
 * overdue some time before that. See docs/decisions/0007-asking-again.md.
 */
export class ResourceWaits {
  private readonly conclusions: ResourceTimers;
  private readonly overdue: ResourceTimers;

  /** @param inherited The deadlines of the waits that began on the replaced stream. */
  constructor(
    private readonly options: ResourceWaitsOptions,
    private readonly inherited: Deadlines,
  ) {
    const { clock, onTimeout, onOverdue } = options;
    this.conclusions = new ResourceTimers(clock, onTimeout);
    this.overdue = new ResourceTimers(clock, onOverdue);
  }

  /**
   * Starts the waits for the resources that one request names, except those that have started.
   * @param mayBeLost Whether the server may have lost the request, so that another one may help.
   */
  start(typeUrl: string, names: readonly string[], mayBeLost: boolean): void {
    const { random, timeoutMs } = this.options;
    const begun = this.startInherited(typeUrl, names);
    this.conclusions.start(typeUrl, begun, timeoutMs);
    if (!mayBeLost) return;
    // Clients that lost a resource together do not reconnect together.
    const patience = (1 - SECOND_CHANCE) * (1 - random() / 4);
    this.overdue.start(typeUrl, begun, timeoutMs * patience);
  }

  /** Ends the wait for a resource. */
  end(typeUrl: string, name: string): void {
    this.conclusions.cancel(typeUrl, name);
    this.overdue.cancel(typeUrl, name);
  }

  /** The resources of a type that pass the filter are not overdue: the server has listed all there is. Waits go on. */
  endOverdue(typeUrl: string, filter: (name: string) => boolean): void {
    this.overdue.cancelType(typeUrl, filter);
  }

  /** Ends no wait by time until `resume` is called: what is awaited may be in the response that is being read. */
  pause(): void {
    this.conclusions.pause();
    this.overdue.pause();
  }

  /** Lets waits end by time again, beginning with those whose time has passed. */
  resume(): void {
    this.conclusions.resume();
    this.overdue.resume();
  }

  /** Ends every wait. */
  clear(): void {
    this.conclusions.clear();
    this.overdue.clear();
  }

  /** Whether nothing is being waited for. */
  get isEmpty(): boolean {
    return this.conclusions.isEmpty;
  }

  /** When the waits end that have not ended. */
  deadlines(): Deadlines {
    return this.conclusions.deadlines();
  }

  /** Milliseconds until a resource is concluded to be missing; `undefined` if it is not being waited for. */
  remainingMs(typeUrl: string, name: string): number | undefined {
    return this.conclusions.remainingMs(typeUrl, name);
  }

  /** Continues the waits that began on an earlier stream. @returns the names of the others. */
  private startInherited(typeUrl: string, names: readonly string[]): readonly string[] {
    const deadlines = this.inherited.get(typeUrl);
    if (deadlines === undefined) return names;
    const byDeadline = new Map<number, string[]>();
    const others: string[] = [];
    for (const name of names) {
      const deadline = deadlines.get(name);
      const group = deadline === undefined ? others : (byDeadline.get(deadline) ?? []);
      if (deadline !== undefined) byDeadline.set(deadline, group);
      group.push(name);
    }
    const { clock, timeoutMs } = this.options;
    const nowMs = clock.monotonicMs();
    for (const [deadline, inherited] of byDeadline) {
      const restMs = Math.max(deadline - nowMs, timeoutMs * SECOND_CHANCE);
      this.conclusions.start(typeUrl, inherited, restMs);
    }
    return others;
  }
}

/** How many timers expire in one turn of the event loop: what follows from each takes part of a millisecond. */
export const EXPIRIES_PER_TURN = 1000;

/** The timers of the resources of one type that were started together. */
interface TimerGroup {
  readonly typeUrl: string;
  /** Also those that are no longer in the group. */
  readonly names: readonly string[];
  /** On the monotonic clock. */
  readonly dueAtMs: number;
  timer: Handle;
  /** The index of the first one that has not expired yet. */
  next: number;
  /** How many are running. */
  running: number;
}

/** At most one timer per resource. Those that are started together share a timer of the clock. */
export class ResourceTimers {
  /** By type and name, the group of each timer that is running. */
  private readonly groups = new Map<string, Map<string, TimerGroup>>();
  /** Due, but not expired, because the timers are paused; `undefined` if they are not. */
  private due: TimerGroup[] | undefined;

  /** @param onExpired Called once for each timer, unless it is cancelled in time. */
  constructor(
    private readonly clock: StreamClock,
    private readonly onExpired: (typeUrl: string, name: string) => void,
  ) {}

  /** Starts the timers of resources, except those that are running. */
  start(typeUrl: string, names: readonly string[], timeoutMs: number): void {
    let ofType = this.groups.get(typeUrl);
    if (ofType === undefined) {
      ofType = new Map();
      this.groups.set(typeUrl, ofType);
    }
    const { clock } = this;
    const started = names.filter((name) => !ofType.has(name));
    if (started.length === 0) return;
    const timer = afterRunning(clock, () => this.onDue(group), timeoutMs);
    const dueAtMs = clock.monotonicMs() + timeoutMs;
    const running = started.length;
    const group: TimerGroup = { typeUrl, names: started, dueAtMs, timer, next: 0, running };
    for (const name of started) ofType.set(name, group);
  }

  /** Lets no timer expire until `resume` is called. Until then those that are due can still be cancelled. */
  pause(): void {
    this.due ??= [];
  }

  /** Lets timers expire again; those that are due expire at once. */
  resume(): void {
    const { due } = this;
    if (due === undefined) return;
    this.due = undefined;
    for (const group of due) this.expire(group);
  }

  /** Stops the timer of a resource, if it is running. */
  cancel(typeUrl: string, name: string): void {
    const ofType = this.groups.get(typeUrl);
    const group = ofType?.get(name);
    if (group === undefined) return;
    ofType?.delete(name);
    group.running--;
    if (group.running === 0) group.timer.release();
  }

  /** Stops the timers of the resources of a type that pass the filter. */
  cancelType(typeUrl: string, filter: (name: string) => boolean): void {
    for (const name of this.groups.get(typeUrl)?.keys() ?? []) {
      if (filter(name)) this.cancel(typeUrl, name);
    }
  }

  /** By type and name, when each timer expires, on the monotonic clock. A copy. */
  deadlines(): Map<string, Map<string, number>> {
    const deadlines = new Map<string, Map<string, number>>();
    for (const [typeUrl, ofType] of this.groups) {
      const copy = new Map<string, number>();
      for (const [name, { dueAtMs }] of ofType) copy.set(name, dueAtMs);
      deadlines.set(typeUrl, copy);
    }
    return deadlines;
  }

  /** Milliseconds until the timer of a resource expires; `undefined` if none is running. */
  remainingMs(typeUrl: string, name: string): number | undefined {
    const group = this.groups.get(typeUrl)?.get(name);
    return group === undefined ? undefined : Math.max(0, group.dueAtMs - this.clock.monotonicMs());
  }

  /** Whether no timer is running. */
  get isEmpty(): boolean {
    for (const ofType of this.groups.values()) if (ofType.size > 0) return false;
    return true;
  }

  /** Stops every timer. */
  clear(): void {
    for (const ofType of this.groups.values()) {
      for (const { timer } of ofType.values()) timer.release();
    }
    this.groups.clear();
  }

  private onDue(group: TimerGroup): void {
    if (this.due === undefined) this.expire(group);
    else this.due.push(group);
  }

  private expire(group: TimerGroup): void {
    const { typeUrl, names } = group;
    for (let left = EXPIRIES_PER_TURN; left > 0 && group.running > 0;) {
      const name = names[group.next++];
      if (name === undefined) return;
      const ofType = this.groups.get(typeUrl);
      if (ofType?.get(name) !== group) continue;
      ofType.delete(name);
      group.running--;
      left--;
      this.onExpired(typeUrl, name);
    }
    if (group.running > 0) group.timer = inNextTurn(this.clock, () => this.onDue(group));
  }
}
