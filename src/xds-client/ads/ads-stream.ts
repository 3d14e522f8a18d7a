import type { Clock } from '../../util/clock';
import type { Result } from '../../util/result';
import type { SerialQueue } from '../../util/serial-queue';
import type { ServerSnapshot } from '../client-snapshot';
import { ReconnectingStream } from '../reconnecting-stream';
import type { XdsTransport } from '../transport';
import { AdsSession, type AdsSessionOptions, type AdsSessionOwner } from './ads-session';
import type { AdsStreamHandler, ResourceKey } from './verdict';
import type { AdsProtocol } from './subscriptions';

/** Constructor options of an ADS stream. */
export interface AdsStreamOptions extends Pick<
  AdsSessionOptions,
  'source' | 'variant' | 'time' | 'random' | 'resourceTimeoutMs'
> {
  readonly handler: AdsStreamHandler;
  /** Returns the connection, which is made if there is none. */
  readonly connect: () => Result<XdsTransport, string>;
  /** Returns the full path of the method of a variant. */
  readonly method: (verb: AdsProtocol['verb']) => string;
  readonly queue: SerialQueue;
  readonly clock: Clock;
  /** See `ReconnectingStreamOptions`. */
  readonly isAwaited: () => boolean;
}

/** The state of a stream as far as others may know it. */
export type AdsStreamSnapshot = Pick<ServerSnapshot, 'state' | 'retryInMs'> & {
  readonly hasAnswered: boolean;
  readonly displaced: number;
};

/** A stream is replaced at most this often because a resource requested on it was not received. */
const MIN_RENEWAL_INTERVAL_MS = 30_000;

/** An ADS stream to one server, and the streams that replace it: what is known of the server beyond one of them. */
export class AdsStream {
  private protocol: AdsProtocol;
  private readonly stream: ReconnectingStream<AdsSession>;
  /** Whether the server has answered since it last failed; `unknown` before either. */
  private health: 'unknown' | 'answering' | 'failing' = 'unknown';
  /** When a stream may next be replaced because a resource was not received, on the monotonic clock. */
  private mayRenewAtMs = -Infinity;

  constructor(private readonly options: AdsStreamOptions) {
    const { source, variant, queue, clock, random, connect, time, resourceTimeoutMs } = options;
    const { isAwaited } = options;
    this.protocol = variant.createProtocol(source);
    const owner = this.createOwner();
    this.stream = new ReconnectingStream({
      queue,
      clock,
      random,
      connect,
      isAwaited,
      method: () => options.method(this.chooseProtocol().verb),
      createSession: (open, replaced) => {
        const { protocol } = this;
        const rest = { source, variant, time, random, resourceTimeoutMs };
        return new AdsSession({ open, owner, protocol, replaced, ...rest });
      },
      onDisplaced: (lastAgeMs) => options.handler.onStateChanged({ kind: 'displaced', lastAgeMs }),
      onError: (error) => options.handler.onError(error),
      onFailed: (reason, retryInMs) => {
        this.health = 'failing';
        options.handler.onStateChanged({ kind: 'failed', reason, retryInMs });
      },
    });
  }

  /** Requests a name that was added to the source. */
  addName(typeUrl: string, name: string): void {
    this.stream.session?.addName(typeUrl, name);
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
    this.stream.session?.reject(typeUrl, reason);
  }

  /**
   * Makes the next stream request everything as if nothing had been received: another server's resources replace this
   * one's. A stream on which the server has learnt which versions are cached is replaced at once, because the server
   * would not send those again.
   */
  forgetVersions(): void {
    this.protocol.forgetVersions();
    const { session } = this.stream;
    if (session?.hasAnswered === false && session.sentVersions) this.stream.replace();
  }

  /** Replaces a stream that has had responses, so that everything is sent again. */
  renew(): void {
    if (this.stream.session?.hasAnswered !== true) return;
    this.protocol.forgetVersions();
    this.stream.replace();
  }

  /** Opens a stream if there is something to request. See `AdsSession.flush`. */
  flush(): void {
    if (this.stream.kind === 'idle' && this.options.source.typeUrls().length > 0) {
      this.stream.start();
    }
    this.stream.run((session) => session.flush());
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

  private chooseProtocol(): AdsProtocol {
    const { variant, source } = this.options;
    if (variant.isDelta !== this.protocol.isDelta) this.protocol = variant.createProtocol(source);
    return this.protocol;
  }

  private createOwner(): AdsSessionOwner {
    const { handler } = this.options;
    const isFailing = () => this.health === 'failing';
    return {
      get isFailing() {
        return isFailing();
      },
      onResponse: (response) => handler.onResponse(response),
      onReachable: (isSilent) => {
        this.health = isSilent ? 'unknown' : 'answering';
        handler.onStateChanged({ kind: 'reachable' });
      },
      onTimeout: (key, kind) => {
        if (kind === 'overdue') this.requestOnNewStream(key);
        else handler.onTimeout(key, kind, this.health === 'answering');
      },
    };
  }

  /**
   * Several control planes lose the request for a resource that is added in the course of a stream, and none loses what
   * a stream begins with. Everything pending is requested there, so that one new stream does for all of it. See
   * docs/decisions/0007-asking-again.md.
   */
  private requestOnNewStream(key: ResourceKey): void {
    const now = this.options.clock.monotonicMs();
    if (now < this.mayRenewAtMs) return;
    this.mayRenewAtMs = now + MIN_RENEWAL_INTERVAL_MS;
    this.options.handler.onTimeout(key, 'overdue', this.health === 'answering');
    this.stream.replace();
  }
}
