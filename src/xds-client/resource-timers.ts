import type { Clock } from '../util/clock';
import type { Handle } from '../util/handle';

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

  constructor(private readonly clock: Pick<Clock, 'monotonicMs' | 'setTimer'>) {}

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
