import type { Clock } from '../../util/clock';
import { errorMessage } from '../../util/errors';
import { StatusCode } from '../../util/status-code';
import type { AttemptHeaders, CallProgress, CallTracer } from './stats-plugin';

/** Bytes before each message: whether it is compressed, and its length. */
export const FRAME_HEADER = 5;

/** The headers of an attempt as grpc-js passes them to pickers. */
export interface PickHeaders extends AttemptHeaders {
  get(key: string): readonly (string | Buffer)[];
}

/**
 * The state of one observed call: finds out its attempts from the picks of grpc-js, and notifies a tracer of
 * them.
 *
 * An attempt starts with its first pick. It ends with the status on its connection, with a pick that fails or drops it,
 * or else with the call. The host does not say that an attempt ended without a connection, such as for lack of
 * credentials: then it ends, with UNKNOWN, when the next one is picked.
 */
export class CallStats implements CallProgress {
  wasResolutionDelayed = false;
  retries = 0;
  transparentRetries = 0;
  retryDelayMs = 0;
  durationMs = 0;
  attemptDurationMs = 0;
  isTransparentRetry = false;
  previousAttempts = 0;
  wasPickDelayed = false;
  sentBytes = 0;
  receivedBytes = 0;
  locality = '';
  backendService = '';
  /** The number of attempts that were started. The latest has this number. */
  attempts = 0;
  private isAttemptOpen = false;
  private isEnded = false;
  private readonly startedAtMs: number;
  private attemptStartedAtMs = 0;
  private attemptEndedAtMs = 0;

  /** @param clock For monotonic time. */
  constructor(
    private readonly tracer: CallTracer,
    private readonly clock: Pick<Clock, 'monotonicMs'>,
  ) {
    this.startedAtMs = clock.monotonicMs();
  }

  /** Returns what is to be told of the present attempt. @param locality Of its endpoint; empty if it is not known. */
  traceAttempt(locality: string): ObservedAttempt {
    return new ObservedAttempt(this, locality);
  }

  /** Runs a function that starts calls for this one. */
  run<T>(start: () => T): T {
    return this.tracer.run === undefined ? start() : this.tracer.run(start);
  }

  /** Called before each pick of the call, also a repeated one. */
  startPick(headers: PickHeaders): void {
    // The host starts calls that have ended in a filter.
    if (this.isEnded) return;
    const previous = this.attempts === 0 ? 0 : previousAttempts(headers);
    if (this.isAttemptOpen) {
      if (previous === this.previousAttempts) return;
      this.endAttempt(this.attempts, StatusCode.UNKNOWN, '');
    }
    this.startAttempt(previous);
  }

  /** The pick was queued. */
  onQueued(): void {
    this.wasPickDelayed = true;
  }

  /** The pick is complete. Headers may be added. */
  onPicked(headers: AttemptHeaders): void {
    if (this.isAttemptOpen) this.tracer.onPicked?.(this, headers);
  }

  /** The attempt is on a connection. @param locality Of the endpoint. */
  onSent(locality: string): void {
    if (!this.isAttemptOpen) return;
    this.locality = locality;
    this.tracer.onSent?.(this);
  }

  /** @param attempt The number of the attempt that the message belongs to. */
  onMessageSent(attempt: number, frame: Buffer): void {
    if (!this.isOpen(attempt)) return;
    const size = frame.length - FRAME_HEADER;
    this.sentBytes += size;
    this.tracer.onMessageSent?.(this, size, frame[0] === 1);
  }

  /** @param attempt The number of the attempt that the message belongs to. */
  onMessageReceived(attempt: number, frame: Buffer): void {
    if (!this.isOpen(attempt)) return;
    const size = frame.length - FRAME_HEADER;
    this.receivedBytes += size;
    this.tracer.onMessageReceived?.(this, size, frame[0] === 1);
  }

  /** Ends an attempt, unless it has ended. */
  endAttempt(attempt: number, code: number, details: string): void {
    if (this.isOpen(attempt)) this.closeAttempt(this.clock.monotonicMs(), code, details);
  }

  /** Ends the call, and its attempt if it has not ended. */
  end(code: number, details: string): void {
    if (this.isEnded) return;
    const nowMs = this.clock.monotonicMs();
    if (this.isAttemptOpen) this.closeAttempt(nowMs, code, details);
    this.isEnded = true;
    this.durationMs = nowMs - this.startedAtMs;
    this.tracer.onCallEnded(this, code, details);
  }

  private isOpen(attempt: number): boolean {
    return this.isAttemptOpen && attempt === this.attempts;
  }

  private closeAttempt(nowMs: number, code: number, details: string): void {
    this.isAttemptOpen = false;
    this.attemptEndedAtMs = nowMs;
    this.attemptDurationMs = this.attemptEndedAtMs - this.attemptStartedAtMs;
    this.tracer.onAttemptEnded(this, code, details);
  }

  private startAttempt(previous: number): void {
    const nowMs = this.clock.monotonicMs();
    if (this.attempts > 0) {
      this.isTransparentRetry = previous === this.previousAttempts;
      if (this.isTransparentRetry) this.transparentRetries++;
      else this.retries++;
      this.retryDelayMs += nowMs - this.attemptEndedAtMs;
    }
    this.attempts++;
    this.previousAttempts = previous;
    this.attemptStartedAtMs = nowMs;
    this.isAttemptOpen = true;
    this.wasPickDelayed = false;
    this.sentBytes = 0;
    this.receivedBytes = 0;
    this.locality = '';
    this.backendService = '';
    this.tracer.onAttemptStarted(this);
  }
}

/** One attempt of an observed call, for what watches it on its connection. */
class ObservedAttempt {
  private readonly attempt: number;

  constructor(
    private readonly call: CallStats,
    private readonly locality: string,
  ) {
    this.attempt = call.attempts;
  }

  onSent(): void {
    this.call.onSent(this.locality);
  }

  onMessageSent(frame: Buffer): void {
    this.call.onMessageSent(this.attempt, frame);
  }

  onMessageReceived(frame: Buffer): void {
    this.call.onMessageReceived(this.attempt, frame);
  }

  onEnded({ code, details }: { readonly code: number; readonly details: string }): void {
    this.call.endAttempt(this.attempt, code, details);
  }

  /** Ends as grpc-js ends it, which then starts another attempt. */
  onNotSent(error: unknown): void {
    this.call.endAttempt(this.attempt, StatusCode.INTERNAL, errorMessage(error));
  }
}

/** Returns the number in the header that grpc-js sends with retries. */
function previousAttempts(headers: PickHeaders): number {
  const [value] = headers.get('grpc-previous-rpc-attempts');
  return value === undefined ? 0 : Number(value);
}
