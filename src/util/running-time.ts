import type { Clock } from './clock';
import { createHandle, type Handle } from './handle';

/** What is needed of a clock. */
export type RunningClock = Pick<Clock, 'monotonicMs' | 'nextTurn' | 'setTimer'>;

/** A block of the event loop, however long, takes one of so many parts of a time. */
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
  const partMs = ms / PARTS;
  let leftMs = ms;
  let pending: Handle;
  const wait = (): void => {
    if (leftMs <= 0) {
      // After the timers that are due, a timer comes after the I/O, too.
      pending = clock.nextTurn?.(callback) ?? clock.setTimer(callback, 0, keepsAlive);
      return;
    }
    const waitMs = Math.min(partMs, leftMs);
    const startMs = clock.monotonicMs();
    pending = clock.setTimer(
      () => {
        // Timers run out a little early, too.
        leftMs -= Math.min(clock.monotonicMs() - startMs, waitMs);
        wait();
      },
      waitMs,
      keepsAlive,
    );
  };
  wait();
  return createHandle(() => pending.release());
}
