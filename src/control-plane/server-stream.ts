import type { MethodDefinition, ServerDuplexStream, status } from '@grpc/grpc-js';
import { asBuffer } from '../util/as-buffer';

export interface MessageCodec<Message> {
  encode(message: Message): { finish(): Uint8Array };
  decode(bytes: Uint8Array): Message;
}

/** Returns the definition of a method with a stream in each direction. */
export function createStreamMethod<Request, Response>(
  path: string,
  {
    request,
    response,
  }: { readonly request: MessageCodec<Request>; readonly response: MessageCodec<Response> },
): MethodDefinition<Request, Response> {
  return {
    path,
    requestStream: true,
    responseStream: true,
    requestSerialize: (message) => asBuffer(request.encode(message).finish()),
    requestDeserialize: (bytes) => request.decode(bytes),
    responseSerialize: (message) => asBuffer(response.encode(message).finish()),
    responseDeserialize: (bytes) => response.decode(bytes),
  };
}

/** Receives the events of a server stream. */
export interface ServerStreamListener<Request> {
  onRequest(request: Request): void;
  /** Called once, when the client or the server has ended the stream. */
  onClosed(): void;
}

/** The server's end of a bidirectional stream. */
export class ServerStream<Request, Response> {
  private open = true;

  constructor(
    private readonly call: ServerDuplexStream<Request, Response>,
    private readonly listener: ServerStreamListener<Request>,
  ) {
    call.on('data', (request: Request) => {
      if (this.open) listener.onRequest(request);
    });
    call.on('end', () => {
      if (!this.open) return;
      this.close();
      call.end();
    });
    for (const event of ['cancelled', 'error', 'close']) call.on(event, () => this.close());
  }

  get isOpen(): boolean {
    return this.open;
  }

  /** Address of the client. */
  get peer(): string {
    return this.call.getPeer();
  }

  write(message: Response): void {
    this.call.write(message);
  }

  /** Ends the stream with an error status. */
  fail(code: status, details: string): void {
    if (!this.open) return;
    this.close();
    this.call.emit('error', { code, details });
  }

  private close(): void {
    if (!this.open) return;
    this.open = false;
    this.listener.onClosed();
  }
}
