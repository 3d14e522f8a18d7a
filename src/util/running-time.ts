import type { Clock } from './clock';
import { createHandle, type Handle } from './handle';

/** What is needed of a clock. */
export type RunningClock = Pick<Clock, 'monotonicMs' | 'nextTurn' | 'setTimer'>;

/** A time is measured in this many parts: a block of the event loop, however long, takes one of them. */
const PARTS = 8;

/**
 * Starts a timer that concludes something about a peer, such as that it does not answer; the only way to start one (lint).
 * Runs the callback when the event loop has run for `ms` milliseconds, after the I/O that is due then. A timer alone runs out as
 * soon as a process that was blocked or stopped goes on, before what has arrived meanwhile is read.
 */
export function afterRunning(
  clock: RunningClock,
  callback: () => void,
  ms: number,
  keepsAlive = false,
): Handle {
  let leftMs = ms;
  let waitMs = 0;
  let sinceMs = clock.monotonicMs();
  let pending: Handle;
  const wait = (): void => {
    const nowMs = clock.monotonicMs();
    // Timers run out a little early, too.
    leftMs -= Math.min(nowMs - sinceMs, waitMs);
    // Less is what sums of times are rounded by.
    if (leftMs < 1e-3) {
      // After the timers that are due, a timer comes after the I/O, too.
      pending = clock.nextTurn?.(callback) ?? clock.setTimer(callback, 0, keepsAlive);
      return;
    }
    sinceMs = nowMs;
    waitMs = Math.min(ms / PARTS, leftMs);
    pending = clock.setTimer(wait, waitMs, keepsAlive);
  };
  wait();
  return createHandle(() => pending.release());
}
