import { assertNever, errorMessage } from '../util/errors';
import { connectionBackoff, firstBackoffStep, type BackoffStep } from '../util/backoff';
import { inNextTurn, type Clock } from '../util/clock';
import type { Handle } from '../util/handle';
import type { Random } from '../util/random';
import type { Result } from '../util/result';
import type { Serializer } from '../util/serializer';
import {
  afterStreamEnd,
  LASTING_MS,
  NO_ENDS,
  PAUSE_JITTER,
  unsteadyCause,
  type StreamEnds,
  type UnsteadyCause,
} from './stream-ends';
import type { StreamStatus, XdsStream, XdsTransport } from './transport';

/** The time of one stream. Timers run in the serializer, and only while the stream is open. */
export type StreamClock = Pick<Clock, 'monotonicMs' | 'setTimer' | 'nextTurn'>;

/** A stream as its session uses it. */
export interface OpenStream {
  readonly stream: XdsStream;
  readonly transport: XdsTransport;
  /** On the monotonic clock. */
  readonly openedAtMs: number;
  readonly clock: StreamClock;
}

/** What follows a stream. */
export type NextStream =
  /** The server did not answer, or not with anything usable: a new stream is opened after the connection backoff. */
  | { readonly kind: 'after-backoff'; readonly reason: string }
  /** The server has ended the stream: see `afterStreamEnd`. */
  | {
      readonly kind: 'after-end';
      readonly status: StreamStatus;
      /** Whether something that was requested on it was not received. */
      readonly isAwaited: boolean;
      /** Follows the name of the server, if it has failed. */
      readonly reason: string;
    }
  /** A new stream is opened at once. */
  | { readonly kind: 'at-once' };

type AfterEnd = Extract<NextStream, { readonly kind: 'after-end' }>;

/** The part of a protocol that lives exactly as long as one stream. All methods are called from the serializer. */
export interface StreamSession extends Handle {
  /** Whether the server has sent a usable response, so that the connection backoff starts over. */
  readonly hasAnswered: boolean;
  /** Handles that the message last sent is on a connected transport. */
  onSent(): void;
  /** Handles a message. @returns what follows if the stream must end because of it. */
  onMessage(bytes: Uint8Array): NextStream | undefined;
  /** Handles the end of the stream. @returns what follows; `undefined` if its owner has stopped it. */
  onClosed(status: StreamStatus): NextStream | undefined;
}

/** What a stream runs in. */
export interface StreamContext {
  readonly serializer: Serializer;
  readonly clock: Clock;
  readonly random: Random;
}

interface BackoffState {
  readonly kind: 'backoff';
  readonly timer: Handle;
  /** The notification that a stream can be opened (`StreamStatus.retryWhen`); `undefined` if there is none. */
  readonly notification: Handle | undefined;
  /** On the monotonic clock. */
  readonly retryAtMs: number;
  /** When the next attempt may be made if something is awaited, on the monotonic clock. */
  readonly urgentAtMs: number;
}

interface OpenState<S> {
  readonly kind: 'open';
  readonly stream: XdsStream;
  readonly openedAtMs: number;
  readonly session: S;
  /** How long to wait if the server does not answer on this stream either. */
  readonly backoff: BackoffStep;
  /** Runs out when the stream has lasted, after others that were displaced. */
  readonly lasting: Handle | undefined;
}

interface SoonerAttempt {
  readonly urgentInMs?: number;
  readonly retryWhen?: StreamStatus['retryWhen'] | undefined;
}

type StreamState<S> =
  { readonly kind: 'idle' } | BackoffState | OpenState<S> | { readonly kind: 'closed' };

/**
 * A stream that answered is replaced at once (gRFC A57), but streams are opened at least this far apart. Without that,
 * a server that answers and then closes would be connected to as fast as both sides can run.
 */
const MIN_STREAM_INTERVAL_MS = 1000;

/**
 * A stream to one server, and the streams that replace it (gRFC A57). It opens them, waits between them, and drops the
 * events of a stream that has been replaced; its session handles the messages.
 *
 * Everything that happens on a stream runs in `run`: an exception, which is a bug, ends the stream and its session,
 * whatever state that is in, and a new one is opened after a backoff.
 */
export abstract class ReconnectingStream<S extends StreamSession> {
  protected state: StreamState<S> = { kind: 'idle' };
  private ends = NO_ENDS;
  /** Why the last stream ended, if that was with an error after a response; `undefined` once one has lasted. */
  protected lastError: string | undefined;

  constructor(private readonly timing: StreamContext) {}

  /** Returns the connection to the server, which is made if there is none. */
  protected abstract connect(): Result<XdsTransport, string>;
  /** Returns the full method path of the next stream. */
  protected abstract nextMethod(): string;
  /** @param replaced The session of the stream that the new one replaces while it is open; `undefined` if there is none. */
  protected abstract createSession(open: OpenStream, replaced: S | undefined): S;
  /**
   * Handles that a stream has ended, or could not be opened, before the server sent a usable response.
   * @param reason Follows the name of the server.
   * @param retryInMs When the next attempt is made.
   */
  protected abstract onFailed(reason: string, retryInMs: number): void;
  /** Handles an exception of anything that runs on a stream. It ends the stream. */
  protected abstract onError(error: unknown): void;

