import { cutText, MAX_TEXT_LENGTH } from '../util/text';
import { Metadata, Status, type Channel, type Interceptor } from '../grpc-js';
import { parseConnectionError } from '../grpc-js/connection-error';
import type { CallStatus } from '../grpc-js/handed-over';
import { completeMetadata, completeStatus } from '../grpc-js/handed-over';
import { containedCallback, containedListener } from '../grpc-js/host-callbacks';
import type {
  StreamHeaders,
  StreamStatus,
  XdsStream,
  XdsStreamHandler,
} from '../xds-client/transport';
import type { CheckedChildOptions } from '../grpc-js/child-channel-options';
import type { Clock } from '../util/clock';
import { errorMessage } from '../util/errors';

type Call = ReturnType<Channel['createCall']>;

/** The part of a call that a stream uses. */
export type StreamCall = Pick<
  Call,
  'start' | 'sendMessageWithContext' | 'startRead' | 'halfClose' | 'cancelWithStatus'
>;

/** What grpc-js says of a stream that the server has reset before an answer. */
const REFUSED = /^Stream refused by server/;

const PLACE = 'a stream to a management server';

/** Notified of the end of a stream. */
export interface StreamOwner {
  /** Binary headers of the stream. Default: none. */
  readonly headers?: StreamHeaders | undefined;
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
  /** Whether the headers of a response have been received. */
  private hasAnswered = false;
  /** Calls of `read` that have not been answered with a message. */
  private credits = 0;

  constructor(
    private readonly call: StreamCall,
    handler: XdsStreamHandler,
    private readonly owner: StreamOwner,
  ) {
    this.handler = handler;
    const events = containedListener(
      PLACE,
      {
        onMetadata: () => void (this.hasAnswered = true),
        onMessage: (bytes) => this.onMessage(bytes),
        onStatus: (status) => this.onStatus(status),
      },
      ({ code, details }) => call.cancelWithStatus(code, details),
    );
    call.start(createMetadata(owner.headers), events);
  }

  send(bytes: Uint8Array): void {
    if (this.handler === undefined) return;
    // The call requires a Buffer, which is a view of the same memory.
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    // The callback runs when the HTTP/2 stream has taken the message. It also runs when that failed, and
    // then the status is on its way.
    const callback = containedCallback(PLACE, () => this.handler?.onSent());
    this.call.sendMessageWithContext({ callback }, buffer);
  }

  read(): void {
    if (this.handler === undefined) return;
    this.credits++;
    if (this.credits === 1) this.call.startRead();
  }

