import { constants, type IncomingHttpHeaders } from 'node:http2';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import {
  Metadata,
  ServerInterceptingCall,
  Status,
  type ConnectionInjector,
  type ServerInterceptor,
} from '../../grpc-js';
import { completeMetadata } from '../../grpc-js/handed-over';
import { reportException, runContained } from '../../grpc-js/host-callbacks';
import { resetCall } from '../../grpc-js/host-internals';
import { runInCall } from '../../grpc-js/server-watch';
import { containedInterceptor, failCall } from '../../grpc-js/server-callbacks';
import { requestHeadersOf } from '../../grpc-js/server-requests';
import { CallerDetails, DENIED, type Refusal } from '../../authorization/refusal';
import {
  type FilteredCall,
  InterceptedRequest,
  METHOD,
  type RequestConnection,
  type ServedTls,
} from '../../authorization/request';
import type { Judgement } from '../../http-filters/server-filter';
import { securityOfSocket } from '../../security/peer/tls-connections';
import { errorStack } from '../../util/errors';
import type { Handle } from '../../util/handle';
import { err, ok, type Result } from '../../util/result';
import { afterRunning, type RunningClock } from '../../util/running-time';
import type { AfterArrived } from '../../util/session-limits';
import { quoteText } from '../../util/text';
import type { CallCounts } from '../observation/server-events';
import type { ListenerSnapshot } from './listener-snapshot';
import type { ServedChain } from './served-chain';

/**
 * Milliseconds from its first call for which a connection accepts calls at least. Calls that are on their way when that ends are
 * refused, and their clients send each once more, on a new connection, as its first calls: if that one refused it, too, the call
 * would fail. Node.js cannot announce the end before (the two GOAWAYs of https://www.rfc-editor.org/rfc/rfc9113#section-6.8):
 * after the first, it drops new streams.
 */
const MIN_OPEN_MS = 1000;
/** Milliseconds in which a client must send its first call, and close a connection that has ended: it may be busy. */
const CLIENT_MS = 5000;

/** Characters of a method of HTTP in the log. */
const MAX_METHOD_LENGTH = 20;
/** For exceptions. */
const PLACE = 'a connection of a server';
const CALL_PLACE = 'the judgement of a call';
const RESPONSE_PLACE = 'the headers of a response that filters have changed';

const NO_HEADERS = new Metadata();

type InterceptedCall = Parameters<ServerInterceptor>[1];
type CallListener = Parameters<ServerInterceptingCall['start']>[0];

/** The ends of a connection. */
type Ends = Pick<RequestConnection, 'local' | 'remote'>;

/** What its calls read of a connection. */
type SeenConnection = Ends & { readonly tls: ServedTls | undefined };

const NOT_OPEN: Result<SeenConnection, string> = err('the connection is not open');

/**
 * A connection of a server, from its accept to its close. It has an injector of its own: that of several connections could only
 * drain all of them at once, and none whose handshake has not ended.
 */
export class ServerConnection {
  private injector: ConnectionInjector | undefined;
  private afterArrived: AfterArrived = (callback) => callback();
  /** From then on it may be drained. */
  private oldFromMs = 0;
  private hasCalls = false;
  /** Whether a call may begin: also during its handshake, and while a drain waits for calls that are on their way. */
  private isOpen = true;
  /** The time that calls have to end after its GOAWAY, once it is drained. */
  private graceMs: number | undefined;
  /** When it is destroyed, if this process is not blocked meanwhile; the time of `cutTimer`. */
  private cutAtMs = Infinity;
  /** Until its drain begins, if that is delayed. */
  private drainTimer: Handle | undefined;
  /** Until it accepts no more calls. */
  private endTimer: Handle | undefined;
  /** Until it is destroyed. */
  private cutTimer: Handle | undefined;
  private seen: Result<SeenConnection, string> | undefined;

  /**
   * @param ends As of its accept: a socket that has closed has no addresses, and would be judged as if it were another one.
   * @param snapshot The version of the Listener that it was accepted by.
   */
  constructor(
    private readonly socket: Socket,
    private readonly ends: Ends,
    private readonly chain: ServedChain,
    readonly snapshot: ListenerSnapshot,
  ) {
    // It closes after an error, such as that of a client that resets it.
    socket.on('error', ignore);
    socket.once('close', () => {
      // grpc-js keeps an injector until it is destroyed.
      this.endCalls();
      this.drainTimer?.release();
      this.cutTimer?.release();
    });
  }

  get calls(): CallCounts {
    return this.chain.environment.events.calls;
  }

  private get clock(): RunningClock {
    return this.chain.environment.client.clock;
  }

  /** Whether it accepts calls. One that does not closes with the last of them. */
  get accepts(): boolean {
    return this.graceMs === undefined;
  }

  /** What policies see of it, or why calls are refused; `undefined` until its handshake has ended. */
  get described(): Result<SeenConnection, string> | undefined {
    return this.seen;
  }

