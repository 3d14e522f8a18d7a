import type { Handle } from '../util/handle';
import type { EndpointLeaf } from './endpoint-leaf';
import type { LbHost } from './lb-policy';

/** How long connections are begun without a break. To begin one takes grpc-js the longer the more there are. */
const SLICE_MS = 4;
/** The shortest time a timer takes. */
const BREAK_MS = 1;

/**
 * Connects leaves, as many at a time as take a few milliseconds: thousands of them would keep everything else waiting for
 * seconds. To be used from the batch.
 */
export class ConnectQueue {
  private readonly waiting = new Set<EndpointLeaf>();
  private timer: Handle | undefined;

  constructor(private readonly host: LbHost) {}

  /** Begins with the leaves, which are idle, after those that are waiting already. */
  connect(leaves: readonly EndpointLeaf[]): void {
    for (const leaf of leaves) this.waiting.add(leaf);
    if (this.timer === undefined) this.runSlice();
  }

  /** Forgets a leaf. */
  delete(leaf: EndpointLeaf): void {
    this.waiting.delete(leaf);
  }

  /** Forgets all of them. */
  clear(): void {
    this.waiting.clear();
    this.timer?.release();
    this.timer = undefined;
  }

  private runSlice(): void {
    const { batch, clock } = this.host.environment;
    this.timer = undefined;
    const end = clock.monotonicMs() + SLICE_MS;
    for (const leaf of this.waiting) {
      this.waiting.delete(leaf);
      leaf.connect();
      if (clock.monotonicMs() >= end) break;
    }
    if (this.waiting.size === 0) return;
    this.timer = clock.setTimer(() => batch.run(() => this.runSlice()), BREAK_MS);
  }
}
