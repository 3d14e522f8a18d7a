import type { Handle } from '../util/handle';
import { MAX_UNREAD_BYTES } from '../util/limits';
import { afterRunning, type RunningClock } from '../util/running-time';

/** How long a client may read nothing when there are too many. One that reads is not late by more than a response. */
export const MAX_UNREAD_MS = 1000;

/** A stream with responses that its client has not read. */
export interface UnreadStream {
  /** Ends the stream and frees its responses. */
  reset(): void;
}

interface Unread {
  bytes: number;
  /** When it last had none, on the monotonic clock. */
  readonly sinceMs: number;
}

/**
 * The bytes of resources in the responses that clients have not read, of all streams of a server. While there are too many, those
 * streams are reset whose clients do not read, the longest first.
 */
export class UnreadBytes {
  /** The one that has waited longest first. */
  private readonly streams = new Map<UnreadStream, Unread>();
  private total = 0;
  private timer: Handle | undefined;

  constructor(private readonly clock: RunningClock) {}

  /** Adds a response to those of a stream. */
  add(stream: UnreadStream, bytes: number): void {
    const unread = this.streams.get(stream) ?? { bytes: 0, sinceMs: this.clock.monotonicMs() };
    this.streams.set(stream, unread);
    unread.bytes += bytes;
    this.total += bytes;
    if (this.total > MAX_UNREAD_BYTES) this.check();
  }

  /** Removes a stream that has been read, or has ended. */
  remove(stream: UnreadStream): void {
    this.total -= this.streams.get(stream)?.bytes ?? 0;
    this.streams.delete(stream);
  }

  private check(): void {
    const nowMs = this.clock.monotonicMs();
    for (const [stream, { sinceMs }] of this.streams) {
      if (this.total <= MAX_UNREAD_BYTES) return;
      if (nowMs - sinceMs < MAX_UNREAD_MS) break;
      this.remove(stream);
      stream.reset();
    }
    const onOver = () => {
      this.timer = undefined;
      if (this.total > MAX_UNREAD_BYTES) this.check();
    };
    this.timer ??= afterRunning(this.clock, onOver, MAX_UNREAD_MS);
  }
}
