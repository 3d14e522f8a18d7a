import {
  ServerInterceptingCall,
  type Metadata,
  type sendUnaryData,
  type ServerInterceptor,
} from '@grpc/grpc-js';
import { completeMetadata } from './handed-over';
import { reportException, runContained } from './host-callbacks';

type InterceptedCall = Parameters<ServerInterceptor>[1];
type SentStatus = Parameters<InterceptedCall['sendStatus']>[0];

/** What an interceptor of this package does with a call. If a function throws, the call ends with INTERNAL. */
export interface InterceptorParts {
  /**
   * Receives the headers of the client. Nothing of the call is read before they are passed on.
   *
   * @param passLater Passes them on.
   * @returns whether they are passed on at once.
   */
  readonly onMetadata: (metadata: Metadata, passLater: () => void) => boolean;
  /** Returns the status that is sent. Default: as it is. */
  readonly onStatus?: (status: SentStatus) => SentStatus;
}

/** Returns a call of a server for grpc-js, with an interceptor of this package before the other ones. */
export function interceptCall(
  place: string,
  call: InterceptedCall,
  { onMetadata, onStatus = (status) => status }: InterceptorParts,
): ServerInterceptingCall {
  return new ServerInterceptingCall(call, {
    start: (next) =>
      next({
        onReceiveMetadata: (metadata, pass) => {
          const headers = completeMetadata(metadata);
          let isPassed = false;
          try {
            isPassed = onMetadata(headers, () => pass(headers));
          } catch (error) {
            failCall(place, call, error);
          }
          // Not in the block above: what is behind it may be of the application.
          if (isPassed) pass(headers);
        },
      }),
    sendStatus: (status, next) => {
      next(orFailure(place, () => onStatus(status)));
    },
  });
}

/** Returns the result; INTERNAL if there is none. */
function orFailure(place: string, run: () => SentStatus): SentStatus {
  try {
    return run();
  } catch (error) {
    return reportException(place, error);
  }
}

/** Ends a call whose interceptor has thrown. */
export function failCall(place: string, call: InterceptedCall, error: unknown): void {
  const status = reportException(place, error);
  runContained(place, () => call.sendStatus(status));
}

/** Returns an interceptor for grpc-js in place of one that may throw. */
export function containedInterceptor(
  place: string,
  interceptor: ServerInterceptor,
): ServerInterceptor {
  return (method, call) => {
    try {
      return interceptor(method, call);
    } catch (error) {
      // A call that is not started is not read.
      return new ServerInterceptingCall(call, { start: () => failCall(place, call, error) });
    }
  };
}

/** The part of a streaming call that ends it. */
interface EndableCall {
  emit(event: 'error', status: { readonly code: number; readonly details: string }): unknown;
}

/** Returns the handler of a streaming method for grpc-js. If it throws, the call ends with INTERNAL. */
export function containedHandler<Call extends EndableCall>(
  place: string,
  handle: (call: Call) => void,
): (call: Call) => void {
  return (call) => {
    try {
      handle(call);
    } catch (error) {
      endCall(place, call, error);
    }
  };
}

/** Returns the handler of a unary method for grpc-js. If it throws, the call ends with INTERNAL. */
export function containedUnaryHandler<Call, Response>(
  place: string,
  handle: (call: Call, answer: sendUnaryData<Response>) => void,
): (call: Call, answer: sendUnaryData<Response>) => void {
  return (call, answer) => {
    try {
      handle(call, answer);
    } catch (error) {
      const { code, details } = reportException(place, error);
      runContained(place, () => answer({ code, details }));
    }
  };
}

/** Listens to an event of a call of a server. If the listener throws, the call ends with INTERNAL. */
export function onCallEvent<Event extends string, Args extends readonly unknown[]>(
  place: string,
  call: EndableCall & { on(event: Event, listener: (...args: Args) => void): unknown },
  event: Event,
  listener: (...args: Args) => void,
): void {
  call.on(event, (...args) => {
    try {
      listener(...args);
    } catch (error) {
      endCall(place, call, error);
    }
  });
}

function endCall(place: string, call: EndableCall, error: unknown): void {
  const { code, details } = reportException(place, error);
  runContained(place, () => call.emit('error', { code, details }));
}
