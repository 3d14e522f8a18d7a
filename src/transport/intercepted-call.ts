import { Metadata, Status, type Channel, type Interceptor } from '../grpc-js';
import type { CheckedChildOptions } from '../grpc-js/child-channel-options';
import type { Clock } from '../util/clock';
import { errorMessage } from '../util/error-message';
import type { StreamCall } from './grpc-stream';

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
  { interceptors, interceptorProviders }: CheckedChildOptions,
  clock: Pick<Clock, 'soon'>,
): StreamCall | undefined {
  const method = methodDefinition(path);
  // A provider may have none for a method.
  const provided = interceptorProviders.map((provider): unknown => provider(method));
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
          containment.run('onReceiveMetadata', () => listener?.onReceiveMetadata?.(headers)),
        onReceiveMessage: (message) =>
          containment.run('onReceiveMessage', () => listener?.onReceiveMessage?.(message)),
        onReceiveStatus: (status) =>
          containment.run('onReceiveStatus', () => listener?.onReceiveStatus?.(status)),
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
