import { Metadata, type status } from '@grpc/grpc-js';
import { systemClock } from '../util/clock';
import type { CallListener, CreateCall } from './subchannel-wrappers';

type Call = ReturnType<CreateCall>;

/** A call that is not sent. It ends with its status when the current stack has unwound: its owner knows it by then. */
export class FailedCall implements Call {
  /** @param callId The number of the call in traces. */
  constructor(
    { code, details }: { readonly code: status; readonly details: string },
    listener: CallListener,
    private readonly callId = 0,
  ) {
    systemClock.soon(() => listener.onReceiveStatus({ code, details, metadata: new Metadata() }));
  }

  cancelWithStatus(): void {}

  getPeer(): string {
    return '';
  }

  sendMessageWithContext(): void {}

  startRead(): void {}

  halfClose(): void {}

  getCallNumber(): number {
    return this.callId;
  }

  getDeadlineInfo(): string[] {
    return [];
  }

  getAuthContext(): ReturnType<Call['getAuthContext']> {
    return {};
  }
}
