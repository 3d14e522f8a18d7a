import { status, type Metadata, type Server } from '@grpc/grpc-js';
import { containedCallback } from '../grpc-js/host-callbacks';
import { containedHandler, onCallEvent } from '../grpc-js/server-callbacks';
import { asBuffer } from '../util/bytes';
import { inNextTurn, type Clock } from '../util/clock';
import { errorMessage } from '../util/errors';
import { MAX_STREAMS } from '../util/limits';
import { ReadBudget, ReadLimitError, type ReadLimit } from '../util/read-budget';
import { err, ok, type Result } from '../util/result';
import { principalOf } from './authentication';
import type { Principal } from './client-state';

/** For exceptions. */
const PLACE = 'a stream of a client';

export interface MessageCodec<Message> {
  encode(message: Message): { finish(): Uint8Array };
  decode(bytes: Uint8Array, length?: number, budget?: ReadBudget): Message;
}

/** A decoded request, or the status of a stream on which one cannot be read. */
export type Received<Request> = Result<
  Request,
  { readonly code: status; readonly details: string }
>;

/** A call whose requests are read within a limit: the part of `ServerDuplexStream` that a stream uses. */
export interface StreamCall<Request, Response> {
  on(event: 'data', listener: (request: Received<Request>) => void): unknown;
  on(event: string, listener: () => void): unknown;
  /** Ends the call with an error status. */
  emit(event: 'error', status: { readonly code: number; readonly details: string }): boolean;
  pause(): unknown;
  resume(): unknown;
  readonly writableNeedDrain: boolean;
  /** @param onRead Called when the client has begun to read the message. */
  write(message: Response, onRead?: () => void): boolean;
  /** Ends the call with OK. */
  end(): unknown;
  /** Address of the client. */
  getPeer(): string;
  /** The headers of the client; `undefined` if its transport has none. */
  readonly metadata?: Pick<Metadata, 'get'>;
}

/** Returns the status with which a call is refused before its first request; `undefined` if it is served. */
export type AdmitStream = (
  call: Pick<StreamCall<unknown, unknown>, 'on' | 'emit' | 'metadata'>,
) => { readonly code: number; readonly details: string } | undefined;

/** A method with a stream in each direction. */
export interface StreamMethod {
  addTo(server: Server): void;
}

/** The messages of a method, and the limit of its requests. */
export interface StreamMessages<Request, Response> {
  readonly request: MessageCodec<Request>;
  readonly response: MessageCodec<Response>;
  readonly limit: ReadLimit;
}

/** Creates a method. @param path Such as `/package.Service/Method`. @param onCall Called with each call. */
export function createStreamMethod<Request, Response>(
  path: string,
  { request, response, limit }: StreamMessages<Request, Response>,
  onCall: (call: StreamCall<Request, Response>) => void,
): StreamMethod {
  const definition = {
    path,
    requestStream: true,
    responseStream: true,
    requestSerialize: () => Buffer.alloc(0),
    requestDeserialize: (bytes: Buffer) => read(request, bytes, limit),
    responseSerialize: (message: Response) => asBuffer(response.encode(message).finish()),
    responseDeserialize: (bytes: Buffer) => response.decode(bytes),
  };
  return {
    addTo: (server) =>
      server.addService({ [path]: definition }, { [path]: containedHandler(PLACE, onCall) }),
  };
}

function read<Request>(
  codec: MessageCodec<Request>,
  bytes: Uint8Array,
  limit: ReadLimit,
): Received<Request> {
  try {
    return ok(codec.decode(bytes, undefined, new ReadBudget(limit)));
  } catch (error) {
    const code =
      error instanceof ReadLimitError ? status.RESOURCE_EXHAUSTED : status.INVALID_ARGUMENT;
    return err({ code, details: `the request cannot be read: ${errorMessage(error)}` });
  }
}

/**
 * Ends a call that is one too many, or not admitted.
 *
 * @param streams How many there are already.
 * @returns whether the call was ended.
 */
export function refuseStream(
  call: StreamCall<unknown, unknown>,
  streams: number,
  admit?: AdmitStream,
): boolean {
  const details = `there are ${MAX_STREAMS} streams already`;
  const refusal =
    streams >= MAX_STREAMS ? { code: status.RESOURCE_EXHAUSTED, details } : admit?.(call);
  if (refusal !== undefined) call.emit('error', refusal);
  return refusal !== undefined;
}

/** Receives the events of a server stream. */
export interface ServerStreamListener<Request> {
  onRequest(request: Request): void;
  /** The client reads again. Called before the requests that have waited for that. */
  onUnblocked(): void;
  /** Called once, when the client or the server has ended the stream. */
  onClosed(): void;
}

/**
 * The server's end of a bidirectional stream. It reads one request in a turn of the event loop, so that a client with many large ones
 * does not hold up the others. While the client does not read, its requests are not read either, so that responses do not accumulate.
 */
export class ServerStream<Request, Response> {
  private open = true;
  /** Responses that the client has not begun to read. */
  private unread = 0;
  /** Whether a request was read in this turn. */
  private isResting = false;

  constructor(
    private readonly call: StreamCall<Request, Response>,
    private readonly listener: ServerStreamListener<Request>,
    private readonly clock: Pick<Clock, 'nextTurn' | 'setTimer'>,
  ) {
    onCallEvent(PLACE, call, 'data', (received: Received<Request>) => {
      if (!this.open) return;
      this.rest();
      if (received.ok) listener.onRequest(received.value);
      else this.fail(received.error.code, received.error.details);
    });
    onCallEvent(PLACE, call, 'end', () => this.end());
    for (const event of ['cancelled', 'error', 'close']) {
      onCallEvent(PLACE, call, event, () => this.close());
    }
  }

  get isOpen(): boolean {
    return this.open;
  }

  /** Whether a response waits for the client to read: `onUnblocked` follows. */
  get isBlocked(): boolean {
    return this.unread > 0;
  }

  /** Whether the stream of Node.js is full of waiting responses. */
  get isFull(): boolean {
    return this.call.writableNeedDrain;
  }

  /** Address of the client. */
  get peer(): string {
    return this.call.getPeer();
  }

  /** Who the client is; undefined if it is not authenticated. */
  get principal(): Principal | undefined {
    return principalOf(this.call);
  }

  write(message: Response): void {
    this.unread++;
    const onRead = containedCallback(PLACE, () => {
      this.unread--;
      if (!this.isBlocked) this.onRead();
    });
    this.call.write(message, onRead);
  }

  /** Ends the stream with an error status. */
  fail(code: number, details: string): void {
    if (!this.open) return;
    this.close();
    this.call.emit('error', { code, details });
  }

  /** Ends the stream with OK. */
  end(): void {
    if (!this.open) return;
    this.close();
    this.call.end();
  }

  private rest(): void {
    this.call.pause();
    if (this.isResting) return;
    this.isResting = true;
    inNextTurn(this.clock, () => {
      this.isResting = false;
      this.readOn();
    });
  }

  private onRead(): void {
    if (this.open) this.listener.onUnblocked();
    this.readOn();
  }

  private readOn(): void {
    if (!this.isResting && !this.isBlocked) this.call.resume();
  }

  private close(): void {
    if (!this.open) return;
    this.open = false;
    this.listener.onClosed();
  }
}
