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
  readonly onLong: (waits: readonly LongWait[]) => void;
}

/** A resource that has been pending for long. */
export interface LongWait {
  readonly resource: WatchedResource;
  /** The target that watches it; `undefined` if the client has none. */
  readonly target: string | undefined;
  /** Describes since when it has been pending and what each server is doing about it. */
  readonly describe: () => string;
}

interface Wait extends LongWait {
  /** On the monotonic clock. */
  readonly sinceMs: number;
}

/** Reports what has been pending for long: for every target of a bootstrap, with one timer for all of it. */
export class WaitReports {
  /** Those that have not been reported, the oldest first. */
  private readonly waits = new Map<WatchedResource, Wait>();
  private timer: Handle | undefined;

  constructor(private readonly options: WaitReportsOptions) {}

  /** A resource has become pending. */
  begin(wait: LongWait): void {
    this.waits.set(wait.resource, { ...wait, sinceMs: this.options.clock.monotonicMs() });
    this.timer ??= this.startTimer(PATIENCE_MS);
  }

  /** A resource is no longer pending, or no longer watched. */
  end(resource: WatchedResource): void {
    this.waits.delete(resource);
    if (this.waits.size > 0) return;
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
    const long: LongWait[] = [];
    const nowMs = this.options.clock.monotonicMs();
    for (const wait of this.waits.values()) {
      const restMs = wait.sinceMs + PATIENCE_MS - nowMs;
      if (restMs > 0) {
        this.timer = this.startTimer(restMs);
        break;
      }
      this.waits.delete(wait.resource);
      long.push(wait);
    }
    if (long.length > 0) this.options.onLong(long);
  }
}
