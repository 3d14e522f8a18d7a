import type { IncomingHttpHeaders } from 'node:http2';
import type { Socket } from 'node:net';
import { TLSSocket, type PeerCertificate } from 'node:tls';
import { requestHeadersOf } from '../../grpc-js/server-requests';
import type { ConnectionInjector, Metadata, ServerInterceptor } from '../../grpc-js';
import { containedInterceptor } from '../../grpc-js/server-callbacks';
import {
  InterceptedRequest,
  requestConnection,
  type RequestConnection,
} from '../../http-filters/rbac/intercepted-request';
import { METHOD, type AuthorizationRequest } from '../../http-filters/rbac/request';
import type { Refusal } from '../../http-filters/server-filter';
import { tlsConnectionOf, type TlsConnection } from '../../security/peer/tls-connections';
import type { ConnectionAdmission } from '../../util/connection-admission';
import type { ConnectionEnds } from '../../util/connection-ends';
import type { Handle } from '../../util/handle';
import { err, ok, type Result } from '../../util/result';
import { afterRunning, type RunningClock } from '../../util/running-time';
import type { SessionLimits } from '../../util/session-limits';
import type { CallCounts } from '../observation/server-counts';
import { JudgedCall, type CallJudge } from './judged-call';

/** Creates what serves the calls of one connection by the handlers of a server, after these interceptors. */
export type CreateInjector = (interceptors: ServerInterceptor[]) => ConnectionInjector;

/** What bounds the work for connections, and what their sessions may do. */
export interface ServerLimits {
  readonly admission: ConnectionAdmission;
  readonly sessions: SessionLimits;
}

/** What a connection belongs to. */
export interface ConnectionOwner {
  readonly createInjector: CreateInjector;
  readonly sessions: Pick<SessionLimits, 'inject'>;
  /** The interceptors of the credentials, which are called after the judgement. */
  readonly interceptors: readonly ServerInterceptor[];
  /** The calls of the address. */
  readonly calls: CallCounts;
  /** Judges a request. @returns the status with which it ends; `undefined` if it is passed on. Does not throw. */
  judge(request: AuthorizationRequest): Refusal | undefined;
  /** Returns the status of a request that must not be judged. */
  refuse(reason: string, path: string): Refusal;
  /** Returns the status of a request with another method of HTTP than POST. */
  refuseMethod(method: string, path: string): Refusal;
  /** Called if the connection cannot be served. */
  onFailed(error: unknown): void;
  readonly clock: ConnectionClock;
}

/** Watches a connection. */
export interface ConnectionWatcher {
  /** Called once, when it accepts no more calls. */
  onLastCall(): void;
  /** Called once, after that. */
  onClosed(connection: ServerConnection): void;
}

/** What connections need of a clock. */
export type ConnectionClock = RunningClock;

/**
 * Milliseconds from its first call for which a connection accepts calls at least. Calls that are on their way when that ends are
 * refused, and their clients send each once more, on a new connection, as its first calls: if that one refused it, too, the call
 * would fail. Node.js cannot announce the end before (the two GOAWAYs of https://www.rfc-editor.org/rfc/rfc9113#section-6.8):
 * after the first, it drops new streams.
 */
const MIN_OPEN_MS = 1000;
/** Milliseconds in which a client must send its first call, and close a connection that has ended: it may be busy. */
const CLIENT_MS = 5000;

type InterceptedCall = Parameters<ServerInterceptor>[1];

const NOT_OPEN: Result<RequestConnection, string> = err('the connection is not open');

/**
 * A connection of a server, from its accept to its close. It has an injector of its own: that of several connections could only
 * drain all of them at once, and none whose handshake has not ended.
 */
export class ServerConnection implements CallJudge {
  private injector: ConnectionInjector | undefined;
  /** From then on it may be drained. */
  private oldFromMs = 0;
  private hasCalls = false;
  /** Whether a call may begin: also during its handshake, and while a drain waits for calls that are on their way. */
  private isOpen = true;
  /** The time that calls have to end after its GOAWAY, once it is drained. */
  private graceMs: number | undefined;
  /** When it is destroyed, if this process is not blocked meanwhile; the time of `cutTimer`. */
  private cutAtMs = Infinity;
  /** Until it accepts no more calls. */
  private endTimer: Handle | undefined;
  /** Until it is destroyed. */
  private cutTimer: Handle | undefined;
  private seen: Result<RequestConnection, string> | undefined;

  constructor(
    private readonly socket: Socket,
    private readonly ends: ConnectionEnds,
    private readonly owner: ConnectionOwner,
    private readonly watcher: ConnectionWatcher,
  ) {
    // It closes after an error, such as that of a client that resets it.
    socket.on('error', ignore);
    socket.once('close', () => {
      // grpc-js keeps an injector until it is destroyed.
      this.endCalls();
      this.cutTimer?.release();
      watcher.onClosed(this);
    });
  }

  get calls(): CallCounts {
    return this.owner.calls;
  }

  /** Whether it accepts calls. One that does not closes with the last of them. */
  get accepts(): boolean {
    return this.graceMs === undefined;
  }

  /** What policies see of it, or why calls are refused; `undefined` until its handshake has ended. */
  get described(): Result<RequestConnection, string> | undefined {
    return this.seen;
  }

