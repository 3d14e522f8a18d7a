import { EventEmitter } from 'node:events';
import { constants, type Http2Session, type ServerHttp2Stream } from 'node:http2';
import type { Duplex } from 'node:stream';
import { CallTurns } from './call-turns';
import type { Clock } from './clock';
import type { ClosedConnections, CloseReason } from './closed-connections';
import {
  DEFAULT_MAX_STREAMS,
  MAX_HEADER_LIST_BYTES,
  MAX_HEADER_PAIRS,
  MAX_STREAMS_AT_FIRST,
  MAX_STREAMS_BEGUN_AT_FIRST,
  MAX_TINY_DATA_FRAMES,
} from './limits';
import { openCallsOfProcess, type ConnectionCalls, type OpenCalls } from './open-calls';
import { XdsError } from './xds-error';

const HEADER_OVERHEAD = 32;
/** The least mean size of DATA frames. A gRPC message without content has 5 bytes; Node.js reads some of them in two parts. */
const MIN_DATA_BYTES = 3;
const TINY_DATA: CloseReason = {
  cause: 'the client sent a call in DATA frames that are smaller than gRPC messages',
  nextStep:
    'check the HTTP/2 library of the client; if it is an attack, put a proxy in front of this server',
};
const TOO_MANY_STREAMS: CloseReason = {
  cause: `the client began more than ${MAX_STREAMS_BEGUN_AT_FIRST} calls before it acknowledged the HTTP/2 settings`,
  nextStep: 'check its HTTP/2 library; if it is an attack, put a proxy in front of this server',
};
const NO_ROOM: CloseReason = {
  cause: 'open calls take more than half of the heap of the process',
  nextStep:
    'end calls sooner, or raise --max-old-space-size; if it is an attack, put a proxy in front of this server',
  isOfCalls: true,
};

export interface SessionLimitsOptions {
  /** Streams of a connection whose client has acknowledged the settings. Default: `DEFAULT_MAX_STREAMS`. */
  readonly maxStreams?: number | undefined;
  readonly clock: Pick<Clock, 'nextTurn' | 'setTimer'>;
  readonly closed: ClosedConnections;
  /** Default: those of the process. */
  readonly openCalls?: OpenCalls;
}

/** What is counted of a session. */
interface SessionCalls extends ConnectionCalls {
  /** How many streams have begun while its client had not acknowledged the settings; undefined once it has. */
  begunAtFirst: number | undefined;
}

interface BegunCall {
  readonly calls: SessionCalls;
  readonly session: Http2Session;
  readonly stream: ServerHttp2Stream;
}

/** Calls back once the calls of a connection that have arrived so far have begun or ended. */
export type AfterArrived = (callback: () => void) => void;

interface Injector {
  injectConnection(connection: Duplex): void;
}

/**
 * Limits what clients may do with the HTTP/2 sessions of a server of grpc-js. Most settings do not count until a client has
 * acknowledged them, which an attacker never does: until then it has few streams, and the size of their headers is counted here.
 * Calls that would take too much of a turn of the event loop wait for the next one.
 *
 * grpc-js passes the options of its HTTP/2 servers from a private field, and creates them in a private method
 * (https://github.com/grpc/grpc-node/blob/@grpc/grpc-js@1.14.0/packages/grpc-js/src/server.ts, `createHttp2Server`).
 */
export class SessionLimits {
  private readonly turns: CallTurns<Http2Session>;
  private readonly maxStreams: number;
  private readonly closed: ClosedConnections;
  private readonly openCalls: OpenCalls;
  private readonly sessions = new WeakMap<Http2Session, SessionCalls>();
  /** Called with the session of the connection that is being injected. */
  private onSession: ((session: Http2Session) => void) | undefined;

  /** @param server Has neither listened nor created an injector yet. */
  constructor(server: object, options: SessionLimitsOptions) {
    const { maxStreams = DEFAULT_MAX_STREAMS, clock, closed } = options;
    this.closed = closed;
    this.openCalls = options.openCalls ?? openCallsOfProcess;
    this.maxStreams = maxStreams;
    this.turns = new CallTurns(clock);
    const serverOptions: unknown = Reflect.get(server, 'commonServerOptions');
    const create: unknown = Reflect.get(server, 'createHttp2Server');
    if (
      typeof serverOptions !== 'object' ||
      serverOptions === null ||
      typeof create !== 'function'
    ) {
      throw new XdsError(
        'XDS_GRPC_JS_UNSUPPORTED',
        'this version of @grpc/grpc-js does not show its HTTP/2 servers',
      );
    }
    Object.assign(serverOptions, {
      maxHeaderListPairs: MAX_HEADER_PAIRS,
      settings: {
        maxConcurrentStreams: Math.min(MAX_STREAMS_AT_FIRST, maxStreams),
        maxHeaderListSize: MAX_HEADER_LIST_BYTES,
      },
    });
    Reflect.set(server, 'createHttp2Server', (...args: readonly unknown[]): unknown => {
      const created: unknown = Reflect.apply(create, server, args);
      if (isEmitter(created)) this.limit(created);
      return created;
    });
  }

