import { inNextTurn, type Clock } from './clock';
import { createHandle, type Handle } from './handle';

/** A block of the event loop, however long, takes one of so many parts of a time. */
const PARTS = 8;

/**
 * Runs the callback when the event loop has run for `ms` milliseconds, after the I/O that is due then. A timer alone runs out as
 * soon as a process that was blocked or stopped goes on, before what has arrived meanwhile is read.
 */
export function afterRunning(
  clock: Pick<Clock, 'setTimer' | 'monotonicMs' | 'nextTurn'>,
  callback: () => void,
  ms: number,
): Handle {
  const partMs = ms / PARTS;
  let leftMs = ms;
  let pending: Handle;
  const wait = (): void => {
    if (leftMs <= 0) {
      pending = inNextTurn(clock, callback);
      return;
    }
    const waitMs = Math.min(partMs, leftMs);
    const startMs = clock.monotonicMs();
    pending = clock.setTimer(() => {
      // Timers run out a little early, too.
      leftMs -= Math.min(clock.monotonicMs() - startMs, waitMs);
      wait();
    }, waitMs);
  };
  wait();
  return createHandle(() => pending.release());
}
