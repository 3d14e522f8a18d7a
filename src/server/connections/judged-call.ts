import {
  ServerInterceptingCall,
  Status,
  type Metadata,
  type ServerInterceptor,
} from '../../grpc-js';
import { completeMetadata } from '../../grpc-js/handed-over';
import { runContained } from '../../grpc-js/host-callbacks';
import { failCall } from '../../grpc-js/server-callbacks';
import type { Refusal } from '../../http-filters/server-filter';
import type { CallCounts } from '../observation/server-counts';

/** For exceptions. */
const PLACE = 'the judgement of a call';

type InterceptedCall = Parameters<ServerInterceptor>[1];
type CallListener = Parameters<ServerInterceptingCall['start']>[0];

/** Decides about the calls of a connection. */
export interface CallJudge {
  /** Returns the status with which the call ends; `undefined` if it is passed on. Does not throw. */
  judge(path: string, metadata: Metadata, call: InterceptedCall): Refusal | undefined;
  /** Counts the calls. */
  readonly calls: CallCounts;
}

/**
 * A call whose handler, and the interceptors before it, are called only if it is not refused. Everything else is passed on as it
 * is: the class of grpc-js would make several closures for each message.
 */
export class JudgedCall extends ServerInterceptingCall {
  private isInProgress = false;

  constructor(
    private readonly call: InterceptedCall,
    private readonly path: string,
    private readonly judge: CallJudge,
  ) {
    super(call);
  }

  override start(listener: CallListener): void {
    this.call.start(new JudgedListener(this, listener));
  }

  /** Begins the call. @returns whether it is passed on. */
  begins(metadata: Metadata): boolean {
    try {
      return this.begin(metadata);
    } catch (error) {
      failCall(PLACE, this.call, error);
      return false;
    }
  }

  private begin(metadata: Metadata): boolean {
    const { judge, call, path } = this;
    this.isInProgress = true;
    judge.calls.started++;
    const refusal = judge.judge(path, metadata, call);
    if (refusal === undefined) return true;
    const { code, details, metadata: trailers = null } = refusal;
    call.sendStatus({ code, details, metadata: trailers });
    return false;
  }

  /** Ends the call, when its stream has closed. */
  end(): void {
    if (this.isInProgress) this.judge.calls.ended++;
    this.isInProgress = false;
  }

  override sendMetadata(metadata: Metadata): void {
    this.call.sendMetadata(metadata);
  }

  override sendMessage(message: unknown, callback: () => void): void {
    this.call.sendMessage(message, callback);
  }

  override sendStatus(status: Parameters<ServerInterceptingCall['sendStatus']>[0]): void {
    if (status.code === Status.OK && this.isInProgress) this.judge.calls.succeeded++;
    this.call.sendStatus(status);
  }
}

class JudgedListener implements CallListener {
  private isRefused = false;

  constructor(
    private readonly call: JudgedCall,
    private readonly next: CallListener,
  ) {}

  onReceiveMetadata(metadata: Metadata): void {
    const headers = completeMetadata(metadata);
    if (this.call.begins(headers)) this.next.onReceiveMetadata(headers);
    else this.isRefused = true;
  }

  onReceiveMessage(message: unknown): void {
    if (!this.isRefused) this.next.onReceiveMessage(message);
  }

  onReceiveHalfClose(): void {
    if (!this.isRefused) this.next.onReceiveHalfClose();
  }

  /** grpc-js calls it at the end of every call, also of one that succeeded. */
  onCancel(): void {
    runContained(PLACE, () => this.call.end());
    this.next.onCancel();
  }
}
