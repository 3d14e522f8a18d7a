import { Duplex } from 'node:stream';
import { MAX_REQUEST_BYTES } from '../../control-plane/limits';
import type { StreamCall, StreamCodec } from '../../control-plane/server-stream';
import type { IpcMessage, StreamMessage } from './ipc-message';
import { MessageReceiver, MessageSender } from './message-flow';
import { StatusCode } from '../../util/status-code';

/** Constructor options of a call. */
export interface IpcCallOptions<Request, Response> {
  readonly codec: StreamCodec<Request, Response>;
  readonly stream: number;
  /** Names the process of the client. */
  readonly peer: string;
  readonly post: (message: IpcMessage) => void;
  /** Called once, when the call has ended, from either side. */
  readonly onEnd: () => void;
}

/** The call of one client, for the connection that it came on. */
export interface ReceivedCall {
  onMessage(message: StreamMessage): void;
  /** Ends the call, as its client has done. */
  cancel(): void;
}

/** The server's end of a stream by IPC, with the events of a call of grpc-js. */
export class IpcCall<Request, Response>
  extends Duplex
  implements StreamCall<Request, Response>, ReceivedCall
{
  private readonly sender: MessageSender;
  private readonly receiver: MessageReceiver;
  private hasEnded = false;

  constructor(private readonly options: IpcCallOptions<Request, Response>) {
    super({ objectMode: true });
    const { stream, codec, post } = options;
    const writer = {
      write: (bytes: Uint8Array, isLast: boolean) => post({ kind: 'data', stream, bytes, isLast }),
      end: () => this.finish(StatusCode.OK, ''),
    };
    this.sender = new MessageSender(writer, false);
    this.receiver = new MessageReceiver(MAX_REQUEST_BYTES, {
      onMessage: (bytes) => this.push(codec.read(bytes)),
      onEnd: () => this.push(null),
      onCredit: (bytes) => post({ kind: 'credit', stream, bytes }),
      onExcess: (details) => this.fail(StatusCode.RESOURCE_EXHAUSTED, details),
    });
    this.on('error', ({ code, details }: Error & Partial<Record<'code' | 'details', unknown>>) =>
      this.finish(Number(code), String(details)),
    );
  }

  getPeer(): string {
    return this.options.peer;
  }

  onMessage(message: StreamMessage): void {
    switch (message.kind) {
      case 'data':
        this.receiver.onData(message.bytes, message.isLast);
        return;
      case 'credit':
        this.sender.onCredit(message.bytes);
        return;
      case 'half-close':
        this.receiver.onHalfClose();
        return;
      case 'end':
        this.cancel();
        return;
    }
  }

  cancel(): void {
    if (!this.release()) return;
    this.emit('cancelled');
    this.destroy();
  }

  override _read(): void {
    this.receiver.read();
  }

  override _write(
    message: Response,
    _encoding: BufferEncoding,
    callback: (error?: Error) => void,
  ): void {
    if (!this.hasEnded) this.sender.send(this.options.codec.write(message), () => callback());
  }

  override _final(callback: () => void): void {
    this.sender.end();
    callback();
  }

  /** Ends the call because of what its client has sent. */
  private fail(code: number, details: string): void {
    this.finish(code, details);
    this.emit('cancelled');
  }

  /** Ends the call with a status. */
  private finish(code: number, details: string): void {
    if (!this.release()) return;
    const { stream, post } = this.options;
    post({ kind: 'end', stream, code, details });
    this.destroy();
  }

  /** @returns false if the call had ended before. */
  private release(): boolean {
    if (this.hasEnded) return false;
    this.hasEnded = true;
    this.receiver.close();
    this.options.onEnd();
    return true;
  }
}
