import type { Clock } from '../util/clock';
import type { Handle } from '../util/handle';
import type { SerialQueue } from '../util/serial-queue';
import type { WatchedResource } from './watched-resource';

/** After so many milliseconds a wait is worth a line in the log. */
const PATIENCE_MS = 5000;

/** What the reports are made of. */
export interface WaitReportsOptions {
  readonly clock: Clock;
  readonly queue: SerialQueue;
  /** Called once per wait, with all that have become long at the same time, the oldest first. */
  readonly onLong: (resources: readonly WatchedResource[]) => void;
}

/** Sees to it that no wait goes unmentioned: those of one authority, with one timer for all of them. */
export class WaitReports {
  /** When the waits began that have not been reported, on the monotonic clock; the oldest first. */
  private readonly waits = new Map<WatchedResource, number>();
  private timer: Handle | undefined;

  constructor(private readonly options: WaitReportsOptions) {}

  /** Nothing has been heard of a resource yet. */
  begin(resource: WatchedResource): void {
    this.waits.set(resource, this.options.clock.monotonicMs());
    this.timer ??= this.startTimer(PATIENCE_MS);
  }

  /** Something has been heard of a resource, or nobody wants to hear of it any more. */
  end(resource: WatchedResource): void {
    this.waits.delete(resource);
    if (this.waits.size === 0) this.clear();
  }

  /** Forgets everything. */
  clear(): void {
    this.waits.clear();
    this.timer?.release();
    this.timer = undefined;
  }

  private startTimer(delayMs: number): Handle {
    const { clock, queue } = this.options;
    return clock.setTimer(() => queue.run(() => this.onTimer()), delayMs);
  }

  private onTimer(): void {
    if (this.timer === undefined) return;
    this.timer = undefined;
    const long: WatchedResource[] = [];
    const nowMs = this.options.clock.monotonicMs();
    for (const [resource, sinceMs] of this.waits) {
      const restMs = sinceMs + PATIENCE_MS - nowMs;
      if (restMs > 0) {
        this.timer = this.startTimer(restMs);
        break;
      }
      this.waits.delete(resource);
      long.push(resource);
    }
    if (long.length > 0) this.options.onLong(long);
  }
}
