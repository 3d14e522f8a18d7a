import type { Clock } from './clock';
import type { Handle } from './handle';

/** Milliseconds within which the responses of one update of a control plane arrive. */
const SETTLE_MS = 1000;

/**
 * Reports a failure that a change of the configuration has caused, once the change has settled: resources arrive one type
 * after the other, so that one may refer for a moment to another that is already removed.
 */
export class SettledReport {
  private report: (() => void) | undefined;
  private timer: Handle | undefined;

  constructor(private readonly clock: Pick<Clock, 'setTimer'>) {}

  /** Runs the report a second after the first one that is due, unless it is cancelled. The latest one counts. */
  schedule(report: () => void): void {
    this.report = report;
    this.timer ??= this.clock.setTimer(() => {
      const { report: latest } = this;
      this.cancel();
      latest?.();
    }, SETTLE_MS);
  }

  /** Drops the report: the failure is over, or nothing refers any more to what has failed. */
  cancel(): void {
    this.timer?.release();
    this.timer = undefined;
    this.report = undefined;
  }
}