  halfClose(): void {
    if (this.handler !== undefined) this.call.halfClose();
  }

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
  private onStatus({ code, details, metadata }: CallStatus): void {
    // One without headers before it has its own, and one that refuses the stream has none.
    const hasAnswered =
      this.hasAnswered || Object.keys(metadata.getMap()).length > 0 || REFUSED.test(details);
    const status = this.handler && this.owner.describe({ code, details, hasAnswered });
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

function createMetadata(headers: StreamHeaders = {}): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
  return metadata;
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

type NextCall = Parameters<Interceptor>[1];
type CallOptions = Parameters<NextCall>[0];
type InterceptingCall = ReturnType<NextCall>;
type Listener = NonNullable<Parameters<InterceptingCall['start']>[1]>;
type MethodDefinition = CallOptions['method_definition'];

const sameBytes = (bytes: Buffer) => bytes;

/**
 * Creates a stream that passes the interceptors of the application (gRFC A110), the first of them first. Their messages
 * are bytes: requests as they are sent, responses as they were received.
 *
 * @returns `undefined` if there are no interceptors.
 */
export function createInterceptedCall(
  channel: Channel,
  path: string,
  { forClient: { interceptors = [], interceptor_providers: providers = [] } }: CheckedChildOptions,
  clock: Pick<Clock, 'soon'>,
): StreamCall | undefined {
  const method = methodDefinition(path);
  // A provider may have none for a method.
  const provided = providers.map((provider): unknown => provider(method));
  const all = [...interceptors, ...provided.filter(isInterceptor)];
  if (all.length === 0) return undefined;
  const containment = new Containment(clock);
  const first = all.reduceRight<NextCall>(
    (next, interceptor) => (options) => interceptor(options, next),
    (options) => createBottomCall(channel, options, containment),
  );
  const call = first({ method_definition: method, deadline: Infinity });
  return deferEvents(call, clock, containment);
}

/**
 * Ends a stream whose interceptors throw: their exceptions would reach the event loop of grpc-js, and end the process. What
 * they throw in callbacks of their own, such as timers, is theirs.
 */
class Containment {
  /** The stream of the channel, below the interceptors. */
  stream: Pick<StreamCall, 'cancelWithStatus'> | undefined;
  /** The user of the stream, above them. */
  listener: Listener | undefined;

  constructor(private readonly clock: Pick<Clock, 'soon'>) {}

  /** Runs code of interceptors. @param place Where they are called. */
  run(place: string, action: () => void): void {
    try {
      action();
    } catch (error) {
      this.fail(`an interceptor of childChannelOptions threw in ${place}: ${errorMessage(error)}`);
    }
  }

  fail(details: string): void {
    this.stream?.cancelWithStatus(Status.INTERNAL, details);
    const status = { code: Status.INTERNAL, details, metadata: new Metadata() };
    this.clock.soon(() => this.listener?.onReceiveStatus?.(status));
  }
}

function isInterceptor(value: unknown): value is Interceptor {
  return typeof value === 'function';
}

function methodDefinition(path: string): MethodDefinition {
  return {
    path,
    requestStream: true,
    responseStream: true,
    requestSerialize: sameBytes,
    responseDeserialize: sameBytes,
  };
}

/** Returns the call of the channel, which the last interceptor uses. */
function createBottomCall(
  channel: Channel,
  options: CallOptions,
  containment: Containment,
): InterceptingCall {
  const { method_definition: method, deadline = Infinity, host, parent, credentials } = options;
  const flags = options.propagate_flags;
  const call = channel.createCall(method.path, deadline, host, parent ?? null, flags);
  containment.stream = call;
  if (credentials !== undefined) call.setCredentials(credentials);
  const sendMessageWithContext: InterceptingCall['sendMessageWithContext'] = (context, message) => {
    if (Buffer.isBuffer(message)) call.sendMessageWithContext(context, message);
    else call.cancelWithStatus(Status.INTERNAL, 'an interceptor sent a message that is no Buffer');
  };
  return {
    start: (metadata, listener) =>
      call.start(metadata, {
        onReceiveMetadata: (headers) =>
          containment.run('onReceiveMetadata', () =>
            listener?.onReceiveMetadata?.(completeMetadata(headers)),
          ),
        onReceiveMessage: (message) =>
          containment.run('onReceiveMessage', () => listener?.onReceiveMessage?.(message)),
        onReceiveStatus: (status) =>
          containment.run('onReceiveStatus', () =>
            listener?.onReceiveStatus?.(completeStatus(status)),
          ),
      }),
    sendMessageWithContext,
    sendMessage: (message) => sendMessageWithContext({}, message),
    startRead: () => call.startRead(),
    halfClose: () => call.halfClose(),
    cancelWithStatus: (status, details) => call.cancelWithStatus(status, details),
    getPeer: () => call.getPeer(),
    getAuthContext: () => call.getAuthContext(),
  };
}

/**
 * Reports every event after the call that causes it has returned, as streams rely on: an interceptor may answer at once.
 * What is no message ends the stream.
 */
function deferEvents(
  call: InterceptingCall,
  { soon }: Pick<Clock, 'soon'>,
  containment: Containment,
): StreamCall {
  const deferred = (listener: Listener): Listener => ({
    onReceiveMetadata: (headers) => soon(() => listener.onReceiveMetadata?.(headers)),
    onReceiveMessage: (message: unknown) => {
      if (message instanceof Uint8Array) soon(() => listener.onReceiveMessage?.(message));
      else containment.fail('an interceptor passed on a message that has no bytes');
    },
    onReceiveStatus: (status) => soon(() => listener.onReceiveStatus?.(status)),
  });
  return {
    start: (metadata, listener) => {
      containment.listener = listener;
      containment.run('start', () => call.start(metadata, deferred(listener)));
    },
    sendMessageWithContext: (context, message) =>
      containment.run('sendMessage', () => call.sendMessageWithContext(context, message)),
    startRead: () => containment.run('startRead', () => call.startRead()),
    halfClose: () => containment.run('halfClose', () => call.halfClose()),
    cancelWithStatus: (status, details) =>
      containment.run('cancel', () => call.cancelWithStatus(status, details)),
  };
}
