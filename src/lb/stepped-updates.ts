import type { Handle } from '../util/handle';
import type { Steps } from '../util/steps';
import type { LbEnvironment } from './lb-policy';

/** How updates are applied. */
export interface SteppedUpdatesOptions<Update> {
  readonly environment: Pick<LbEnvironment, 'batch' | 'timeSlices'>;
  /** Applies an update in steps. */
  readonly apply: (update: Update) => Steps<void>;
}

/**
 * Applies updates one at a time, in steps. Those that arrive while one is being applied do not cancel it, since updates
 * that come faster than they can be applied would otherwise never take effect. Only the newest of them is applied next.
 */
export class SteppedUpdates<Update> {
  private newest: Update | undefined;
  private isApplying = false;
  private work: Handle | undefined;

  constructor(private readonly options: SteppedUpdatesOptions<Update>) {}

  /** Applies the update: before it returns if that is little work, and nothing else is being applied. */
  add(update: Update): void {
    this.newest = update;
    if (this.isApplying) return;
    const { batch, timeSlices } = this.options.environment;
    this.isApplying = true;
    this.work = timeSlices.start({ batch, steps: this.applyNewest() });
  }

  /** Whether an update has not been applied to its end. */
  get isBusy(): boolean {
    return this.isApplying;
  }

  /** Drops the update that is being applied, and the one after it. */
  cancel(): void {
    this.newest = undefined;
    this.isApplying = false;
    this.work?.release();
  }

  private *applyNewest(): Steps<void> {
    try {
      for (let update = this.take(); update !== undefined; update = this.take()) {
        yield* this.options.apply(update);
      }
    } finally {
      this.isApplying = false;
    }
  }

  private take(): Update | undefined {
    const { newest } = this;
    this.newest = undefined;
    return newest;
  }
}
