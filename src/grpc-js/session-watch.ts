import type { Handle } from '../util/handle';
import { hasMethods } from './host-internals';

interface Emitter {
  prependListener(event: string, listener: (...args: readonly unknown[]) => void): void;
  removeListener(event: string, listener: (...args: readonly unknown[]) => void): void;
}

/** The HTTP/2 session of a connection. */
interface Session extends Emitter {
  readonly encrypted?: boolean | undefined;
}

/** Watches the connection of a subchannel for the reason of its end (gRFC A94). */
export interface SessionWatch extends Handle {
  /** `none` or `privacy_and_integrity`. */
  readonly securityLevel: string;
  /** Why the connection has ended or is about to; the first reason counts. `undefined` if it is not known. */
  readonly reason: string | undefined;
}

const ERRORS: ReadonlyMap<unknown, string> = new Map([
  ['ECONNRESET', 'connection reset'],
  ['EPIPE', 'connection reset'],
  ['ETIMEDOUT', 'connection timed out'],
  ['ECONNABORTED', 'connection aborted'],
]);

/**
 * Watches the session of a connected subchannel. grpc-js keeps it in private fields, and has reported the loss of the
 * connection before anything else can see its reason
 * (https://github.com/grpc/grpc-node/blob/@grpc/grpc-js@1.14.0/packages/grpc-js/src/transport.ts, `Http2Transport`).
 *
 * @param subchannel The real subchannel.
 * @returns `undefined` where the session cannot be seen.
 */
export function watchSession(subchannel: object): SessionWatch | undefined {
  const session = sessionOf(subchannel);
  if (session === undefined) return undefined;
  let reason: string | undefined;
  const onGoaway = (code: unknown): void => {
    reason ??= `GOAWAY ${goawayName(code)}`;
  };
  const onError = (error: unknown): void => {
    const code = typeof error === 'object' && error !== null && 'code' in error && error.code;
    reason ??= ERRORS.get(code) ?? 'socket error';
  };
  session.prependListener('goaway', onGoaway);
  // The socket has the error first: grpc-js may see its end before that of the session.
  const socket = socketOf(session);
  for (const emitter of [session, socket]) emitter?.prependListener('error', onError);
  return {
    securityLevel: session.encrypted === true ? 'privacy_and_integrity' : 'none',
    get reason() {
      return reason;
    },
    release() {
      session.removeListener('goaway', onGoaway);
      session.removeListener('error', onError);
      // The socket of a session that is destroyed cannot be used.
      if (Reflect.get(session, 'destroyed') !== true) socket?.removeListener('error', onError);
    },
  };
}

function sessionOf(subchannel: object): Session | undefined {
  const transport: unknown = Reflect.get(subchannel, 'transport');
  if (typeof transport !== 'object' || transport === null) return undefined;
  const session: unknown = Reflect.get(transport, 'session');
  return hasMethods<Session>(session, 'prependListener', 'removeListener') ? session : undefined;
}

/** @returns `undefined` if the session is closed. */
function socketOf(session: Session): Emitter | undefined {
  const socket: unknown = Reflect.get(session, 'socket');
  return hasMethods<Emitter>(socket, 'prependListener', 'removeListener') ? socket : undefined;
}

/** Returns the name of an HTTP/2 error code, such as `NO_ERROR`. */
function goawayName(code: unknown): string {
  return (typeof code === 'number' ? ERROR_CODES[code] : undefined) ?? 'UNKNOWN';
}

/** By number, from 0 (RFC 9113, section 7). */
const ERROR_CODES = [
  'NO_ERROR',
  'PROTOCOL_ERROR',
  'INTERNAL_ERROR',
  'FLOW_CONTROL_ERROR',
  'SETTINGS_TIMEOUT',
  'STREAM_CLOSED',
  'FRAME_SIZE_ERROR',
  'REFUSED_STREAM',
  'CANCEL',
  'COMPRESSION_ERROR',
  'CONNECT_ERROR',
  'ENHANCE_YOUR_CALM',
  'INADEQUATE_SECURITY',
  'HTTP_1_1_REQUIRED',
];
