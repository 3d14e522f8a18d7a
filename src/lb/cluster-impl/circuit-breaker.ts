import type { Clock } from '../../util/clock';
import { createHandle, type Handle } from '../../util/handle';

/** A reference to the counter of one cluster. */
export interface CallCounterRef extends Handle {
  readonly counter: CallCounter;
}

/**
 * The counters of concurrent calls, one per cluster and EDS service name, shared by all channels of the process
 * (gRFC A32). A counter exists while a policy has a reference to it or a call is counted by it.
 */
export class CallCounterMap {
  private readonly counters = new Map<string, CallCounter>();

  constructor(private readonly clock: Clock) {}

  /** Returns a reference to the counter of a cluster, which is created for the first. */
  acquire(cluster: string, edsServiceName: string): CallCounterRef {
    const key = JSON.stringify([cluster, edsServiceName]);
    const counter = this.counters.get(key) ?? this.create(key);
    const handle = counter.acquire();
    return { counter, release: () => handle.release() };
  }

  get size(): number {
    return this.counters.size;
  }

  private create(key: string): CallCounter {
    const counter: CallCounter = new CallCounter(this.clock, () => {
      // A call that was picked before may still use a counter that has been replaced by another one.
      if (this.counters.get(key) === counter) this.counters.delete(key);
    });
    this.counters.set(key, counter);
    return counter;
  }
}

/**
 * Counts concurrent calls.
 *
 * A picked call starts a little later, or never: it may end before, or be picked again. So a pick only makes a
 * reservation, which the start of a call uses. Unused reservations expire in the next turn of the event loop. That is
 * late enough for calls that start without waiting; a call that waits for credentials is counted from its start on.
 */
export class CallCounter {
  /** The number of calls in flight and of reservations. */
  count = 0;
  private reserved = 0;
  private references = 0;
  private expiry: Handle | undefined;

  /** @param onUnused Called when no reference is left and no call is counted. */
  constructor(
    private readonly clock: Clock,
    private readonly onUnused: () => void,
  ) {}

  /**
   * Reserves a place for a picked call. Reservations expire only above half of the limit: a timer for every call would
   * cost more than the rest of the counting.
   *
   * @param limit The number of places.
   */
  reserve(limit: number): void {
    this.reserved++;
    this.count++;
    if (2 * this.count < limit) return;
    this.expiry ??= this.clock.setTimer(() => {
      this.expiry = undefined;
      this.count -= this.reserved;
      this.reserved = 0;
    }, 0);
  }

  start(): void {
    if (this.reserved > 0) this.reserved--;
    else this.count++;
  }

  end(): void {
    this.count--;
    if (this.references === 0) this.checkUnused();
  }

  /** Keeps the counter in its map until the handle is released. */
  acquire(): Handle {
    this.references++;
    return createHandle(() => {
      this.references--;
      this.checkUnused();
    });
  }

  private checkUnused(): void {
    if (this.references > 0 || this.count > this.reserved) return;
    this.expiry?.release();
    this.onUnused();
  }
}
