import { inNextTurn } from '../../util/clock';
import type { Handle } from '../../util/handle';
import { afterRunning } from '../../util/running-time';
import { StatusCode } from '../../util/status-code';
import type { Steps } from '../../util/time-slices';
import type { TimeBudget } from '../budgets';
import type { ChannelLog } from '../channel-log';
import type { ClientContext } from '../client-context';
import { MIN_READ_PAUSE_MS, READ_SLICE_MS } from '../limits';
import type { NextStream, OpenStream, StreamSession } from '../reconnecting-stream';
import type { ServerPolicy, VariantChoice } from '../server-policy';
import type { StreamStatus } from '../transport';
import { describeStreamEnd } from '../xds-errors';
import { parseAdsResponse, type AdsResponse } from './ads-response';
import { NackPacing } from './nack-pacing';
import { readResponse, type ReadContext, type ResponseContent } from './read-response';
import { ResourceWaits } from './resource-waits';
import type { NextRequest, RequestSource, Subscriptions } from './subscriptions';
import type { AckDecision } from './ack-decision';

/** The channel of a server, as a session uses it. All methods are called in the serializer. */
export interface SessionChannel {
  readonly context: ClientContext;
  readonly policy: ServerPolicy;
  readonly variant: VariantChoice;
  readonly log: ChannelLog;
  /** Marks this moment among the subscriptions: see `onRead`. */
  readonly latestPosition: number;
  /** Returns what responses of a type are read with; `undefined` if the type was never requested. */
  readContext(typeUrl: string): ReadContext | undefined;
  /** Applies a response that was read. @param latestPosition When it arrived: resources may have been subscribed to since. */
  onRead(response: AdsResponse, read: ResponseContent, latestPosition: number): AckDecision;
}

/** What keeps a stream open: the session is one of its streams. */
export interface SessionOwner extends RequestSource {
  readonly channel: SessionChannel;
  /** Whether the server failed on an earlier stream and has not answered since. */
  readonly isFailing: boolean;
  /** Handles the first response on a stream. @param isSilent Whether it is known by the server's silence instead. */
  onReachable(isSilent: boolean): void;
  /** Handles that a requested resource was not received in time. */
  onTimeout(typeUrl: string, name: string, kind: 'overdue' | 'missing'): void;
}

/** A response that is being read. */
interface Reading {
  readonly response: AdsResponse;
  /** Ends with nothing if the response is dropped. */
  readonly steps: Steps<ResponseContent | undefined>;
  /** `AdsChannel.latestPosition` when it arrived: resources that were subscribed to later are not removed by it. */
  readonly latestPosition: number;
  /** On the monotonic clock. */
  readonly receivedAtMs: number;
  /** Milliseconds that it has taken, without breaks. */
  spentMs: number;
}

/**
 * A server that was sent the versions cached here, and has been silent for this long, has nothing newer: incremental
 * servers, and some of the others, answer a client that reconnects in this way.
 */
const IDLE_TIMEOUT_MS = 5000;

/**
 * One ADS stream: flow control, acknowledgements, and the timers of the resources requested on it. Requests are
 * composed by the variant of the protocol. Only `flush` sends and reads. It is called when all watchers have run; policies may
 * still be applying the change.
 */
export class AdsSession implements StreamSession {
  private readonly time: TimeBudget;
  private readonly waits: ResourceWaits;
  private readonly nacks: NackPacing;
  /** The request given to the transport that has not been sent yet. */
  private inFlight: NextRequest | undefined;
  /** Whether a response was received on this stream. */
  hasAnswered = false;
  /** Whether something was sent or received, so that there is a connection. */
  isConnected = false;
  /** The versions cached here were sent. If nothing has changed since, the server has nothing to send. */
  private versionsSent = false;
  /** Runs while the silence of a server that had failed may still mean that it is not reachable. */
  private idleTimer: Handle | undefined;
  /** The next response may be requested from the transport. */
  private readDue = true;
  /** Runs until the next response may be read. */
  private readPause: Handle | undefined;
  /** Runs until the next request is sent, while the server floods. */
  private sendPause: Handle | undefined;
  private reading: Reading | undefined;
  /** The types for which a response was read. */
  private readonly answered = new Set<string>();
  /** Runs until the response that is being read is read on. */
  private readBreak: Handle | undefined;

