import { EventLoopWatch } from './event-loop-watch';
import { createHandle, type Handle } from './handle';

/** The source of time and timers. Tests pass a fake one. */
export interface Clock {
  /** Wall-clock time in milliseconds since the epoch, for display. */
  now(): number;
  /** Milliseconds since some fixed point; never goes back. For durations. */
  monotonicMs(): number;
  /**
   * Runs the callback once after `delayMs`. The timer does not keep the process alive, unless a call of the
   * application has nothing else to wait for: then `keepsAlive` is true.
   */
  setTimer(callback: () => void, delayMs: number, keepsAlive?: boolean): Handle;
  /**
   * Runs the callback when the current stack has unwound. For the effects of a pick: a pick must not replace its own
   * picker, or the call would queue on the replaced one.
   */
  soon(callback: () => void): void;
  /**
   * Runs the callback in the next turn of the event loop, after the I/O and the timers that are due. It keeps the process
   * alive until then. Absent from clocks that only have timers; see `inNextTurn`.
   */
  nextTurn?(callback: () => void): Handle;
  /** Notices when the event loop is blocked. Default: nothing does. */
  readonly eventLoop?: EventLoopWatch;
}

/** The delay that stands in for the next turn. */
const TURN_MS = 1;

/** Runs the callback in the next turn of the event loop. */
export function inNextTurn(
  clock: Pick<Clock, 'nextTurn' | 'setTimer'>,
  callback: () => void,
): Handle {
  return clock.nextTurn?.(callback) ?? clock.setTimer(callback, TURN_MS);
}

// setTimeout takes a signed 32-bit number of milliseconds and fires at once beyond it.
const MAX_DELAY_MS = 2 ** 31 - 1;

/**
 * Keeps the process from ending while something that the application waits for is pending: established connections to
 * management servers and timers of this package do not.
 */
export function keepProcessAlive(clock: Pick<Clock, 'setTimer'>): Handle {
  return clock.setTimer(() => undefined, MAX_DELAY_MS, true);
}

const systemTime: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  setTimer(callback, delayMs, keepsAlive = false) {
    const timer = setTimeout(callback, Math.min(Math.max(delayMs, 0), MAX_DELAY_MS));
    if (!keepsAlive) timer.unref();
    return createHandle(() => clearTimeout(timer));
  },
  soon: (callback) => process.nextTick(callback),
  nextTurn(callback) {
    // A timer would leave the process idle for a millisecond, which at a start is a third of the time.
    const immediate = setImmediate(callback);
    return createHandle(() => clearImmediate(immediate));
  },
};

/** The clock of the system. */
export const systemClock: Clock = { ...systemTime, eventLoop: new EventLoopWatch(systemTime) };
