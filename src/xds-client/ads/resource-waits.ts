import type { Handle } from '../../util/handle';
import type { Random } from '../../util/random';
import type { StreamClock } from '../reconnecting-stream';

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
    this.conclusions = new ResourceTimers(options.clock);
    this.overdue = new ResourceTimers(options.clock);
  }

  /**
   * Starts the wait for a resource, unless it has started.
   * @param mayBeLost Whether the server may have lost the request, so that another one may help.
   */
  start(typeUrl: string, name: string, mayBeLost: boolean): void {
    const { clock, random, timeoutMs, onTimeout, onOverdue } = this.options;
    const deadline = this.inherited.get(typeUrl)?.get(name);
    if (deadline !== undefined) {
      const restMs = Math.max(deadline - clock.monotonicMs(), timeoutMs * SECOND_CHANCE);
      this.conclusions.start(typeUrl, name, restMs, () => onTimeout(typeUrl, name));
      return;
    }
    this.conclusions.start(typeUrl, name, timeoutMs, () => onTimeout(typeUrl, name));
    if (!mayBeLost) return;
    // Clients that lost a resource together do not reconnect together.
    const patience = (1 - SECOND_CHANCE) * (1 - random() / 4);
    this.overdue.start(typeUrl, name, timeoutMs * patience, () => onOverdue(typeUrl, name));
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
}

interface ResourceTimer extends Handle {
  /** On the monotonic clock. */
  readonly dueAtMs: number;
  expire(): void;
}

/** At most one timer per resource. */
export class ResourceTimers {
  private readonly timers = new Map<string, Map<string, ResourceTimer>>();
  /** Due, but not expired, because the timers are paused; `undefined` if they are not. */
  private due: ResourceTimer[] | undefined;

  constructor(private readonly clock: StreamClock) {}

  /**
   * Starts the timer of a resource, unless it is running.
   * @param onExpired Called once, unless the timer is cancelled in time.
   */
  start(typeUrl: string, name: string, timeoutMs: number, onExpired: () => void): void {
    let ofType = this.timers.get(typeUrl);
    if (ofType === undefined) {
      ofType = new Map();
      this.timers.set(typeUrl, ofType);
    }
    if (ofType.has(name)) return;
    const handle = this.clock.setTimer(() => {
      if (this.due === undefined) timer.expire();
      else this.due.push(timer);
    }, timeoutMs);
    const timer: ResourceTimer = {
      dueAtMs: this.clock.monotonicMs() + timeoutMs,
      expire: () => {
        if (ofType.get(name) !== timer) return;
        ofType.delete(name);
        onExpired();
      },
      release: () => handle.release(),
    };
    ofType.set(name, timer);
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
    for (const timer of due) timer.expire();
  }

  /** Stops the timer of a resource, if it is running. */
  cancel(typeUrl: string, name: string): void {
    const ofType = this.timers.get(typeUrl);
    ofType?.get(name)?.release();
    ofType?.delete(name);
  }

  /** Stops the timers of the resources of a type that pass the filter. */
  cancelType(typeUrl: string, filter: (name: string) => boolean): void {
    for (const name of this.timers.get(typeUrl)?.keys() ?? []) {
      if (filter(name)) this.cancel(typeUrl, name);
    }
  }

  /** By type and name, when each timer expires, on the monotonic clock. A copy. */
  deadlines(): Map<string, Map<string, number>> {
    const deadlines = new Map<string, Map<string, number>>();
    for (const [typeUrl, ofType] of this.timers) {
      const copy = new Map<string, number>();
      for (const [name, { dueAtMs }] of ofType) copy.set(name, dueAtMs);
      deadlines.set(typeUrl, copy);
    }
    return deadlines;
  }

  /** Milliseconds until the timer of a resource expires; `undefined` if none is running. */
  remainingMs(typeUrl: string, name: string): number | undefined {
    const timer = this.timers.get(typeUrl)?.get(name);
    return timer === undefined ? undefined : Math.max(0, timer.dueAtMs - this.clock.monotonicMs());
  }

  /** Whether no timer is running. */
  get isEmpty(): boolean {
    for (const ofType of this.timers.values()) if (ofType.size > 0) return false;
    return true;
  }

  /** Stops every timer. */
  clear(): void {
    for (const ofType of this.timers.values()) {
      for (const timer of ofType.values()) timer.release();
      ofType.clear();
    }
    this.timers.clear();
  }
}