  /** Whether calls fail or wait for want of a change: see `XdsClient.hurry`. */
  protected get isAwaited(): boolean {
    return false;
  }

  /**
   * Handles that no stream lasts although the server answers, and that one has lasted.
   * @param _cause `undefined` when it is over.
   * @param _lastAgeMs The age of the last stream.
   */
  protected onUnsteady(_cause: UnsteadyCause | undefined, _lastAgeMs: number): void {}

  /** The session of the open stream; `undefined` if none is open. */
  protected get session(): S | undefined {
    return this.state.kind === 'open' ? this.state.session : undefined;
  }

  /** Milliseconds until the next attempt; `undefined` except in `backoff`. */
  protected get retryInMs(): number | undefined {
    if (this.state.kind !== 'backoff') return undefined;
    return Math.max(0, this.state.retryAtMs - this.timing.clock.monotonicMs());
  }

  /** How many streams in a row the server has displaced; zero if they are too few to tell. */
  protected get displaced(): number {
    return unsteadyCause(this.ends) === 'displaced' ? this.ends.displaced : 0;
  }

  /** Whether no stream lasts, each ending with an error after a response. */
  protected get isUnsteady(): boolean {
    return unsteadyCause(this.ends) === 'errors';
  }

  /** Ends a pause that only spares the server: something is awaited. */
  hurry(): void {
    const { state } = this;
    this.ends = { ...this.ends, awaited: 0 };
    if (state.kind !== 'backoff' || state.urgentAtMs >= state.retryAtMs) return;
    const delayMs = Math.max(0, state.urgentAtMs - this.timing.clock.monotonicMs());
    this.waitAndOpen(delayMs, this.firstBackoff());
  }

  /** Opens a stream if none is open or due. */
  protected start(): void {
    if (this.state.kind === 'idle') this.open(this.firstBackoff());
  }

  /** Runs a task of the open stream, if there is one; an exception ends the stream. Must be called in the serializer. */
  protected run(task: (open: OpenState<S>) => void): void {
    const { state: open } = this;
    if (open.kind !== 'open') return;
    try {
      task(open);
    } catch (error) {
      this.onError(error);
      // Whether the next stream fares better is not known, however much this one has had: no `backoffAfter`.
      const { openedAtMs, backoff } = open;
      const hasLasted = this.timing.clock.monotonicMs() - openedAtMs >= connectionBackoff.maxMs;
      if (this.state === open) {
        this.fail(describeBug(error), hasLasted ? this.firstBackoff() : backoff);
      }
    }
  }

  /** Replaces the open stream at once; without one, nothing happens. */
  protected replace(): void {
    const { state } = this;
    if (state.kind === 'open') this.open(this.backoffAfter(state), state.session);
  }

  /** Ends the stream, until `start` is called. */
  protected stop(): void {
    this.setState({ kind: 'idle' });
  }

  /** Ends the stream for good. */
  close(): void {
    this.setState({ kind: 'closed' });
  }

  private setState(next: StreamState<S>): void {
    const { state } = this;
    this.state = next;
    if (state.kind === 'backoff') {
      state.timer.release();
      state.notification?.release();
    }
    if (state.kind !== 'open') return;
    state.lasting?.release();
    this.report(() => state.stream.close());
    this.report(() => state.session.release());
  }

  /** Runs a part of the end of a stream, which an exception does not stop. */
  private report(task: () => void): void {
    try {
      task();
    } catch (error) {
      this.onError(error);
    }
  }

  /** @param replaced The session whose stream is open and gives way to the new one. */
  private open(backoff: BackoffStep, replaced?: S): void {
    try {
      this.openStream(backoff, replaced);
    } catch (error) {
      this.onError(error);
      this.fail(describeBug(error), backoff);
    }
  }

  private openStream(backoff: BackoffStep, replaced: S | undefined): void {
    const { clock } = this.timing;
    const connected = this.connect();
    if (!connected.ok) {
      this.fail(`cannot be used: ${connected.error}`, backoff);
      return;
    }
    const transport = connected.value;
    const stream = transport.openStream(this.nextMethod(), {
      onSent: () => this.whileOpen(stream, ({ session }) => session.onSent()),
      onMessage: (bytes) =>
        this.whileOpen(stream, (open) => {
          const next = open.session.onMessage(bytes);
          if (next !== undefined) this.proceed(open, next);
        }),
      onClosed: (status) =>
        this.whileOpen(stream, (open) => {
          const next = open.session.onClosed(status);
          if (next === undefined) return;
          const isSucceeded = status.isSucceeded === true;
          this.proceed(open, isSucceeded ? { kind: 'at-once' } : next, status.retryWhen);
        }),
    });
    const openedAtMs = clock.monotonicMs();
    const streamClock: StreamClock = {
      monotonicMs: () => clock.monotonicMs(),
      setTimer: (task, delayMs, keepsAlive) =>
        clock.setTimer(() => this.whileOpen(stream, task), delayMs, keepsAlive),
      ...(clock.nextTurn && {
        nextTurn: (task) => inNextTurn(clock, () => this.whileOpen(stream, task)),
      }),
    };
    const session = this.beginSession(
      { stream, transport, openedAtMs, clock: streamClock },
      replaced,
    );
    const onLasted = () => this.setEnds(NO_ENDS, 0);
    const isUnsteady = unsteadyCause(this.ends) !== undefined;
    const lasting = isUnsteady ? streamClock.setTimer(onLasted, LASTING_MS) : undefined;
    this.setState({ kind: 'open', stream, openedAtMs, session, backoff, lasting });
  }

