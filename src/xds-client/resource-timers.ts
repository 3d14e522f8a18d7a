import type { Clock } from '../util/clock';
import type { Handle } from '../util/handle';

interface ResourceTimer extends Handle {
  /** On the monotonic clock. */
  readonly dueAtMs: number;
}

/** At most one timer per resource. */
export class ResourceTimers {
  private readonly timers = new Map<string, Map<string, ResourceTimer>>();

  constructor(private readonly clock: Clock) {}

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
      ofType.delete(name);
      onExpired();
    }, timeoutMs);
    ofType.set(name, {
      dueAtMs: this.clock.monotonicMs() + timeoutMs,
      release: () => handle.release(),
    });
  }

  /** Stops the timer of a resource, if it is running. */
  cancel(typeUrl: string, name: string): void {
    const ofType = this.timers.get(typeUrl);
    ofType?.get(name)?.release();
    ofType?.delete(name);
  }

  /** Stops every timer of a type. */
  cancelType(typeUrl: string): void {
    for (const timer of this.timers.get(typeUrl)?.values() ?? []) timer.release();
    this.timers.delete(typeUrl);
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
    return timer === undefined ? undefined : timer.dueAtMs - this.clock.monotonicMs();
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
    }
    this.timers.clear();
  }
}