  /**
   * Serves calls. Does not throw: nothing above would catch it.
   * @param stream The socket itself, or that of TLS above it after the handshake.
   * @param onAcknowledged Called when the client has acknowledged the settings of HTTP/2.
   */
  open(stream: Socket, onAcknowledged: () => void): void {
    const { owner } = this;
    try {
      this.seen = describe(this.ends, stream);
      const injector = owner.createInjector([
        containedInterceptor(PLACE, ({ path }, call) => new JudgedCall(call, path, this)),
        ...owner.interceptors,
      ]);
      this.injector = injector;
      this.oldFromMs = owner.clock.monotonicMs() + CLIENT_MS;
      stream.once('finish', () => this.onFinished());
      owner.sessions.inject(injector, stream, onAcknowledged);
    } catch (error) {
      owner.onFailed(error);
      this.destroy();
      return;
    }
    // The handshake has ended after the begin of the drain.
    if (this.graceMs !== undefined) this.endSoon(this.graceMs);
  }

  /**
   * Accepts no more calls (GOAWAY), and closes when those that have begun have ended. Not at once if its first calls may
   * be on their way. A connection that is drained already is destroyed at the earlier one of both times.
   * @param graceMs Milliseconds from the GOAWAY after which it is destroyed; from now if that has been sent, or if it is in its
   * handshake.
   */
  drain(graceMs: number): void {
    if (this.socket.destroyed) return;
    this.graceMs = Math.min(this.graceMs ?? Infinity, graceMs);
    if (this.injector === undefined) this.cutAfter(graceMs);
    else this.endSoon(this.graceMs);
  }

  /** Closes the connection, with its calls. */
  destroy(): void {
    this.socket.destroy();
  }

  judge(path: string, metadata: Metadata, call: InterceptedCall): Refusal | undefined {
    if (!this.hasCalls) this.onFirstCall();
    const { seen = NOT_OPEN, owner } = this;
    if (!seen.ok) return owner.refuse(seen.error, path);
    const headers = requestHeadersOf(call);
    const method = headers?.[':method'] ?? METHOD;
    if (method !== METHOD) return owner.refuseMethod(method, path);
    const contentType = () => contentTypeOf(headers);
    return owner.judge(new InterceptedRequest(path, metadata, call, seen.value, contentType));
  }

  private onFirstCall(): void {
    this.hasCalls = true;
    this.oldFromMs = this.owner.clock.monotonicMs() + MIN_OPEN_MS;
    if (this.graceMs !== undefined && this.injector !== undefined) this.endSoon(this.graceMs);
  }

  private endSoon(graceMs: number): void {
    const { clock } = this.owner;
    // A handshake that was waited for has ended.
    this.cutTimer?.release();
    this.cutAtMs = Infinity;
    this.endTimer?.release();
    const end = () => {
      this.endCalls();
      this.cutAfter(graceMs);
    };
    // Calls that have arrived are accepted before, also those that this process was too busy to read.
    const youngMs = graceMs === 0 ? 0 : this.oldFromMs - clock.monotonicMs();
    this.endTimer = afterRunning(clock, end, youngMs);
  }

  private endCalls(): void {
    this.endTimer?.release();
    this.endTimer = undefined;
    this.injector?.destroy();
    this.injector = undefined;
    if (!this.isOpen) return;
    this.isOpen = false;
    this.watcher.onLastCall();
  }

  /** Everything has been sent. A client that does not close its side would keep the connection for ever. */
  private onFinished(): void {
    if (!this.socket.destroyed) this.cutAfter(CLIENT_MS);
  }

  /** Destroys it after that time, unless it is destroyed earlier anyway. */
  private cutAfter(ms: number): void {
    const { clock } = this.owner;
    const cutAtMs = clock.monotonicMs() + ms;
    if (cutAtMs >= this.cutAtMs) return;
    this.cutAtMs = cutAtMs;
    this.cutTimer?.release();
    this.cutTimer = afterRunning(clock, () => this.destroy(), ms);
  }
}

/**
 * Returns what policies see of a connection, or why it must not be judged. Read when it begins: a socket that has closed has no
 * addresses, and would be judged as if it were another one.
 */
function describe(ends: ConnectionEnds, stream: Socket): Result<RequestConnection, string> {
  // Not by the ends: a connection with the same ones may have ended in this turn, whose close is not known yet.
  const tls = stream instanceof TLSSocket ? tlsOf(stream) : undefined;
  if (tls?.problem !== undefined) return err(tls.problem);
  const security = ok(tls);
  return ok(requestConnection(ends, () => security));
}

/** @throws Error if it is not known: a rule must not read another one. */
function contentTypeOf(headers: IncomingHttpHeaders | undefined): string {
  const contentType = headers?.['content-type'];
  if (contentType !== undefined) return contentType;
  throw new Error('its content-type is hidden by this version of @grpc/grpc-js: use 1.14');
}

/** A connection without a verified client is secured all the same. */
function tlsOf(socket: TLSSocket): TlsConnection {
  const { raw }: Partial<PeerCertificate> = socket.authorized ? socket.getPeerCertificate() : {};
  const certificate = raw && { sslPeerCertificate: { raw } };
  return tlsConnectionOf({ getAuthContext: () => certificate ?? {} }) ?? { peer: undefined };
}

/** For exceptions. */
const PLACE = 'a connection of a server';

function ignore(): void {}
