import type { Result } from '../../util/result';
import type { ServerSnapshot } from '../client-snapshot';
import { ReconnectingStream, type OpenStream } from '../reconnecting-stream';
import type { DiscoveryService } from '../resource-type';
import type { UnsteadyCause } from '../stream-ends';
import type { XdsTransport } from '../transport';
import type { ServerFailure } from '../xds-errors';
import { AdsSession, type SessionChannel, type SessionOwner } from './ads-session';
import type { RequestedResource, Subscriptions } from './subscriptions';

/** The channel of a server, as its streams use it. All methods are called in the serializer. */
export interface AdsChannel extends SessionChannel {
  /** Returns the connection, which is made if there is none. */
  connect(): Result<XdsTransport, string>;
  /** The types on the streams of a service of which at least one resource is requested. */
  requestedTypes(service: DiscoveryService): string[];
  /** The requested resources of a type by name, in the order they were added. */
  resources(typeUrl: string): ReadonlyMap<string, RequestedResource>;
  /** The server has answered on a stream, or its silence shows that there is nothing to send. Called before the response is read. */
  onReachable(stream: AdsStream): void;
  /**
   * A stream ended, or could not be opened, before a response was received.
   * @param reason Follows the name of the server; the next attempt is made in `retryInMs`.
   */
  onFailed(stream: AdsStream, reason: string, retryInMs: number): void;
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
}

/** The state of a stream as far as others may know it. */
export type AdsStreamSnapshot = Pick<ServerSnapshot, 'state' | 'retryInMs'> & {
  readonly hasAnswered: boolean;
  readonly displaced: number;
  /** Why the last stream ended although it had a response. Follows the name of the server. */
  readonly lastError: string | undefined;
  /** Whether streams keep ending so. */
  readonly isUnsteady: boolean;
};

/** A stream is replaced at most this often because a resource requested on it was not received. */
const MIN_RENEWAL_INTERVAL_MS = 30_000;

/** Keeps one ADS stream open to a server, and replaces it when it ends (gRFC A57). */
export class AdsStream extends ReconnectingStream<AdsSession> implements SessionOwner {
  /** Why the last attempt has failed, as a sentence, until the server answers. Kept by the channel. */
  failure: ServerFailure | undefined;
  private subscriptions: Subscriptions;
  /** Whether the server has answered since it last failed; `unknown` before either. */
  private health: 'unknown' | 'answering' | 'failing' = 'unknown';
  /** When a stream may next be replaced because a resource was not received, on the monotonic clock. */
  private mayRenewAtMs = -Infinity;

  constructor(
    readonly channel: AdsChannel,
    private readonly service: DiscoveryService,
  ) {
    super(channel.context);
    this.subscriptions = channel.variant.createSubscriptions(this);
  }

  /** Whether the server failed on an earlier stream and has not answered since. */
  get isFailing(): boolean {
    return this.health === 'failing';
  }

  typeUrls(): string[] {
    return this.channel.requestedTypes(this.service);
  }

  resources(typeUrl: string): ReadonlyMap<string, RequestedResource> {
    return this.channel.resources(typeUrl);
  }

  onVersionsLeftOut(typeUrl: string, count: number): void {
    this.channel.log.versionsLeftOut(typeUrl, count);
  }

  /** Requests a name that was added to the channel. */
  addName(typeUrl: string, name: string): void {
    if (this.state.kind === 'open') this.subscriptions.addName(typeUrl, name);
    this.hurry();
  }

  /** Ends the request of a name that was removed from the channel. */
  removeName(typeUrl: string, name: string): void {
    this.session?.removeName(typeUrl, name);
  }

  /** Rejects the latest response of a type, which was acknowledged: a client behind a relay has rejected it. */
  reject(typeUrl: string, reason: string): void {
    if (this.state.kind === 'open') this.subscriptions.reject(typeUrl, reason);
  }

  /**
   * Makes the next stream request everything as if nothing had been received: another server's resources replace this
   * one's. A stream on which the server has learnt which versions are cached is replaced at once, because the server
   * would not send those again.
   */
  forgetVersions(): void {
    this.subscriptions.forgetVersions();
    if (this.session?.hasAnswered === false && this.session.sentVersions) this.replace();
  }

  /** Replaces a stream that has had responses, so that everything is sent again. */
  renew(): void {
    if (this.session?.hasAnswered !== true) return;
    this.subscriptions.forgetVersions();
    this.replace();
  }

  /** Opens a stream if there is something to request. See `AdsSession.flush`. */
  flush(): void {
    if (this.state.kind === 'idle' && this.typeUrls().length > 0) this.start();
    this.run(({ session }) => session.flush());
  }

  /** A copy for diagnostics. */
  snapshot(): AdsStreamSnapshot {
    const { retryInMs, session, displaced, lastError, isUnsteady } = this;
    const { kind } = this.state;
    const state = kind === 'open' && session?.isConnected !== true ? 'connecting' : kind;
    const hasAnswered = kind === 'open' && this.health === 'answering';
    return { state, retryInMs, hasAnswered, displaced, lastError, isUnsteady };
  }

  /** Milliseconds until a resource is concluded to be missing; `undefined` while nothing is timed. */
  remainingMs(typeUrl: string, name: string): number | undefined {
    return this.session?.remainingMs(typeUrl, name);
  }

  onReachable(isSilent: boolean): void {
    this.health = isSilent ? 'unknown' : 'answering';
    this.channel.onReachable(this);
  }

  /**
   * Several control planes lose the request for a resource that is added in the course of a stream, and none loses what
   * a stream begins with. Everything pending is requested there, so that one new stream does for all of it. See
   * docs/decisions/ads-streams.md.
   */
  onTimeout(typeUrl: string, name: string, kind: 'overdue' | 'missing'): void {
    const { channel } = this;
    const nowMs = channel.context.clock.monotonicMs();
    if (kind === 'overdue' && nowMs < this.mayRenewAtMs) return;
    channel.onTimeout(typeUrl, name, kind, this.health === 'answering');
    if (kind === 'missing') return;
    this.mayRenewAtMs = nowMs + MIN_RENEWAL_INTERVAL_MS;
    this.replace();
  }

  protected override get isAwaited(): boolean {
    return this.channel.context.isAwaited;
  }

  protected override connect(): Result<XdsTransport, string> {
    return this.channel.connect();
  }

  protected override nextMethod(): string {
    const { variant } = this.channel;
    if (variant.isDelta !== this.subscriptions.isDelta) {
      this.subscriptions = variant.createSubscriptions(this);
    }
    return `/${this.service.service}/${this.subscriptions.verb}${this.service.noun}`;
  }

  protected override createSession(open: OpenStream, replaced: AdsSession | undefined): AdsSession {
    return new AdsSession(this, open, this.subscriptions, replaced);
  }

  protected override onFailed(reason: string, retryInMs: number): void {
    this.health = 'failing';
    this.channel.onFailed(this, reason, retryInMs);
  }

  protected override onUnsteady(cause: UnsteadyCause | undefined, lastAgeMs: number): void {
    const { log } = this.channel;
    if (cause === 'displaced') log.displaced(lastAgeMs);
    else if (cause === 'errors') log.unsteady(this.lastError ?? '');
    else log.lasting();
  }

  protected override onError(error: unknown): void {
    this.channel.log.bug('stream', error);
  }
}
