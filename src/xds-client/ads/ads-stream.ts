import type { Clock } from '../../util/clock';
import type { Random } from '../../util/random';
import type { Result } from '../../util/result';
import type { SerialQueue } from '../../util/serial-queue';
import type { Budgets } from '../budgets';
import type { ServerSnapshot } from '../client-snapshot';
import { ReconnectingStream } from '../reconnecting-stream';
import type { ServerPolicy, VariantChoice } from '../server-policy';
import type { XdsTransport } from '../transport';
import { AdsSession, type AdsSessionOwner, type ResponseHandler } from './ads-session';
import type { RequestSource, Subscriptions } from './subscriptions';

/** The channel of an ADS stream: what the stream needs, and what it reports to. All methods are called in the queue. */
export interface AdsStreamHandler extends ResponseHandler {
  readonly queue: SerialQueue;
  readonly clock: Clock;
  readonly random: Random;
  readonly variant: VariantChoice;
  readonly policy: ServerPolicy;
  readonly budgets: Budgets;
  /** Returns the connection, which is made if there is none. */
  connect(): Result<XdsTransport, string>;
  /** See `ReconnectingStreamOptions`. */
  isAwaited(): boolean;
  /** The server has answered on a stream, or its silence shows that there is nothing to send. Called before the response is read. */
  onReachable(stream: AdsStream): void;
  /**
   * A stream ended, or could not be opened, before a response was received.
   * @param reason Follows the name of the server; the next attempt is made in `retryInMs`.
   */
  onFailed(stream: AdsStream, reason: string, retryInMs: number): void;
  /** Streams in a row were displaced, the last one at this age; `undefined` when one has lasted. */
  onDisplaced(lastAgeMs: number | undefined): void;
  /**
   * Called when a resource was requested and not received in time: `overdue` if it is requested again on a new stream,
   * `missing` if it is concluded not to exist (gRFC A57).
   * @param serverAnswered Whether the server has answered at all since it last failed.
   */
  onTimeout(
    typeUrl: string,
    name: string,
    kind: 'overdue' | 'missing',
    serverAnswered: boolean,
  ): void;
  /** Called with an exception that ends a stream. */
  onError(error: unknown): void;
}

/** The state of a stream as far as others may know it. */
export type AdsStreamSnapshot = Pick<ServerSnapshot, 'state' | 'retryInMs'> & {
  readonly hasAnswered: boolean;
  readonly displaced: number;
};

/** A stream is replaced at most this often because a resource requested on it was not received. */
const MIN_RENEWAL_INTERVAL_MS = 30_000;

/** An ADS stream to one server, and the streams that replace it: what is known of the server beyond one of them. */
export class AdsStream implements AdsSessionOwner {
  /** Why the last attempt has failed, as a sentence, until the server answers. Kept by the handler. */
  failure: string | undefined;
  private subscriptions: Subscriptions;
  private readonly stream: ReconnectingStream<AdsSession>;
  /** Whether the server has answered since it last failed; `unknown` before either. */
  private health: 'unknown' | 'answering' | 'failing' = 'unknown';
  /** When a stream may next be replaced because a resource was not received, on the monotonic clock. */
  private mayRenewAtMs = -Infinity;

  /**
   * @param source What is requested.
   * @param method Returns the full path of the method of a variant.
   */
  constructor(
    private readonly handler: AdsStreamHandler,
    private readonly source: RequestSource,
    method: (verb: Subscriptions['verb']) => string,
  ) {
    const { queue, clock, random, variant } = handler;
    this.subscriptions = variant.createSubscriptions(source);
    this.stream = new ReconnectingStream({
      queue,
      clock,
      random,
      connect: () => handler.connect(),
      isAwaited: () => handler.isAwaited(),
      method: () => method(this.chooseVariant().verb),
      createSession: (open, replaced) => {
        const { subscriptions } = this;
        return new AdsSession({ open, owner: this, handler, source, subscriptions, replaced });
      },
      onDisplaced: (lastAgeMs) => handler.onDisplaced(lastAgeMs),
      onError: (error) => handler.onError(error),
      onFailed: (reason, retryInMs) => {
        this.health = 'failing';
        handler.onFailed(this, reason, retryInMs);
      },
    });
  }

  get isFailing(): boolean {
    return this.health === 'failing';
  }

  /** Requests a name that was added to the source. */
  addName(typeUrl: string, name: string): void {
    if (this.stream.kind === 'open') this.subscriptions.addName(typeUrl, name);
    this.stream.hurry();
  }

  /** Ends a pause between streams. */
  hurry(): void {
    this.stream.hurry();
  }

  /** Ends the request of a name that was removed from the source. */
  removeName(typeUrl: string, name: string): void {
    this.stream.session?.removeName(typeUrl, name);
  }

  /** Rejects the latest response of a type, which was acknowledged. */
  reject(typeUrl: string, reason: string): void {
    if (this.stream.kind === 'open') this.subscriptions.reject(typeUrl, reason);
  }

  /**
   * Makes the next stream request everything as if nothing had been received: another server's resources replace this
   * one's. A stream on which the server has learnt which versions are cached is replaced at once, because the server
   * would not send those again.
   */
  forgetVersions(): void {
    this.subscriptions.forgetVersions();
    const { session } = this.stream;
    if (session?.hasAnswered === false && session.sentVersions) this.stream.replace();
  }

  /** Replaces a stream that has had responses, so that everything is sent again. */
  renew(): void {
    if (this.stream.session?.hasAnswered !== true) return;
    this.subscriptions.forgetVersions();
    this.stream.replace();
  }

  /** Opens a stream if there is something to request. See `AdsSession.flush`. */
  flush(): void {
    if (this.stream.kind === 'idle' && this.source.typeUrls().length > 0) {
      this.stream.start();
    }
    this.stream.run(({ session }) => session.flush());
  }

  /** Ends the stream for good. */
  close(): void {
    this.stream.close();
  }

  /** A copy for diagnostics. */
  snapshot(): AdsStreamSnapshot {
    const { kind, retryInMs, session, displaced } = this.stream;
    const state = kind === 'open' && session?.isConnected !== true ? 'connecting' : kind;
    const hasAnswered = kind === 'open' && this.health === 'answering';
    return { state, retryInMs, hasAnswered, displaced };
  }

  /** Milliseconds until a resource is concluded to be missing; `undefined` while nothing is timed. */
  remainingMs(typeUrl: string, name: string): number | undefined {
    return this.stream.session?.remainingMs(typeUrl, name);
  }

  onReachable(isSilent: boolean): void {
    this.health = isSilent ? 'unknown' : 'answering';
    this.handler.onReachable(this);
  }

  /**
   * Several control planes lose the request for a resource that is added in the course of a stream, and none loses what
   * a stream begins with. Everything pending is requested there, so that one new stream does for all of it. See
   * docs/decisions/0007-asking-again.md.
   */
  onTimeout(typeUrl: string, name: string, kind: 'overdue' | 'missing'): void {
    const { handler } = this;
    const nowMs = handler.clock.monotonicMs();
    if (kind === 'overdue' && nowMs < this.mayRenewAtMs) return;
    handler.onTimeout(typeUrl, name, kind, this.health === 'answering');
    if (kind === 'missing') return;
    this.mayRenewAtMs = nowMs + MIN_RENEWAL_INTERVAL_MS;
    this.stream.replace();
  }

  private chooseVariant(): Subscriptions {
    const { variant } = this.handler;
    if (variant.isDelta !== this.subscriptions.isDelta) {
      this.subscriptions = variant.createSubscriptions(this.source);
    }
    return this.subscriptions;
  }
}
