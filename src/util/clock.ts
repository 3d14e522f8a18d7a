import { createHandle, type Handle } from './handle';

/** Time, as everything in this package sees it. Tests pass one that they turn by hand. */
export interface Clock {
  /** Wall-clock time in milliseconds since the epoch, for what people read. */
  now(): number;
  /** Milliseconds since some fixed point; never goes back. For durations. */
  monotonicMs(): number;
  /**
   * Runs the callback once after `delayMs`. The timer does not keep the process alive, unless a call of the
   * application has nothing else to wait for: then `keepsAlive` is true.
   */
  setTimer(callback: () => void, delayMs: number, keepsAlive?: boolean): Handle;
  /**
   * Runs the callback when the current stack has unwound. For what a pick sets off: a pick must not
   * replace the picker it runs in, or the call would queue on the picker that is gone.
   */
  soon(callback: () => void): void;
}

// setTimeout takes a signed 32-bit number of milliseconds and fires at once beyond it.
const MAX_DELAY_MS = 2 ** 31 - 1;

/** The real time. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  setTimer(callback, delayMs, keepsAlive = false) {
    const timer = setTimeout(callback, Math.min(Math.max(delayMs, 0), MAX_DELAY_MS));
    if (!keepsAlive) timer.unref();
    return createHandle(() => clearTimeout(timer));
  },
  soon: (callback) => process.nextTick(callback),
};
