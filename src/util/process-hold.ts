import type { Clock } from './clock';
import type { Handle } from './handle';

/** The longest that a timer can wait. */
const FOREVER_MS = 2 ** 31 - 1;

/**
 * Keeps the process from ending while something that the application waits for is pending. Established connections to
 * management servers and timers of this package do not.
 */
export class ProcessHold {
  private timer: Handle | undefined;

  constructor(private readonly clock: Pick<Clock, 'setTimer'>) {}

  /** Keeps the process alive from now on, or no longer. */
  set(isHeld: boolean): void {
    if (isHeld) {
      this.timer ??= this.clock.setTimer(() => undefined, FOREVER_MS, true);
    } else {
      this.timer?.release();
      this.timer = undefined;
    }
  }
}
