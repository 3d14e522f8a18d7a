import { systemClock } from '../../src/util/clock';
import { createHandle, type Handle } from '../../src/util/handle';

/** Counts the timers of this package that are neither released nor have run out. */
export class LiveTimers {
  private readonly places = new Map<object, string>();
  private readonly handle: Handle;

  constructor() {
    const { setTimer } = systemClock;
    systemClock.setTimer = (callback, delayMs, keepsAlive) => {
      const key = {};
      this.places.set(key, new Error().stack?.match(/\/src\/[\w/.-]+(?=:)/g)?.[0] ?? '');
      const timer = setTimer(
        () => {
          this.places.delete(key);
          callback();
        },
        delayMs,
        keepsAlive,
      );
      return createHandle(() => {
        this.places.delete(key);
        timer.release();
      });
    };
    this.handle = createHandle(() => void (systemClock.setTimer = setTimer));
  }

  /** How many there are, by the source file that started them. */
  count(): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const place of this.places.values()) counts[place] = (counts[place] ?? 0) + 1;
    return counts;
  }

  stop(): void {
    this.handle.release();
  }
}
