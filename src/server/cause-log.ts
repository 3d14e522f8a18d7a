import type { Clock } from '../util/clock';

/** A cause is logged again after this. */
const INTERVAL_MS = 60_000;
/** The number of causes with lines of their own. */
const MAX_CAUSES = 200;

/** Bounds the lines of a log by their causes: the first of each, and the next ones as a number, at most once a minute. */
export class CauseLog {
  /** The one that was logged longest ago is the first. */
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
    if (known === undefined && this.causes.size >= MAX_CAUSES && !this.forgetOne(nowMs)) return;
    this.causes.delete(cause);
    this.causes.set(cause, { loggedAtMs: nowMs, unlogged: 0 });
    write(known?.unlogged ?? 0);
  }

  /** Makes room for another cause: policies that were replaced cause nothing any more. @returns whether there is room. */
  private forgetOne(nowMs: number): boolean {
    for (const [cause, { loggedAtMs }] of this.causes) {
      return nowMs - loggedAtMs >= INTERVAL_MS && this.causes.delete(cause);
    }
    return true;
  }
}
