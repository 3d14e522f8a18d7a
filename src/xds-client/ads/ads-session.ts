import { inNextTurn } from '../../util/clock';
import type { Handle } from '../../util/handle';
import type { Random } from '../../util/random';
import { StatusCode } from '../../util/status-code';
import { MIN_READ_PAUSE_MS, READ_SLICE_MS } from '../limits';
import type { NextStream, OpenStream, StreamSession } from '../reconnecting-stream';
import type { TimeBudget } from '../budgets';
import type { StreamStatus } from '../transport';
import { describeStreamEnd } from '../xds-errors';
import type { AdsResponse } from './ads-response';
import type { AdsStreamHandler, ResourceKey, ResponseReading, Verdict } from './verdict';
import { NackPacing } from './nack-pacing';
import type { VariantChoice } from '../server-policy';
import { NO_DEADLINES, ResourceWaits } from './resource-waits';
import type { AdsProtocol, NextRequest, RequestSource, Subscriptions } from './subscriptions';
import { afterRunning } from '../../util/running-time';

/** The ADS stream that a session belongs to. */
export interface AdsSessionOwner extends Pick<AdsStreamHandler, 'onResponse'> {
  /** Whether the server failed on an earlier stream and has not answered since. */
  readonly isFailing: boolean;
  /** @param isSilent Whether it is known by the server's silence, and not by a response. */
  onReachable(isSilent: boolean): void;
  onTimeout(key: ResourceKey, kind: 'overdue' | 'missing'): void;
}

/** Constructor options of a session. */
export interface AdsSessionOptions {
  readonly open: OpenStream;
  readonly owner: AdsSessionOwner;
  readonly source: RequestSource;
  readonly protocol: AdsProtocol;
  readonly variant: VariantChoice;
  /** Responses are read only while there is time left in it. */
  readonly time: TimeBudget;
  readonly random: Random;
  readonly resourceTimeoutMs: number;
  /** The session whose stream is replaced. Its waits go on. */
  readonly replaced: AdsSession | undefined;
}

/** A response that is being read. */
interface Reading {
  readonly response: AdsResponse;
  readonly rest: ResponseReading;
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
 * composed by the variant of the protocol. Only `flush` sends and reads. It is called when everything that a response
 * set off has happened: that is what an acknowledgement means.
 */
export class AdsSession implements StreamSession {
  private readonly subscriptions: Subscriptions;
  private readonly waits: ResourceWaits;
  private readonly nacks: NackPacing;
  /** The request given to the transport that has not been sent yet. */
  private inFlight: NextRequest | undefined;
  private sawResponse = false;
  private connected = false;
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
  /** The types of which a response was read. */
  private readonly answered = new Set<string>();
  /** Runs until the response that is being read is read on. */
  private readBreak: Handle | undefined;

  constructor(private readonly options: AdsSessionOptions) {
    const { open, owner, source, protocol, random, resourceTimeoutMs, replaced } = options;
    const { clock } = open;
    this.subscriptions = protocol.createSubscriptions();
    this.waits = new ResourceWaits(
      {
        clock,
        random,
        timeoutMs: resourceTimeoutMs,
        onTimeout: (typeUrl, name) => owner.onTimeout({ typeUrl, name }, 'missing'),
        onOverdue: (typeUrl, name) => owner.onTimeout({ typeUrl, name }, 'overdue'),
      },
      replaced?.waits.deadlines() ?? NO_DEADLINES,
    );
    const onDue = (typeUrl: string) => this.subscriptions.sendHeld(typeUrl);
    this.nacks = new NackPacing({ clock, random, onDue });
    for (const typeUrl of source.typeUrls()) this.subscriptions.addType(typeUrl);
  }

  /** Whether a response was received on this stream. */
  get hasAnswered(): boolean {
    return this.sawResponse;
  }

  /** Whether something was sent or received, so that there is a connection. */
  get isConnected(): boolean {
    return this.connected;
  }

  /** Whether the server knows, or is about to know, which versions are cached here. */
  get sentVersions(): boolean {
    return this.versionsSent || this.inFlight?.hasVersions === true;
  }

