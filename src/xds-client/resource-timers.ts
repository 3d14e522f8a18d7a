import type { Clock } from '../util/clock';
import type { Handle } from '../util/handle';

interface ResourceTimer extends Handle {
  /** On the monotonic clock. */
  readonly dueAtMs: number;
}

/** One timer per resource that was asked for on a stream and has not come yet (gRFC A57). */
export class ResourceTimers {
  private readonly timers = new Map<string, Map<string, ResourceTimer>>();

  /** @param onExpired Called once per timer that is neither cancelled nor cleared in time. */
  constructor(
    private readonly clock: Clock,
    private readonly timeoutMs: number,
    private readonly onExpired: (typeUrl: string, name: string) => void,
  ) {}

  /** Starts the timer of a resource, unless it is running. */
  start(typeUrl: string, name: string): void {
    let ofType = this.timers.get(typeUrl);
    if (ofType === undefined) {
      ofType = new Map();
      this.timers.set(typeUrl, ofType);
    }
    if (ofType.has(name)) return;
    const handle = this.clock.setTimer(() => this.expire(typeUrl, name), this.timeoutMs);
    ofType.set(name, {
      dueAtMs: this.clock.monotonicMs() + this.timeoutMs,
      release: () => handle.release(),
    });
  }

  /** Stops the timer of a resource, if it is running. */
  cancel(typeUrl: string, name: string): void {
    const ofType = this.timers.get(typeUrl);
    ofType?.get(name)?.release();
    ofType?.delete(name);
  }

  /** Milliseconds until the timer of a resource expires; `undefined` if none is running. */
  remainingMs(typeUrl: string, name: string): number | undefined {
    const timer = this.timers.get(typeUrl)?.get(name);
    return timer === undefined ? undefined : timer.dueAtMs - this.clock.monotonicMs();
  }

  /** Stops every timer. */
  clear(): void {
    for (const ofType of this.timers.values()) {
      for (const timer of ofType.values()) timer.release();
    }
    this.timers.clear();
  }

  private expire(typeUrl: string, name: string): void {
    this.timers.get(typeUrl)?.delete(name);
    this.onExpired(typeUrl, name);
  }
}