  /** @param replaced The session whose stream is replaced. Its waits go on. */
  constructor(
    private readonly owner: SessionOwner,
    private readonly open: OpenStream,
    private readonly subscriptions: Subscriptions,
    replaced: AdsSession | undefined,
  ) {
    const { context, policy } = owner.channel;
    const { clock } = open;
    const { random } = context;
    this.time = context.budgets.time;
    this.waits = new ResourceWaits(
      {
        clock,
        random,
        timeoutMs: policy.resourceTimeoutMs,
        onTimeout: (typeUrl, name, kind) => owner.onTimeout(typeUrl, name, kind),
      },
      replaced?.waits.deadlines(),
    );
    const onDue = (typeUrl: string) => subscriptions.sendHeld(typeUrl);
    this.nacks = new NackPacing({ clock, random, onDue });
    subscriptions.begin();
  }

  /** Whether the server knows, or is about to know, which versions are cached here. */
  get sentVersions(): boolean {
    return this.versionsSent || this.inFlight?.hasVersions === true;
  }

  /** Ends the request of a name. */
  removeName(typeUrl: string, name: string): void {
    this.subscriptions.removeName(typeUrl, name);
    this.waits.end(typeUrl, name);
  }

  /** Milliseconds until a resource is concluded to be missing; `undefined` while nothing is timed. */
  remainingMs(typeUrl: string, name: string): number | undefined {
    return this.waits.remainingMs(typeUrl, name);
  }

  /** Sends the request that is due, and lets the transport deliver the next response. */
  flush(): void {
    const { time } = this;
    const { open, subscriptions } = this;
    if (this.inFlight === undefined && this.sendPause === undefined) {
      this.inFlight = subscriptions.next();
      if (this.inFlight !== undefined) open.stream.send(this.inFlight.bytes);
    }
    if (!this.readDue || this.reading !== undefined || this.readPause !== undefined) return;
    const nowMs = open.clock.monotonicMs();
    // What a stream begins with is always read.
    const waitMs = this.hasAnswered ? time.waitMs(nowMs) : 0;
    if (waitMs > 0) {
      this.pauseReading(Math.max(waitMs, MIN_READ_PAUSE_MS));
    } else if (this.hasAnswered && time.isTurnOver(nowMs)) {
      this.readPause = inNextTurn(open.clock, () => this.endPause());
    } else {
      this.readDue = false;
      open.stream.read();
    }
  }

  /** Waiting begins now and not when the request was composed: until here there was no connection (gRFC A57). */
  onSent(): void {
    const { inFlight } = this;
    this.inFlight = undefined;
    this.isConnected = true;
    if (inFlight === undefined) return;
    const { typeUrl, newNames, isFirst, hasVersions } = inFlight;
    if (hasVersions) this.versionsSent = true;
    const { open, owner } = this;
    if (this.idleTimer === undefined && !this.hasAnswered && owner.isFailing) {
      this.idleTimer = afterRunning(open.clock, () => this.onIdle(), IDLE_TIMEOUT_MS);
    }
    if (newNames.length === 0) return;
    // Servers read the first request of a type on a stream; some lose later ones. See docs/decisions/ads-streams.md.
    const mayBeLost = !isFirst && this.hasAnswered;
    const resources = owner.resources(typeUrl);
    const pending = newNames.filter((name) => {
      const resource = resources.get(name);
      return resource !== undefined && resource.accepted === undefined;
    });
    this.waits.start(typeUrl, pending, mayBeLost);
  }

  onMessage(bytes: Uint8Array): NextStream | undefined {
    const { open, owner, subscriptions } = this;
    const { channel } = owner;
    this.isConnected = true;
    this.readDue = true;
    const receivedAtMs = open.clock.monotonicMs();
    this.time.receive(bytes.length, receivedAtMs);
    const parsed = parseAdsResponse(bytes, subscriptions.isDelta);
    // Not even the nonce is known, so that it can only be answered by ending the stream.
    if (!parsed.ok) return { kind: 'after-backoff', reason: parsed.error };
    const response = parsed.value;
    const { typeUrl, controlPlane = '' } = response;
    const isFirst = !this.hasAnswered;
    this.hasAnswered = true;
    const isReplaced = subscriptions.isDelta && channel.variant.onControlPlane(controlPlane);
    if (isReplaced) return { kind: 'at-once' };
    if (isFirst) owner.onReachable(false);
    const context = subscriptions.isRequested(typeUrl) ? channel.readContext(typeUrl) : undefined;
    if (context === undefined) {
      channel.log.unrequested(typeUrl);
      return undefined;
    }
    const { latestPosition } = channel;
    const steps = readResponse(response, context);
    this.reading = { response, steps, latestPosition, receivedAtMs, spentMs: 0 };
    this.waits.pause();
    this.readOn(this.reading, receivedAtMs);
    return undefined;
  }

