import { ServerInterceptingCall, type Metadata, type ServerInterceptor } from '../../grpc-js';
import type { Refusal } from '../../http-filters/server-filter';

type InterceptedCall = Parameters<ServerInterceptor>[1];
type CallListener = Parameters<ServerInterceptingCall['start']>[0];

/** Decides about the calls of a connection. */
export interface CallJudge {
  /** Returns the status with which the call ends; `undefined` if it is passed on. Does not throw. */
  judge(path: string, metadata: Metadata, call: InterceptedCall): Refusal | undefined;
}

/**
 * A call whose handler, and the interceptors before it, are called only if it is not refused. Everything else is passed on as it
 * is: the class of grpc-js would make several closures for each message.
 */
export class JudgedCall extends ServerInterceptingCall {
  constructor(
    private readonly call: InterceptedCall,
    private readonly path: string,
    private readonly judge: CallJudge,
  ) {
    super(call);
  }

  override start(listener: CallListener): void {
    this.call.start(new JudgedListener(this.call, this.path, this.judge, listener));
  }

  override sendMetadata(metadata: Metadata): void {
    this.call.sendMetadata(metadata);
  }

  override sendMessage(message: unknown, callback: () => void): void {
    this.call.sendMessage(message, callback);
  }

  override sendStatus(status: Parameters<ServerInterceptingCall['sendStatus']>[0]): void {
    this.call.sendStatus(status);
  }
}

class JudgedListener implements CallListener {
  private isRefused = false;

  constructor(
    private readonly call: InterceptedCall,
    private readonly path: string,
    private readonly judge: CallJudge,
    private readonly next: CallListener,
  ) {}

  onReceiveMetadata(metadata: Metadata): void {
    const refusal = this.judge.judge(this.path, metadata, this.call);
    if (refusal === undefined) {
      this.next.onReceiveMetadata(metadata);
      return;
    }
    this.isRefused = true;
    const { code, details, metadata: trailers } = refusal;
    this.call.sendStatus({ code, details, metadata: trailers ?? null });
  }

  onReceiveMessage(message: unknown): void {
    if (!this.isRefused) this.next.onReceiveMessage(message);
  }

  onReceiveHalfClose(): void {
    if (!this.isRefused) this.next.onReceiveHalfClose();
  }

  onCancel(): void {
    this.next.onCancel();
  }
}
