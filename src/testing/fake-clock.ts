import type { Clock } from '../util/clock';
import { createHandle } from '../util/handle';

interface Pending {
  readonly at: number;
  readonly callback: () => void;
}

/** A clock that only `advance` moves. */
export class FakeClock implements Clock {
  private time = 0;
  private readonly timers = new Set<Pending>();

  now(): number {
    return 1_700_000_000_000 + this.time;
  }

  monotonicMs(): number {
    return this.time;
  }

  setTimer(callback: () => void, delayMs: number) {
    const timer: Pending = { at: this.time + Math.max(0, delayMs), callback };
    this.timers.add(timer);
    return createHandle(() => this.timers.delete(timer));
  }

  private readonly deferred: (() => void)[] = [];

  soon(callback: () => void): void {
    this.deferred.push(callback);
  }

  /** Runs the callbacks of `soon`, and those they add. */
  flush(): void {
    for (let task = this.deferred.shift(); task !== undefined; task = this.deferred.shift()) task();
  }

  /** Number of pending timers; zero if all were released. */
  get pendingTimers(): number {
    return this.timers.size;
  }

  /** Moves time forward, firing due timers in order. */
  advance(ms: number): void {
    this.flush();
    const end = this.time + ms;
    for (;;) {
      const due = [...this.timers].filter((t) => t.at <= end).sort((a, b) => a.at - b.at)[0];
      if (due === undefined) break;
      this.timers.delete(due);
      // A callback may have advanced the clock itself.
      this.time = Math.max(this.time, due.at);
      due.callback();
      this.flush();
    }
    this.time = Math.max(this.time, end);
  }
}
