import type { Metadata } from '../grpc-js';
import type { CallStatus } from '../grpc-js/handed-over';
import type { AttemptTracer } from '../grpc-js/host-call';

/** Watches the attempts of calls on one connection, and changes nothing of them. */
export interface CallObserver {
  /**
   * An attempt is about to be sent. Asked for each: whether anything is measured changes while the connection lives.
   *
   * @returns what watches this one; `undefined` if nothing does.
   */
  startAttempt(headers: Metadata): AttemptTracer | undefined;
}

/** Starts an attempt. @returns what watches it; `undefined` if nothing does. */
export function traceAttempt(
  observers: readonly CallObserver[],
  headers: Metadata,
): AttemptTracer | undefined {
  let tracer: AttemptTracer | undefined;
  for (const observer of observers) {
    const next = observer.startAttempt(headers);
    if (next !== undefined) tracer = tracer === undefined ? next : new BothTracers(tracer, next);
  }
  return tracer;
}

class BothTracers implements Required<AttemptTracer> {
  constructor(
    private readonly first: AttemptTracer,
    private readonly second: AttemptTracer,
  ) {}

  onSent(): void {
    this.first.onSent?.();
    this.second.onSent?.();
  }

  onMessageSent(frame: Buffer): void {
    this.first.onMessageSent?.(frame);
    this.second.onMessageSent?.(frame);
  }

  onMessageReceived(frame: Buffer): void {
    this.first.onMessageReceived?.(frame);
    this.second.onMessageReceived?.(frame);
  }

  onEnded(status: CallStatus): void {
    this.first.onEnded(status);
    this.second.onEnded(status);
  }

  onNotSent(error: unknown): void {
    this.first.onNotSent(error);
    this.second.onNotSent(error);
  }
}
