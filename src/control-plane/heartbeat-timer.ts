import type { Clock } from '../util/clock';
import type { Handle } from '../util/handle';

/** Beats twice in the time a resource lives, so that one heartbeat may be late. */
const beatsPerLife = 2;

/** Calls back as often as the shortest time to live asks for; not at all while nothing expires. */
export class HeartbeatTimer {
  private running: { readonly ttlMs: number; timer: Handle } | undefined;

  constructor(
    private readonly clock: Clock,
    private readonly beat: () => void,
  ) {}

  /** Goes on with this time to live, in milliseconds; stops when it is undefined. */
  schedule(ttlMs: number | undefined): void {
    const { running } = this;
    if (running?.ttlMs === ttlMs) return;
    running?.timer.release();
    this.running = ttlMs === undefined ? undefined : { ttlMs, timer: this.startTimer(ttlMs) };
    // However often the time changes, no heartbeat is put off for longer than it was.
    if (running !== undefined && ttlMs !== undefined) this.beat();
  }

  private startTimer(ttlMs: number): Handle {
    return this.clock.setTimer(() => {
      if (this.running !== undefined) this.running.timer = this.startTimer(ttlMs);
      this.beat();
    }, ttlMs / beatsPerLife);
  }
}
