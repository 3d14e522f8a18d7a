import type { Clock } from '../../util/clock';
import { StatusCode } from '../../util/status-code';
import type { StreamStatus, XdsStream, XdsStreamHandler } from '../../xds-client/transport';
import type { IpcMessage, StreamMessage } from './ipc-message';
import { MessageReceiver, MessageSender } from './message-flow';

/** Constructor options of a stream. */
export interface IpcStreamOptions {
  readonly clock: Pick<Clock, 'soon'>;
  readonly id: number;
  /** Full method path, such as `/package.Service/Method`. */
  readonly method: string;
  readonly maxMessageBytes: number;
  readonly handler: XdsStreamHandler;
  readonly post: (message: IpcMessage) => void;
  /** Called once, when the stream has ended, from either side. */
  readonly onEnd: () => void;
}

/** The client's end of a stream by IPC. Nothing is sent before the relay is known. */
export class IpcStream implements XdsStream {
  private readonly sender: MessageSender;
  private readonly receiver: MessageReceiver;
  private state: 'pending' | 'open' | 'ended' = 'pending';

  constructor(private readonly options: IpcStreamOptions) {
    const { id: stream, handler, maxMessageBytes, post } = options;
    const writer = {
      write: (bytes: Uint8Array, isLast: boolean) =>
        this.whileOpen(() => post({ kind: 'data', stream, bytes, isLast })),
      end: () => this.whileOpen(() => post({ kind: 'half-close', stream })),
    };
    this.sender = new MessageSender(writer, true);
    this.receiver = new MessageReceiver(maxMessageBytes, {
      onMessage: (bytes) => handler.onMessage(bytes),
      // The relay ends a stream with a status.
      onEnd: () => {},
      onCredit: (bytes) => post({ kind: 'credit', stream, bytes }),
      onExcess: (details) => this.abort({ code: StatusCode.RESOURCE_EXHAUSTED, details }),
    });
  }

  send(bytes: Uint8Array): void {
    const { clock, handler } = this.options;
    const onSent = () => this.whileOpen(() => handler.onSent());
    this.sender.send(bytes, () => clock.soon(onSent));
  }

  read(): void {
    this.options.clock.soon(() => this.receiver.read());
  }

  halfClose(): void {
    this.sender.end();
  }

  close(): void {
    this.cancel('closed by the client');
  }

  /** Opens the stream at a relay. */
  open(session: string): void {
    if (this.state !== 'pending') return;
    this.state = 'open';
    const { id: stream, method, post } = this.options;
    post({ kind: 'open', stream, session, method });
    this.sender.release();
  }

  onMessage(message: StreamMessage): void {
    switch (message.kind) {
      case 'data':
        this.receiver.onData(message.bytes, message.isLast);
        return;
      case 'credit':
        this.sender.onCredit(message.bytes);
        return;
      case 'end':
        this.end({ code: message.code, details: message.details, hasAnswered: true });
        return;
      case 'half-close':
        // Only clients send it.
        return;
    }
  }

  /** Ends the stream without the relay. */
  end(status: StreamStatus): void {
    if (this.finish()) this.options.handler.onClosed(status);
  }

  /** Ends the stream on both sides. */
  private abort(status: StreamStatus): void {
    if (this.cancel(status.details)) this.options.handler.onClosed(status);
  }

  private cancel(details: string): boolean {
    const { id: stream, post } = this.options;
    if (this.state === 'open') {
      post({ kind: 'end', stream, code: StatusCode.CANCELLED, details });
    }
    return this.finish();
  }

  /** @returns false if the stream had ended before. */
  private finish(): boolean {
    if (this.state === 'ended') return false;
    this.state = 'ended';
    this.receiver.close();
    this.options.onEnd();
    return true;
  }

  private whileOpen(action: () => void): void {
    if (this.state === 'open') action();
  }
}