  /**
   * Serves a connection.
   * @param onAcknowledged Called when its client has acknowledged the settings of the server. Only this proves it: HTTP/2 requires
   * it at once (https://www.rfc-editor.org/rfc/rfc9113#section-6.5.3), and a call can end before its client has read anything.
   * @returns what waits for its calls.
   */
  inject(injector: Injector, connection: Duplex, onAcknowledged: () => void): AfterArrived {
    let afterArrived: AfterArrived = (callback) => callback();
    this.onSession = (session) => {
      session.once('localSettings', onAcknowledged);
      afterArrived = (callback) => this.turns.after(session, callback);
    };
    injector.injectConnection(connection);
    this.onSession = undefined;
    return afterArrived;
  }

  private limit(server: EventEmitter): void {
    server.on('session', (session: Http2Session) => {
      const calls: SessionCalls = { begunAtFirst: 0, openBytes: 0 };
      this.sessions.set(session, calls);
      session.once('localSettings', () => {
        calls.begunAtFirst = undefined;
        if (!session.destroyed) session.settings({ maxConcurrentStreams: this.maxStreams });
      });
      this.onSession?.(session);
    });
    const handlers = server.listeners('stream');
    server.removeAllListeners('stream');
    server.on('stream', (stream: ServerHttp2Stream, headers, flags, raw: readonly string[]) => {
      // Nothing else listens to it until it begins, and an error that nothing listens to ends the process.
      stream.on('error', ignore);
      const { session } = stream;
      const calls = session && this.sessions.get(session);
      if (calls === undefined || session === undefined) return;
      const headerBytes = sizeOf(raw);
      if (!this.mayBegin({ calls, session, stream }, headerBytes)) return;
      stream.on('close', () => this.openCalls.remove(calls, headerBytes));
      this.turns.begin(session, stream, () => {
        for (const handle of handlers) Reflect.apply(handle, server, [stream, headers, flags, raw]);
        this.limitData(session, stream);
      });
    });
  }

  /** Ends a connection whose frames of DATA are smaller than messages: each frame costs as much as one. */
  private limitData(session: Http2Session, stream: ServerHttp2Stream): void {
    let frames = 0;
    let bytes = 0;
    stream.on('data', (data: Buffer) => {
      if (session.destroyed) return;
      bytes += data.length;
      if (++frames < MAX_TINY_DATA_FRAMES) return;
      if (bytes < frames * MIN_DATA_BYTES) {
        this.closed.add(session.socket, TINY_DATA);
        session.destroy();
      }
      frames = 0;
      bytes = 0;
    });
  }

  /** Ends what a client that has acknowledged the settings could not do, and what there is no room for. */
  private mayBegin({ calls, session, stream }: BegunCall, headerBytes: number): boolean {
    if (calls.begunAtFirst !== undefined) {
      if (calls.begunAtFirst >= MAX_STREAMS_BEGUN_AT_FIRST) {
        this.closed.add(session.socket, TOO_MANY_STREAMS);
        session.destroy();
        return false;
      }
      calls.begunAtFirst++;
      if (headerBytes > MAX_HEADER_LIST_BYTES) {
        // Other codes make Node.js create an error, and write at once.
        stream.close(constants.NGHTTP2_CANCEL);
        return false;
      }
    }
    if (this.openCalls.add(calls, headerBytes)) return true;
    this.closed.add(session.socket, NO_ROOM);
    stream.close(constants.NGHTTP2_REFUSED_STREAM);
    return false;
  }
}

function ignore(): void {}

function sizeOf(raw: readonly string[]): number {
  let size = 0;
  for (const text of raw) size += text.length;
  return size + (raw.length / 2) * HEADER_OVERHEAD;
}

function isEmitter(value: unknown): value is EventEmitter {
  return value instanceof EventEmitter;
}
