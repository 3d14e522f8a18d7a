import type { Clock } from '../../util/clock';
import { createHandle, type Handle } from '../../util/handle';

/** How long a server may take to receive the last report before the connection is closed. */
export const DRAIN_TIMEOUT_MS = 1000;

/** A stream of load reports in use. */
export interface EndableStream {
  /** Sends what can be reported now, calls in progress included, and ends the stream for good. */
  finish(): void;
  /** Ends the stream for good, and drops what was not reported. */
  close(): void;
}

/** The LRS streams of a process that are in use, from their start until their last report. */
export class LoadStreams {
  private readonly streams = new Set<EndableStream>();
  private readonly onRemoved = new Set<() => void>();

  constructor(private readonly clock: Pick<Clock, 'setTimer'>) {}

  /** Adds a stream until the handle is released. */
  add(stream: EndableStream): Handle {
    this.streams.add(stream);
    return createHandle(() => {
      this.streams.delete(stream);
      for (const onRemoved of [...this.onRemoved]) onRemoved();
    });
  }

  /**
   * Waits for the end of the streams that are in use now. They are finished a little before the timeout, for which calls
   * in progress are waited, and closed after it.
   *
   * @param timeoutMs Milliseconds.
   * @returns A promise that is never rejected.
   */
  end(timeoutMs: number): Promise<void> {
    const left = new Set(this.streams);
    if (left.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const keepsAlive = true;
      const after = (delayMs: number, act: (stream: EndableStream) => void) =>
        this.clock.setTimer(() => [...left].forEach(act), delayMs, keepsAlive);
      const timers = [
        after(Math.max(0, timeoutMs - DRAIN_TIMEOUT_MS), (stream) => stream.finish()),
        after(timeoutMs, (stream) => stream.close()),
      ];
      const onRemoved = () => {
        for (const stream of left) if (!this.streams.has(stream)) left.delete(stream);
        if (left.size > 0) return;
        this.onRemoved.delete(onRemoved);
        for (const timer of timers) timer.release();
        resolve();
      };
      this.onRemoved.add(onRemoved);
    });
  }
}