  onClosed(status: StreamStatus): NextStream {
    const { subscriptions } = this;
    const { variant } = this.owner.channel;
    const lacksVariant = status.code === StatusCode.UNIMPLEMENTED && subscriptions.isDelta;
    if (!this.hasAnswered && lacksVariant && variant.onDeltaUnimplemented()) {
      return { kind: 'at-once' };
    }
    const ended = this.hasAnswered ? { ...status, hasAnswered: true } : status;
    const reason = describeStreamEnd(ended, variant.mode);
    return { kind: 'after-end', status, isAwaited: this.isAwaited(), reason };
  }

  /** Whether something that was requested was not received. A type that the server is silent about for a while has no news. */
  private isAwaited(): boolean {
    const { open, owner } = this;
    if (this.reading !== undefined || this.inFlight !== undefined || !this.waits.isEmpty)
      return true;
    if (open.clock.monotonicMs() - open.openedAtMs >= IDLE_TIMEOUT_MS) return false;
    return owner.typeUrls().some((typeUrl) => !this.answered.has(typeUrl));
  }

  /** Stops every timer. A response that is being read is dropped. */
  release(): void {
    this.waits.clear();
    this.nacks.clear();
    this.readPause?.release();
    this.sendPause?.release();
    this.readBreak?.release();
    this.idleTimer?.release();
    this.reading?.steps.return(undefined);
  }

  /** Concludes that a server is silent because it has nothing to send: an implicit acknowledgement of what is cached here. */
  private onIdle(): void {
    if (this.hasAnswered || !this.versionsSent || !this.waits.isEmpty) return;
    this.owner.onReachable(true);
  }

  /** Reads a response, with breaks for other work if it is large. The next one is read when it is applied. */
  private readOn(reading: Reading, startedAtMs: number): void {
    const { clock } = this.open;
    for (;;) {
      const step = reading.steps.next();
      const nowMs = clock.monotonicMs();
      const spentMs = nowMs - startedAtMs;
      if (step.done === true) {
        reading.spentMs += spentMs;
        if (step.value !== undefined) this.apply(reading, step.value);
        return;
      }
      if (spentMs < READ_SLICE_MS) continue;
      reading.spentMs += spentMs;
      this.readBreak = inNextTurn(clock, () => {
        const beganAtMs = clock.monotonicMs();
        this.time.beginTurn(beganAtMs);
        this.readOn(reading, beganAtMs);
      });
      return;
    }
  }

  private apply(reading: Reading, read: ResponseContent): void {
    const { waits, subscriptions } = this;
    const { response, latestPosition, receivedAtMs } = reading;
    const { typeUrl } = response;
    const decision = this.owner.channel.onRead(response, read, latestPosition);
    this.reading = undefined;
    this.answered.add(typeUrl);
    this.owner.channel.context.receivedAtMs ??= receivedAtMs;
    for (const name of decision.settled) {
      waits.end(typeUrl, name);
      if (decision.wasRequested(name)) subscriptions.confirmName(typeUrl, name);
    }
    for (const name of decision.requestAgain) {
      // A request that has not been answered yet is not repeated.
      if (waits.remainingMs(typeUrl, name) !== undefined) continue;
      subscriptions.removeName(typeUrl, name);
      subscriptions.addName(typeUrl, name);
    }
    if (decision.isComplete) waits.endOverdue(typeUrl, (name) => decision.wasRequested(name));
    this.answer(reading, decision);
    waits.resume();
  }

  private answer({ response, spentMs: readMs }: Reading, { answer }: AckDecision): void {
    const { nacks } = this;
    const { open, subscriptions } = this;
    if (answer.kind === 'reject') {
      const { reason, hasNews } = answer;
      const pace = nacks.reject(response.typeUrl, { reason, hasNews, readMs });
      subscriptions.answer(response, reason, pace.isHeld);
      if (pace.readPauseMs > 0) this.pauseReading(pace.readPauseMs);
      return;
    }
    nacks.endRow(response.typeUrl);
    subscriptions.answer(response, undefined);
    // What a server that floods sends is acknowledged once in a turn of the event loop, the last response of each type: to send
    // a request for each costs as much as to read it.
    if (!this.time.isFlooded(open.clock.monotonicMs())) return;
    this.sendPause ??= inNextTurn(open.clock, () => (this.sendPause = undefined));
  }

  private endPause(): void {
    this.readPause = undefined;
    this.time.beginTurn(this.open.clock.monotonicMs());
  }

  /** Reads nothing for a while: flow control keeps what the server sends meanwhile in the connection. */
  private pauseReading(pauseMs: number): void {
    this.readPause = this.open.clock.setTimer(() => this.endPause(), pauseMs);
  }
}
