import { Metadata, ServerInterceptingCall, Status, type ServerInterceptor } from '.';
import { completeMetadata, completeStatus, type CallStatus } from './handed-over';
import { runContained } from './host-callbacks';
import { baseCallOf, hasMethods } from './host-internals';

/** For exceptions. */
const PLACE = 'the observation of a call of a server';

/** Watches one call of a server. */
export interface ServerCallWatch {
  /** @param frame A message with its gRPC header. */
  onMessageSent(frame: Buffer): void;
  /** @param frame A message with its gRPC header. */
  onMessageReceived(frame: Buffer): void;
  /** Called once, when the status is sent, or the stream has closed before. */
  onEnded(status: CallStatus): void;
  /** Runs what the application does for the call, such as its handler. */
  run(task: () => void): void;
}

/**
 * Starts watching a call. Returns `undefined` if nothing observes it.
 * @param path Such as `/package.Service/Method`.
 * @param headers Those of the client; `undefined` for a method that the server does not have.
 */
export type WatchServerCall = (
  path: string,
  headers: Metadata | undefined,
) => ServerCallWatch | undefined;

/** Counts the messages of a call, and its end, for channelz. */
interface CallEventTracker {
  addMessageSent(): void;
  addMessageReceived(): void;
  onStreamEnd(success: boolean): void;
  onCallEnd(status: CallStatus): void;
}

/** grpc-js has none for a server without channelz. */
const NO_TRACKER: CallEventTracker = {
  addMessageSent() {},
  addMessageReceived() {},
  onStreamEnd() {},
  onCallEnd() {},
};

/**
 * Watches the calls of a server that begin from now on, as its transport sees them: the ones that an interceptor refuses and the ones
 * of methods that it does not have, too. The frames and the end of a call are in private members of grpc-js
 * (https://github.com/grpc/grpc-node/blob/@grpc/grpc-js@1.14.0/packages/grpc-js/src/server-interceptors.ts).
 *
 * @returns whether it does: not where those members are missing.
 */
export function watchServerCalls(server: object, watch: WatchServerCall): boolean {
  const interceptors = interceptorsOf(server);
  const find: unknown = Reflect.get(server, '_retrieveHandler');
  if (interceptors === undefined || typeof find !== 'function') return false;
  const own: ServerInterceptor = ({ path }, call) => {
    const watched = runContained(PLACE, () => {
      const base = baseCallOf(call);
      if (typeof base !== 'object' || base === null) return undefined;
      const started = watch(path, completeMetadata(Reflect.get(base, 'metadata')));
      if (started === undefined) return undefined;
      watches.set(base, started);
      watchFrames(base, started);
      return started;
    });
    return watched === undefined ? new ServerInterceptingCall(call) : inContext(call, watched);
  };
  Reflect.set(server, 'interceptors', [own, ...interceptors]);
  Reflect.set(server, '_retrieveHandler', (path: string): unknown => {
    const handler: unknown = Reflect.apply(find, server, [path]);
    // grpc-js answers such a call without its interceptors.
    if (handler === null) runContained(PLACE, () => watch(path, undefined)?.onEnded(UNIMPLEMENTED));
    return handler;
  });
  return true;
}

function interceptorsOf(server: object): readonly unknown[] | undefined {
  const interceptors: unknown = Reflect.get(server, 'interceptors');
  return Array.isArray(interceptors) ? interceptors : undefined;
}

const UNIMPLEMENTED = { code: Status.UNIMPLEMENTED, details: '', metadata: new Metadata() };

type InterceptedCall = Parameters<ServerInterceptor>[1];

/** By the calls that interceptors are called with, without the wrappers around them. */
const watches = new WeakMap<object, ServerCallWatch>();

/** Runs a function as what a call does, such as one that starts another call. @param call What an interceptor is called with. */
export function runInCall(call: object, task: () => void): void {
  const base = baseCallOf(call);
  const watch = typeof base === 'object' && base !== null ? watches.get(base) : undefined;
  if (watch === undefined) task();
  else watch.run(task);
}

/** Runs the handler, and the interceptors after this one, as what the call does. */
function inContext(call: InterceptedCall, watch: ServerCallWatch): ServerInterceptingCall {
  return new ServerInterceptingCall(call, {
    start: (next) =>
      next({
        onReceiveMetadata: (metadata, pass) => watch.run(() => pass(metadata)),
        onReceiveMessage: (message, pass) => watch.run(() => pass(message)),
        onReceiveHalfClose: (pass) => watch.run(pass),
        onCancel: () => {},
      }),
  });
}

function watchFrames(base: object, watch: ServerCallWatch): void {
  const known: unknown = Reflect.get(base, 'callEventTracker');
  const tracker = hasMethods<CallEventTracker>(known, 'onCallEnd') ? known : NO_TRACKER;
  const own: CallEventTracker = {
    ...tracker,
    onCallEnd(status) {
      tracker.onCallEnd(status);
      runContained(PLACE, () => watch.onEnded(completeStatus(status)));
    },
  };
  Reflect.set(base, 'callEventTracker', own);
  const decoder: unknown = Reflect.get(base, 'decoder');
  if (hasMethods<{ write(data: Buffer): Buffer[] }>(decoder, 'write')) {
    const write = decoder.write.bind(decoder);
    decoder.write = (data) => {
      const frames = write(data);
      runContained(PLACE, () => frames.forEach((frame) => watch.onMessageReceived(frame)));
      return frames;
    };
  }
  const stream: unknown = Reflect.get(base, 'stream');
  if (hasMethods<{ write(frame: Buffer, ...rest: unknown[]): boolean }>(stream, 'write')) {
    const write = stream.write.bind(stream);
    stream.write = (frame, ...rest) => {
      runContained(PLACE, () => watch.onMessageSent(frame));
      return write(frame, ...rest);
    };
  }
}
