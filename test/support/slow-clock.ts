import { FakeClock } from './fake-clock';

/** A clock on which work takes time: what is done adds to `spentMs`. */
export class SlowClock extends FakeClock {
  spentMs = 0;

  override monotonicMs(): number {
    return super.monotonicMs() + this.spentMs;
  }
}
