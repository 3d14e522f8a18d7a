import { systemClock } from '../../src/util/clock';
import { createHandle, type Handle } from '../../src/util/handle';

/** Holds the timers that one source file starts: they run out only when a test lets them, however long that takes. */
export class HeldTimers {
  private readonly timers = new Set<() => void>();
  private readonly handle: Handle;

  /** @param file Its name without extension. */
  constructor(file: string) {
    const { setTimer } = systemClock;
    systemClock.setTimer = (callback, delayMs, keepsAlive) => {
      if (new Error().stack?.includes(`/${file}.ts`) !== true)
        return setTimer(callback, delayMs, keepsAlive);
      const timer = () => callback();
      this.timers.add(timer);
      return createHandle(() => this.timers.delete(timer));
    };
    this.handle = createHandle(() => void (systemClock.setTimer = setTimer));
  }

  /** The number of those that are neither released nor have run out. */
  get size(): number {
    return this.timers.size;
  }

  runOut(): void {
    for (const timer of [...this.timers]) {
      if (this.timers.delete(timer)) timer();
    }
  }

  stop(): void {
    this.handle.release();
  }
}
