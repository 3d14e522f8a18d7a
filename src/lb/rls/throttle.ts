import type { Clock } from '../../util/clock';
import type { Random } from '../../util/random';

/** The recent history that counts. */
const WINDOW_MS = 30_000;
const BIN_MS = 300;
/** By how much more requests than are accepted may be sent. */
const RATIO = 2;
/** Requests without an effect, so that a few failures throttle little. */
const PADDING = 8;

interface Bin {
  /** The number of the interval. */
  readonly index: number;
  requests: number;
  accepts: number;
}

/** Leaves out a share of the requests to a server that does not accept them, as adaptive throttling does in the other languages. */
export class AdaptiveThrottle {
  /** The oldest first. */
  private readonly bins: Bin[] = [];

  constructor(
    private readonly clock: Pick<Clock, 'monotonicMs'>,
    private readonly random: Random,
  ) {}

  /** Whether the next request should not be sent. If so, it counts as one that was not accepted. */
  shouldThrottle(): boolean {
    this.removeOld();
    let requests = 0;
    let accepts = 0;
    for (const bin of this.bins) {
      requests += bin.requests;
      accepts += bin.accepts;
    }
    const isThrottled = (requests - RATIO * accepts) / (requests + PADDING) > this.random();
    if (isThrottled) this.add(false);
    return isThrottled;
  }

  /** Counts a request that was sent, when it has ended. */
  add(isAccepted: boolean): void {
    this.removeOld();
    const index = this.currentIndex();
    let bin = this.bins.at(-1);
    if (bin?.index !== index) {
      bin = { index, requests: 0, accepts: 0 };
      this.bins.push(bin);
    }
    bin.requests++;
    if (isAccepted) bin.accepts++;
  }

  private removeOld(): void {
    const oldest = this.currentIndex() - WINDOW_MS / BIN_MS;
    while (this.bins[0] !== undefined && this.bins[0].index <= oldest) this.bins.shift();
  }

  private currentIndex(): number {
    return Math.floor(this.clock.monotonicMs() / BIN_MS);
  }
}
