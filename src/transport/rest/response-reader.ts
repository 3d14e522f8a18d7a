import type { Clock } from '../../util/clock';
import type { Handle } from '../../util/handle';
import type { Steps } from '../../util/steps';
import { TimeSlices } from '../../util/time-slices';
import { TimeBudget } from '../../xds-client/budgets';
import { DEFAULT_TIME_PERCENT } from '../../xds-client/limits';

/**
 * Runs the steps that read responses, for all servers of a process: a slice of time in each turn of the event loop, and
 * altogether a share of the time, beyond which further responses are requested later.
 */
export class ResponseReader {
  private readonly slices: TimeSlices;
  private readonly budget: TimeBudget;

  constructor(private readonly clock: Clock) {
    this.slices = new TimeSlices(clock);
    this.budget = new TimeBudget(DEFAULT_TIME_PERCENT / 100, clock.monotonicMs());
  }

  /** Runs steps from the next turn of the event loop on. @returns a handle that drops those that are left. */
  run(steps: Steps<void>): Handle {
    return this.slices.startLater({ batch: { run: (task) => this.measure(task) }, steps });
  }

  /** Milliseconds until the next response may be requested; zero while there is time left. */
  waitMs(): number {
    return this.budget.waitMs(this.clock.monotonicMs());
  }

  private measure(task: () => void): void {
    const startMs = this.clock.monotonicMs();
    task();
    const endMs = this.clock.monotonicMs();
    this.budget.spend(endMs - startMs, endMs);
  }
}
