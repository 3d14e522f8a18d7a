import { status as Status, type Metadata } from '@grpc/grpc-js';
import type { PickResult, Subchannel } from '.';
import type { Clock } from '../util/clock';
import type { Handle } from '../util/handle';
import { MAX_MIRRORED_BYTES } from '../util/limits';
import type { CallListener, CallStatus } from './handed-over';
import { ContainedListener } from './host-call';
import { runContained } from './host-callbacks';
import type { CreateCall } from './subchannel-wrappers';

type Call = ReturnType<CreateCall>;

/** For exceptions. */
const PLACE = 'the copy of a call';

/** How long a copy may take after its call has ended. */
const GRACE_MS = 15_000;

/** Sends what grpc-js sends to its copies as well. */
export function copyRequest(call: Call, copies: readonly CallCopy[]): Call {
  const send = call.sendMessageWithContext.bind(call);
  const halfClose = call.halfClose.bind(call);
  call.sendMessageWithContext = (context, message) => {
    for (const copy of copies) runContained(PLACE, () => copy.send(message));
    send(context, message);
  };
  call.halfClose = () => {
    for (const copy of copies) runContained(PLACE, () => copy.halfClose());
    halfClose();
  };
  return call;
}

/** One copy of a call. */
export class CallCopy implements CallListener {
  private call: Call | undefined;
  /** Bytes that the connection has not taken yet. */
  private unsent = 0;
  private isComplete = false;
  private hasEnded = false;
  private grace: Handle | undefined;

  constructor(
    private readonly picked: PickResult,
    private readonly clock: Pick<Clock, 'setTimer'>,
  ) {}

  start(
    subchannel: Subchannel,
    metadata: Metadata,
    host: string,
    method: string,
    callId: number | undefined,
  ): void {
    const connection = subchannel.getRealSubchannel();
    try {
      this.call = connection.createCall(metadata, host, method, this, callId);
    } catch {
      // Closed since the pick.
      this.hasEnded = true;
      return;
    }
    this.picked.onCallStarted?.();
    this.call.startRead();
  }

  send(message: Buffer): void {
    const { call } = this;
    if (call === undefined || this.hasEnded) return;
    this.unsent += message.length;
    const callback = () => {
      this.unsent -= message.length;
    };
    if (this.unsent > MAX_MIRRORED_BYTES) this.cancel('it is slower than the call');
    else call.sendMessageWithContext({ callback }, message);
  }

  halfClose(): void {
    this.isComplete = true;
    if (!this.hasEnded) this.call?.halfClose();
  }

  /** The call has ended. */
  finish(): void {
    if (this.hasEnded) return;
    if (!this.isComplete) this.cancel('the call has ended');
    else {
      const cancel = () => this.cancel('it takes longer than the call');
      this.grace = this.clock.setTimer(cancel, GRACE_MS);
    }
  }

  onReceiveMetadata(): void {}

  onReceiveMessage(): void {
    this.call?.startRead();
  }

  onReceiveStatus({ code, details, metadata }: CallStatus): void {
    this.hasEnded = true;
    this.grace?.release();
    this.picked.onCallEnded?.(code, details, metadata);
  }

  private cancel(reason: string): void {
    this.call?.cancelWithStatus(Status.CANCELLED, `The copy of a call was cancelled: ${reason}`);
  }
}

/** Sees the end of a call that is copied. */
export class CopiedCallListener extends ContainedListener {
  constructor(
    next: CallListener,
    private readonly copies: readonly CallCopy[],
  ) {
    super(next);
  }

  protected override get place(): string {
    return PLACE;
  }

  protected override onStatus(status: CallStatus): CallStatus {
    for (const copy of this.copies) copy.finish();
    return status;
  }
}
