import type { Clock } from '../../util/clock';
import { createHandle, type Handle } from '../../util/handle';

/** A hold on the counter of one cluster. */
export interface CallCounterHold extends Handle {
  readonly counter: CallCounter;
}

/**
 * The counters of concurrent calls, one per cluster and EDS service name, shared by all channels of the
 * process (gRFC A32). A counter exists while a policy holds it or a call is counted by it.
 */
export class CallCounterMap {
  private readonly counters = new Map<string, CallCounter>();

  constructor(private readonly clock: Clock) {}

  /** Takes a hold on the counter. */
  acquire(cluster: string, edsServiceName: string): CallCounterHold {
    const key = JSON.stringify([cluster, edsServiceName]);
    const counter = this.counters.get(key) ?? this.create(key);
    counter.hold();
    const handle = createHandle(() => counter.letGo());
    return { counter, release: () => handle.release() };
  }

  /** How many counters there are. */
  get size(): number {
    return this.counters.size;
  }

  private create(key: string): CallCounter {
    const counter: CallCounter = new CallCounter(this.clock, () => {
      // A call picked before and started since may keep a counter in use that has had a successor.
      if (this.counters.get(key) === counter) this.counters.delete(key);
    });
    this.counters.set(key, counter);
    return counter;
  }
}

/**
 * Counts concurrent calls.
 *
 * A picked call starts a little later, or never: it may end before, or be picked for again. So a pick only
 * reserves a place, which the start of a call takes up. A place not taken up is free again with the next
 * turn of the event loop. That is late enough for everything that starts without waiting; a call that waits
 * for credentials loses its place and is counted from its start on.
 */
export class CallCounter {
  private running = 0;
  private reserved = 0;
  private holders = 0;
  private expiry: Handle | undefined;

  /** @param onUnused Called when nobody holds the counter and no call is counted by it. */
  constructor(
    private readonly clock: Clock,
    private readonly onUnused: () => void,
  ) {}

  /** Calls that run or have a place reserved. */
  get count(): number {
    return this.running + this.reserved;
  }

  /**
   * A call was picked. Places that are not taken up expire only when every place begins to count: a timer for
   * every call would cost more than the call's own bookkeeping.
   * @param limit How many places there are.
   */
  reserve(limit: number): void {
    this.reserved++;
    if (2 * this.count < limit) return;
    this.expiry ??= this.clock.setTimer(() => {
      this.expiry = undefined;
      this.reserved = 0;
    }, 0);
  }

  /** A call starts. */
  start(): void {
    if (this.reserved > 0) this.reserved--;
    this.running++;
  }

  /** A call that was started has ended. */
  end(): void {
    this.running--;
    this.checkUnused();
  }

  /** For {@link CallCounterMap}. */
  hold(): void {
    this.holders++;
  }

  /** For {@link CallCounterMap}. */
  letGo(): void {
    this.holders--;
    this.checkUnused();
  }

  private checkUnused(): void {
    if (this.holders > 0 || this.running > 0) return;
    this.expiry?.release();
    this.onUnused();
  }
}
