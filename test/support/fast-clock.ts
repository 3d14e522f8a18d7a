import { systemClock } from '../../src/util/clock';
import { createHandle, type Handle } from '../../src/util/handle';

/** Makes time pass so many times as fast for the package. */
export class FastClock {
  private readonly handle: Handle;

  constructor(factor: number) {
    const { setTimer, now, monotonicMs } = systemClock;
    const [startedAtMs, startMs] = [now(), monotonicMs()];
    systemClock.now = () => startedAtMs + (now() - startedAtMs) * factor;
    systemClock.monotonicMs = () => startMs + (monotonicMs() - startMs) * factor;
    systemClock.setTimer = (callback, delayMs, keepsAlive) =>
      setTimer(callback, delayMs / factor, keepsAlive);
    this.handle = createHandle(() => {
      systemClock.setTimer = setTimer;
      systemClock.now = now;
      // This time must not go back.
      const aheadMs = systemClock.monotonicMs() - monotonicMs();
      systemClock.monotonicMs = () => monotonicMs() + aheadMs;
    });
  }

  stop(): void {
    this.handle.release();
  }
}

/** Makes timers of the package run out at once, of those that start from now on. */
export class TimerSwitch {
  private readonly pending = new Map<() => void, number>();
  private readonly handle: Handle;

  constructor() {
    const { setTimer } = systemClock;
    systemClock.setTimer = (callback, delayMs, keepsAlive) => {
      const run = () => {
        timer.release();
        callback();
      };
      this.pending.set(run, delayMs);
      const timer = createHandle(() => {
        this.pending.delete(run);
        started.release();
      });
      const started = setTimer(run, delayMs, keepsAlive);
      return timer;
    };
    this.handle = createHandle(() => {
      systemClock.setTimer = setTimer;
    });
  }

  /** Has the pending timers of this delay run out. */
  expire(delayMs: number): void {
    for (const [run, ms] of [...this.pending]) {
      if (ms === delayMs && this.pending.has(run)) run();
    }
  }

  stop(): void {
    this.handle.release();
  }
}

/** Sets the time of the package forward. Its timers run out when they would have. */
export function skipTime(aheadMs: number): void {
  const { now, monotonicMs } = systemClock;
  systemClock.now = () => now() + aheadMs;
  systemClock.monotonicMs = () => monotonicMs() + aheadMs;
}

/**
 * Makes the wall clock of the package run so many times as fast, and its timers of up to `longestMs`, until the handle is released.
 * What it measures takes as long as ever.
 */
export function speedWallClock(factor: number, longestMs: number): Handle {
  const { now, setTimer } = systemClock;
  const startedAtMs = now();
  systemClock.now = () => startedAtMs + (now() - startedAtMs) * factor;
  systemClock.setTimer = (callback, delayMs, keepsAlive) =>
    setTimer(callback, delayMs <= longestMs ? delayMs / factor : delayMs, keepsAlive);
  return createHandle(() => Object.assign(systemClock, { now, setTimer }));
}

/** Makes the time of the package pass so many times as fast, until the handle is released. */
export function speedTime(factor: number): Handle {
  const { now, monotonicMs } = systemClock;
  const [startedAtMs, startMs] = [now(), monotonicMs()];
  systemClock.now = () => startedAtMs + (now() - startedAtMs) * factor;
  systemClock.monotonicMs = () => startMs + (monotonicMs() - startMs) * factor;
  return createHandle(() => {
    const aheadMs = systemClock.monotonicMs() - monotonicMs();
    Object.assign(systemClock, { now, monotonicMs });
    // It must not go back.
    skipTime(aheadMs);
  });
}
