import { cutText } from '../util/cut-text';
import { MAX_TEXT_LENGTH } from '../util/sanitize-text';
import { Metadata, Status, type Channel } from '../grpc-js';
import { parseConnectionError } from '../grpc-js/connection-error';
import type { StreamStatus, XdsStream, XdsStreamHandler } from '../xds-client/transport';

type Call = ReturnType<Channel['createCall']>;
type CallStatus = Parameters<Parameters<Call['start']>[1]['onReceiveStatus']>[0];

/** The part of a call that a stream uses. */
export type StreamCall = Pick<
  Call,
  'start' | 'sendMessageWithContext' | 'startRead' | 'halfClose' | 'cancelWithStatus'
>;

/** Notified of the end of a stream. */
export interface StreamOwner {
  /** Called once, when the stream has ended, from either side. */
  onEnd(): void;
  /** Called when the server has ended the stream. @returns the status to pass on. */
  describe(status: StreamStatus): StreamStatus;
}

/**
 * A stream as one call on a channel. The call reports every event in a later turn of the event loop than its cause.
 */
export class GrpcStream implements XdsStream {
  /** `undefined` once the stream has ended: later events of the call are dropped. */
  private handler: XdsStreamHandler | undefined;
  /** Calls of `read` that have not been answered with a message. */
  private credits = 0;

  constructor(
    private readonly call: StreamCall,
    handler: XdsStreamHandler,
    private readonly owner: StreamOwner,
  ) {
    this.handler = handler;
    call.start(new Metadata(), {
      onReceiveMetadata: () => undefined,
      onReceiveMessage: (bytes: Uint8Array) => this.onMessage(bytes),
      onReceiveStatus: (status) => this.onStatus(status),
    });
  }

  /** See `XdsStream`. */
  send(bytes: Uint8Array): void {
    if (this.handler === undefined) return;
    // The call requires a Buffer, which is a view of the same memory.
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    // The callback runs when the HTTP/2 stream has taken the message. It also runs when that failed, and
    // then the status is on its way.
    this.call.sendMessageWithContext({ callback: () => this.handler?.onSent() }, buffer);
  }

  /** See `XdsStream`. */
  read(): void {
    if (this.handler === undefined) return;
    this.credits++;
    if (this.credits === 1) this.call.startRead();
  }

  /** See `XdsStream`. */
  halfClose(): void {
    if (this.handler !== undefined) this.call.halfClose();
  }

  /** See `XdsStream`. */
  close(): void {
    if (this.end() !== undefined) {
      this.call.cancelWithStatus(Status.CANCELLED, 'Closed by the client');
    }
  }

  /** Ends the stream in a way that its user takes for the end of the connection. */
  abort(status: StreamStatus): void {
    const handler = this.end();
    if (handler === undefined) return;
    this.call.cancelWithStatus(Status.CANCELLED, status.details);
    handler.onClosed(status);
  }

  private onMessage(bytes: Uint8Array): void {
    this.credits--;
    if (this.credits > 0) this.call.startRead();
    this.handler?.onMessage(bytes);
  }

  // Of the status, only what the contract has: its metadata is the server's business.
  private onStatus({ code, details }: CallStatus): void {
    const status = this.handler && this.owner.describe({ code, details });
    const handler = this.end();
    if (status !== undefined) handler?.onClosed(status);
  }

  /** @returns the handler unless the stream had ended before. */
  private end(): XdsStreamHandler | undefined {
    const { handler } = this;
    this.handler = undefined;
    if (handler !== undefined) this.owner.onEnd();
    return handler;
  }
}

/**
 * Returns the text of a status as one line; of a failed connection, only the cause, taken from the text of the channel.
 * Without the time of day, the same failure has the same text each time, so that it is logged once. Without the period of
 * some errors of Node.js, the text can be part of a sentence.
 */
export function describeDetails(details: string): string {
  const { cause, note } = parseConnectionError(cutText(details, MAX_TEXT_LENGTH));
  const text = note === '' ? cause : `${cause} (${note})`;
  return text.replace(/\s+/g, ' ').trim().replace(/\.$/, '');
}
