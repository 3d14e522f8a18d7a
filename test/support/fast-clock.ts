import { systemClock } from '../../src/util/clock';
import { createHandle, type Handle } from '../../src/util/handle';

/** Makes the timers of the package run out so many times as fast, and records which have. */
export class FastClock {
  /** The delays, in milliseconds, of the timers that have run out. */
  readonly expired: number[] = [];
  private readonly original = systemClock.setTimer;
  private readonly handle: Handle;

  constructor(factor: number) {
    systemClock.setTimer = (callback, delayMs, keepsAlive) =>
      this.original(
        () => {
          this.expired.push(delayMs);
          callback();
        },
        delayMs / factor,
        keepsAlive,
      );
    this.handle = createHandle(() => (systemClock.setTimer = this.original));
  }

  stop(): void {
    this.handle.release();
  }
}
