import type { Clock } from '../../util/clock';
import { FRAME_HEADER } from './call-stats';
import type { ServerCallTotals, ServerCallTracer } from './stats-plugin';

/** One observed call of a server: what its transport sees, for a tracer. */
export class ServerCallStats implements ServerCallTotals {
  sentBytes = 0;
  receivedBytes = 0;
  durationMs = 0;
  private readonly startedAtMs: number;

  /** @param clock For monotonic time. */
  constructor(
    private readonly tracer: ServerCallTracer,
    private readonly clock: Pick<Clock, 'monotonicMs'>,
  ) {
    this.startedAtMs = clock.monotonicMs();
  }

  onMessageSent(frame: Buffer): void {
    const size = frame.length - FRAME_HEADER;
    this.sentBytes += size;
    this.tracer.onMessageSent?.(size, frame[0] === 1);
  }

  onMessageReceived(frame: Buffer): void {
    const size = frame.length - FRAME_HEADER;
    this.receivedBytes += size;
    this.tracer.onMessageReceived?.(size, frame[0] === 1);
  }

  onEnded({ code, details }: { readonly code: number; readonly details: string }): void {
    this.durationMs = this.clock.monotonicMs() - this.startedAtMs;
    this.tracer.onEnded(this, code, details);
  }

  run(task: () => void): void {
    if (this.tracer.run === undefined) task();
    else this.tracer.run(task);
  }
}