  /**
   * Serves calls. Does not throw: nothing above would catch it.
   * @param stream The socket itself, or that of TLS above it after the handshake.
   * @param onAcknowledged Called when the client has acknowledged the settings of HTTP/2.
   */
  open(stream: Socket, onAcknowledged: () => void): void {
    const { createInjector, credentials, sessions, client, subject } = this.chain.environment;
    try {
      // Not by the ends: a connection with the same ones may have ended in this turn, whose close is not known yet.
      const tls = stream instanceof TLSSocket ? securityOfSocket(stream) : ok(undefined);
      this.seen = tls.ok ? ok({ ...this.ends, tls: tls.value }) : tls;
      const injector = createInjector([
        containedInterceptor(PLACE, ({ path }, call) => new ServerCall(call, path, this)),
        ...credentials._getInterceptors(),
      ]);
      this.injector = injector;
      this.oldFromMs = this.clock.monotonicMs() + CLIENT_MS;
      stream.once('finish', () => this.onFinished());
      this.afterArrived = sessions.inject(injector, stream, onAcknowledged);
    } catch (error) {
      client.logger.error(
        () => `${subject}a connection is closed: unexpected error: ${errorStack(error)}`,
      );
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
   * @param delayMs Milliseconds until the drain begins. One that is still to begin begins with the next drain at the latest.
   */
  drain(graceMs: number, delayMs = 0): void {
    if (this.socket.destroyed) return;
    const isDelayed = delayMs > 0 && this.accepts && this.drainTimer === undefined;
    this.drainTimer?.release();
    this.drainTimer = undefined;
    if (isDelayed) {
      this.drainTimer = this.clock.setTimer(() => this.drain(graceMs), delayMs);
      return;
    }
    this.graceMs = Math.min(this.graceMs ?? Infinity, graceMs);
    if (this.injector === undefined) this.cutAfter(graceMs);
    else this.endSoon(this.graceMs);
  }

  /** Closes the connection, with its calls. */
  destroy(): void {
    this.socket.destroy();
  }

  /** Judges a call before its handler gets it. */
  judge(path: string, filtered: FilteredCall, call: InterceptedCall): Judgement {
    if (!this.hasCalls) this.onFirstCall();
    const { seen = NOT_OPEN, chain } = this;
    if (!seen.ok) return chain.report({ path }, notJudged(seen.error));
    const headers = requestHeadersOf(call);
    const method = headers?.[':method'] ?? METHOD;
    if (method !== METHOD) return chain.report({ path }, wrongMethod(method));
    const contentType = () => contentTypeOf(headers);
    return chain.judge(
      new InterceptedRequest(path, filtered.headers, call, seen.value, contentType, filtered),
    );
  }

  private onFirstCall(): void {
    this.hasCalls = true;
    this.oldFromMs = this.clock.monotonicMs() + MIN_OPEN_MS;
    if (this.graceMs !== undefined && this.injector !== undefined) this.endSoon(this.graceMs);
  }

  private endSoon(graceMs: number): void {
    const { clock } = this;
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
    // Calls that have arrived, and wait for their turn, are judged by the snapshot.
    this.afterArrived(() => this.snapshot.onLastCall());
  }

  /** Everything has been sent. A client that does not close its side would keep the connection for ever. */
  private onFinished(): void {
    if (!this.socket.destroyed) this.cutAfter(CLIENT_MS);
  }

  /** Destroys it after that time, unless it is destroyed earlier anyway. */
  private cutAfter(ms: number): void {
    const { clock } = this;
    const cutAtMs = clock.monotonicMs() + ms;
    if (cutAtMs >= this.cutAtMs) return;
    this.cutAtMs = cutAtMs;
    this.cutTimer?.release();
    this.cutTimer = afterRunning(clock, () => this.destroy(), ms);
  }
}

/**
 * A call whose handler, and the interceptors before it, are called only if it is not refused. Nothing of it is read before: HTTP/2 lets
 * a client send one window while filters wait. Everything else is passed on as it is: the class of grpc-js would make several closures
 * for each message.
 */
class ServerCall extends ServerInterceptingCall implements FilteredCall {
  headers = NO_HEADERS;
  private isInProgress = false;
  private onEnded: (() => void)[] | undefined;
  /** The last filter comes first, as for all responses. Until the headers are sent. */
  private changes: ((headers: Metadata) => void)[] | undefined;

  constructor(
    private readonly call: InterceptedCall,
    private readonly path: string,
    private readonly connection: ServerConnection,
  ) {
    super(call);
  }

  get deadlineMs(): number {
    return Number(this.call.getDeadline());
  }

  get tls(): ServedTls | undefined {
    const seen = this.connection.described;
    return seen?.ok === true ? seen.value.tls : undefined;
  }

  startChild(start: () => void): void {
    runInCall(this.call, start);
  }

  onEnd(run: () => void): void {
    if (this.isInProgress) (this.onEnded ??= []).push(run);
    else run();
  }

  onResponseHeaders(change: (headers: Metadata) => void): void {
    (this.changes ??= []).unshift(change);
  }

  override start(listener: CallListener): void {
    this.call.start(new ServerCallListener(this, listener));
  }

  /** Begins the call. @returns whether it is passed on, unless it is later. */
  begins(headers: Metadata, listener: ServerCallListener): boolean {
    const { connection, call, path } = this;
    try {
      this.isInProgress = true;
      this.headers = headers;
      connection.calls.started++;
      const judgement = connection.judge(path, this, call);
      if (judgement === undefined) return true;
      if (judgement instanceof Promise) {
        void judgement.then((refusal) => {
          // grpc-js ends it on its deadline, and with its stream.
          if (!this.isInProgress) return;
          if (refusal === undefined) listener.pass(headers);
          else this.refuse(refusal);
        });
      } else this.refuse(judgement);
    } catch (error) {
      failCall(CALL_PLACE, call, error);
    }
    return false;
  }

  private refuse(refusal: Refusal): void {
    const { call } = this;
    const { code, details, metadata: trailers = null } = refusal;
    try {
      call.sendStatus({ code, details, metadata: trailers });
    } catch (error) {
      failCall(CALL_PLACE, call, error);
    }
  }

  /** Ends the call, when its stream has closed. */
  end(): void {
    if (this.isInProgress) this.connection.calls.ended++;
    this.isInProgress = false;
    if (this.onEnded === undefined) return;
    for (const run of this.onEnded) run();
    this.onEnded = undefined;
  }

  override sendMetadata(metadata: Metadata): void {
    if (this.changes === undefined) this.call.sendMetadata(metadata);
    else this.sendChanged(metadata, this.changes);
  }

  private sendChanged(metadata: Metadata, changes: readonly ((headers: Metadata) => void)[]): void {
    this.changes = undefined;
    const { call } = this;
    const headers = metadata.clone();
    try {
      for (const change of changes) change(headers);
      call.sendMetadata(headers);
    } catch (error) {
      // Node.js refuses to send them, such as two values of a header that has one: grpc-js cannot send a status after that.
      reportException(RESPONSE_PLACE, error);
      resetCall({ call }, constants.NGHTTP2_INTERNAL_ERROR);
    }
  }

  override sendMessage(message: unknown, callback: () => void): void {
    // grpc-js would send headers of its own.
    if (this.changes !== undefined) this.sendMetadata(new Metadata());
    this.call.sendMessage(message, callback);
  }

  override sendStatus(status: Parameters<ServerInterceptingCall['sendStatus']>[0]): void {
    if (status.code === Status.OK && this.isInProgress) this.connection.calls.succeeded++;
    this.call.sendStatus(status);
  }
}

class ServerCallListener implements CallListener {
  private isPassed = false;

  constructor(
    private readonly call: ServerCall,
    private readonly next: CallListener,
  ) {}

  onReceiveMetadata(metadata: Metadata): void {
    const headers = completeMetadata(metadata);
    if (!this.call.begins(headers, this)) return;
    this.isPassed = true;
    this.next.onReceiveMetadata(headers);
  }

  /** Passes on a call that filters have let wait. */
  pass(headers: Metadata): void {
    this.isPassed = true;
    this.next.onReceiveMetadata(headers);
  }

  onReceiveMessage(message: unknown): void {
    if (this.isPassed) this.next.onReceiveMessage(message);
  }

  onReceiveHalfClose(): void {
    if (this.isPassed) this.next.onReceiveHalfClose();
  }

  /** grpc-js calls it at the end of every call, also of one that succeeded. */
  onCancel(): void {
    runContained(CALL_PLACE, () => this.call.end());
    this.next.onCancel();
  }
}

function notJudged(why: string): Refusal {
  const reason = `it cannot be evaluated: ${why}`;
  return { code: Status.PERMISSION_DENIED, details: DENIED, reason };
}

function wrongMethod(method: string): Refusal {
  const details = CallerDetails.WRONG_METHOD;
  const reason = `${details}: its client has sent ${quoteText(method, MAX_METHOD_LENGTH)}`;
  return { code: Status.INTERNAL, details, reason };
}

/** Returns the ends of a connection; `undefined` if it has closed. */
export function endsOf(socket: Socket): Ends | undefined {
  const { localAddress, localPort, remoteAddress, remotePort } = socket;
  if (localAddress === undefined || localPort === undefined) return undefined;
  if (remoteAddress === undefined || remotePort === undefined) return undefined;
  return {
    local: { address: localAddress, port: localPort },
    remote: { address: remoteAddress, port: remotePort },
  };
}

/** @throws Error if it is not known: a rule must not read another one. */
function contentTypeOf(headers: IncomingHttpHeaders | undefined): string {
  const contentType = headers?.['content-type'];
  if (contentType !== undefined) return contentType;
  throw new Error('its content-type is hidden by this version of @grpc/grpc-js: use 1.14');
}

function ignore(): void {}