  private beginSession(open: OpenStream, replaced: S | undefined): S {
    try {
      return this.createSession(open, replaced);
    } catch (error) {
      open.stream.close();
      throw error;
    }
  }

  /** Runs an event of a stream in the serializer, unless the stream has been replaced by then. */
  private whileOpen(stream: XdsStream, task: (open: OpenState<S>) => void): void {
    this.timing.serializer.run(() => {
      const { state } = this;
      if (state.kind === 'open' && state.stream === stream) this.run(task);
    });
  }

  private proceed(
    open: OpenState<S>,
    next: NextStream,
    retryWhen?: StreamStatus['retryWhen'],
  ): void {
    // The session may have ended its stream itself.
    if (this.state !== open) return;
    switch (next.kind) {
      case 'after-backoff':
        this.fail(next.reason, this.backoffAfter(open), retryWhen);
        break;
      case 'after-end':
        this.onEnded(open, next, retryWhen);
        break;
      case 'at-once':
        this.replace();
        break;
      default:
        assertNever(next);
    }
  }

  private onEnded(
    open: OpenState<S>,
    { status, isAwaited, reason }: AfterEnd,
    retryWhen: StreamStatus['retryWhen'],
  ): void {
    const { clock, random } = this.timing;
    const nowMs = clock.monotonicMs();
    const ageMs = nowMs - open.openedAtMs;
    const { ends, isFailure, pauseMs } = afterStreamEnd(this.ends, {
      code: status.code,
      connection: status.connection,
      ageMs,
      hasAnswered: open.session.hasAnswered,
      isAwaited: isAwaited || this.isAwaited,
    });
    this.lastError = ends.errors > 0 ? reason : undefined;
    this.setEnds(ends, ageMs);
    if (isFailure && pauseMs === undefined) {
      this.fail(reason, this.backoffAfter(open), retryWhen);
      return;
    }
    const urgentInMs = MIN_STREAM_INTERVAL_MS - ageMs;
    const jitter = 1 + PAUSE_JITTER * (2 * random() - 1);
    const delayMs = pauseMs === undefined ? urgentInMs : pauseMs * jitter;
    if (delayMs <= 0) this.open(this.backoffAfter(open));
    else this.waitAndOpen(delayMs, this.backoffAfter(open), { urgentInMs });
    if (isFailure) this.onFailed(reason, delayMs);
  }

  private setEnds(ends: StreamEnds, lastAgeMs: number): void {
    const before = unsteadyCause(this.ends);
    const cause = unsteadyCause(ends);
    this.ends = ends;
    if (ends === NO_ENDS) this.lastError = undefined;
    if (cause !== before) this.onUnsteady(cause, lastAgeMs);
  }

  private fail(reason: string, backoff: BackoffStep, retryWhen?: StreamStatus['retryWhen']): void {
    this.waitAndOpen(backoff.delayMs, backoff.next(), { retryWhen });
    this.onFailed(reason, backoff.delayMs);
  }

  /**
   * @param backoff How long to wait after the attempt that follows.
   * @param sooner When the attempt is made sooner: after `urgentInMs` if something is awaited, and once `retryWhen` notifies.
   */
  private waitAndOpen(
    delayMs: number,
    backoff: BackoffStep,
    { urgentInMs = delayMs, retryWhen }: SoonerAttempt = {},
  ): void {
    const { clock, serializer } = this.timing;
    const nowMs = clock.monotonicMs();
    const proceed = () => {
      serializer.run(() => {
        if (this.state === waiting) this.open(backoff);
      });
    };
    const waiting: BackoffState = {
      kind: 'backoff',
      retryAtMs: nowMs + delayMs,
      urgentAtMs: nowMs + urgentInMs,
      timer: clock.setTimer(proceed, delayMs),
      notification: retryWhen?.(proceed),
    };
    this.setState(waiting);
  }

  private backoffAfter({ session, backoff }: OpenState<S>): BackoffStep {
    return session.hasAnswered ? this.firstBackoff() : backoff;
  }

  private firstBackoff(): BackoffStep {
    return firstBackoffStep(connectionBackoff, this.timing.random);
  }
}

/** Describes an exception, to follow the name of the server. */
function describeBug(error: unknown): string {
  return `cannot be used now: unexpected error of this client, whose stack is in the log: ${errorMessage(error)}`;
}
