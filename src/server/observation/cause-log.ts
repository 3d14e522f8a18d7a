import type { Clock } from '../../util/clock';

/** A cause is logged again after this. */
const INTERVAL_MS = 60_000;
/** The number of causes with lines of their own in that time. */
const MAX_CAUSES = 200;

/** Bounds the lines of a log by their causes: the first of each, and the next ones as a number, at most once a minute. */
export class CauseLog {
  /** Those that were logged longest ago first. */
  private readonly causes = new Map<string, { loggedAtMs: number; unlogged: number }>();

  constructor(private readonly clock: Pick<Clock, 'monotonicMs'>) {}

  /** @param write Called with the number of those that were left out since the last line of the cause. */
  report(cause: string, write: (unlogged: number) => void): void {
    const nowMs = this.clock.monotonicMs();
    const known = this.causes.get(cause);
    if (known !== undefined && nowMs - known.loggedAtMs < INTERVAL_MS) {
      known.unlogged++;
      return;
    }
    if (known === undefined && !this.hasRoom(nowMs)) return;
    this.causes.delete(cause);
    this.causes.set(cause, { loggedAtMs: nowMs, unlogged: 0 });
    write(known?.unlogged ?? 0);
  }

  /** A cause that may be logged again makes room for one that has not been: policies get other names in the course of time. */
  private hasRoom(nowMs: number): boolean {
    if (this.causes.size < MAX_CAUSES) return true;
    for (const [oldest, { loggedAtMs }] of this.causes) {
      if (nowMs - loggedAtMs < INTERVAL_MS) return false;
      this.causes.delete(oldest);
      return true;
    }
    return true;
  }
}