  /** Requests a name with the next `flush`. */
  addName(typeUrl: string, name: string): void {
    this.subscriptions.addName(typeUrl, name);
  }

  /** Ends the request of a name. */
  removeName(typeUrl: string, name: string): void {
    this.subscriptions.removeName(typeUrl, name);
    this.waits.end(typeUrl, name);
  }

  /** Rejects the latest response of a type, which was acknowledged, with the next `flush`. */
  reject(typeUrl: string, reason: string): void {
    this.subscriptions.reject(typeUrl, reason);
  }

  /** Milliseconds until a resource is concluded to be missing; `undefined` while nothing is timed. */
  remainingMs(typeUrl: string, name: string): number | undefined {
    return this.waits.remainingMs(typeUrl, name);
  }

  /** Sends the request that is due, and lets the transport deliver the next response. */
  flush(): void {
    this.sendNext();
    if (!this.readDue || this.reading !== undefined || this.readPause !== undefined) return;
    const { time, open } = this.options;
    const nowMs = open.clock.monotonicMs();
    // What a stream begins with is always read.
    const waitMs = this.sawResponse ? time.waitMs(nowMs) : 0;
    if (waitMs > 0) {
      this.pauseReading(Math.max(waitMs, MIN_READ_PAUSE_MS));
    } else if (this.sawResponse && time.isTurnOver(nowMs)) {
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
    this.connected = true;
    if (inFlight === undefined) return;
    if (inFlight.hasVersions) this.versionsSent = true;
    this.startIdleTimer();
    const { typeUrl, newNames, isFirst } = inFlight;
    // Servers read the first request of a type on a stream; some lose later ones. See docs/decisions/0007-asking-again.md.
    const mayBeLost = !isFirst && this.sawResponse;
    const resources = this.options.source.resources(typeUrl);
    const pending = [...newNames].filter((name) => {
      const resource = resources.get(name);
      return resource !== undefined && resource.accepted === undefined;
    });
    this.waits.start(typeUrl, pending, mayBeLost);
  }

  onMessage(bytes: Uint8Array): NextStream | undefined {
    const { open, owner, variant, protocol, time } = this.options;
    this.connected = true;
    this.readDue = true;
    const startedAtMs = open.clock.monotonicMs();
    time.receive(bytes.length, startedAtMs);
    const parsed = this.subscriptions.parse(bytes);
    // Not even the nonce is known, so that it can only be answered by ending the stream.
    if (!parsed.ok) return { kind: 'after-backoff', reason: parsed.error };
    const response = parsed.value;
    this.sawResponse = true;
    const isReplaced = variant.onControlPlane(protocol.isDelta, response.controlPlane ?? '');
    if (isReplaced) return { kind: 'at-once' };
    owner.onReachable(false);
    const rest = owner.onResponse(response);
    this.reading = { response, rest, receivedAtMs: startedAtMs, spentMs: 0 };
    this.waits.pause();
    this.readOn(this.reading, startedAtMs);
    return undefined;
  }

  onClosed(status: StreamStatus): NextStream {
    const { protocol, variant } = this.options;
    const lacksVariant = status.code === StatusCode.UNIMPLEMENTED && protocol.isDelta;
    if (!this.sawResponse && lacksVariant && variant.onDeltaUnimplemented()) {
      return { kind: 'at-once' };
    }
    const reason = describeStreamEnd(status, variant.mode);
    return { kind: 'after-end', status, isAwaited: this.isAwaited(), reason };
  }

  /** Whether something that was requested was not received. A type that the server is silent about for a while has no news. */
  private isAwaited(): boolean {
    const { open, source } = this.options;
    if (this.reading !== undefined || this.inFlight !== undefined || !this.waits.isEmpty)
      return true;
    if (open.clock.monotonicMs() - open.openedAtMs >= IDLE_TIMEOUT_MS) return false;
    return source.typeUrls().some((typeUrl) => !this.answered.has(typeUrl));
  }

  /** Stops every timer. A response that is being read is dropped. */
  release(): void {
    this.waits.clear();
    this.nacks.clear();
    this.readPause?.release();
    this.sendPause?.release();
    this.readBreak?.release();
    this.idleTimer?.release();
    this.reading?.rest.release();
  }

  private sendNext(): void {
    if (this.inFlight !== undefined || this.sendPause !== undefined) return;
    this.inFlight = this.subscriptions.next();
    if (this.inFlight !== undefined) this.options.open.stream.send(this.inFlight.bytes);
  }

  private startIdleTimer(): void {
    const { open, owner } = this.options;
    if (this.idleTimer !== undefined || this.sawResponse || !owner.isFailing) return;
    const onOver = () => {
      if (this.isIdle()) owner.onReachable(true);
    };
    this.idleTimer = afterRunning(open.clock, onOver, IDLE_TIMEOUT_MS);
  }

  /** Whether the server is silent because it has nothing to send: an implicit acknowledgement of what is cached here. */
  private isIdle(): boolean {
    if (this.sawResponse || !this.versionsSent || !this.waits.isEmpty) return false;
    const { open } = this.options;
    return open.clock.monotonicMs() - open.openedAtMs >= IDLE_TIMEOUT_MS;
  }

  /** Reads a response, with breaks for other work if it is large. The next one is read when its verdict is applied. */
  private readOn(reading: Reading, startedAtMs = this.options.open.clock.monotonicMs()): void {
    const { clock } = this.options.open;
    let verdict: Verdict | undefined;
    let spentMs: number;
    do {
      verdict = reading.rest.next();
      spentMs = clock.monotonicMs() - startedAtMs;
    } while (verdict === undefined && spentMs < READ_SLICE_MS);
    reading.spentMs += spentMs;
    if (verdict === undefined) this.readBreak = inNextTurn(clock, () => this.readInTurn(reading));
    else this.apply(reading, verdict);
  }

  private readInTurn(reading: Reading): void {
    const { time, open } = this.options;
    time.beginTurn(open.clock.monotonicMs());
    this.readOn(reading);
  }

  private apply(reading: Reading, verdict: Verdict): void {
    const { subscriptions, waits } = this;
    const { typeUrl } = reading.response;
    this.reading = undefined;
    this.answered.add(typeUrl);
    this.options.time.receivedAtMs ??= reading.receivedAtMs;
    for (const name of verdict.settled) {
      waits.end(typeUrl, name);
      if (verdict.wasRequested(name)) subscriptions.confirmName(typeUrl, name);
    }
    for (const name of verdict.requestAgain) {
      // A request that has not been answered yet is not repeated.
      if (waits.remainingMs(typeUrl, name) !== undefined) continue;
      subscriptions.removeName(typeUrl, name);
      subscriptions.addName(typeUrl, name);
    }
    if (verdict.isComplete) waits.endOverdue(typeUrl, (name) => verdict.wasRequested(name));
    this.answer(reading, verdict);
    waits.resume();
  }

  private answer({ response, spentMs: readMs }: Reading, { answer }: Verdict): void {
    const { subscriptions, nacks } = this;
    if (answer.kind === 'acknowledge') {
      nacks.endRow(response.typeUrl);
      subscriptions.sendHeld(response.typeUrl);
      subscriptions.answer(response, undefined);
      this.pauseSending();
    } else if (answer.kind === 'reject') {
      const { reason, hasNews } = answer;
      const { isHeld, readPauseMs } = nacks.reject(response.typeUrl, {
        reason,
        hasNews,
        readMs,
      });
      subscriptions.answer(response, reason, isHeld);
      if (readPauseMs > 0) this.pauseReading(readPauseMs);
    }
  }

  /**
   * Acknowledges what a server that floods sends once in a turn of the event loop: the last response of each type. To send a
   * request for each costs as much as to read it.
   */
  private pauseSending(): void {
    const { open, time } = this.options;
    if (!time.isFlooded(open.clock.monotonicMs())) return;
    this.sendPause ??= inNextTurn(open.clock, () => (this.sendPause = undefined));
  }

  private endPause(): void {
    this.readPause = undefined;
    this.options.time.beginTurn(this.options.open.clock.monotonicMs());
  }

  /** Reads nothing for a while: flow control keeps what the server sends meanwhile in the connection. */
  private pauseReading(pauseMs: number): void {
    this.readPause = this.options.open.clock.setTimer(() => this.endPause(), pauseMs);
  }
}
