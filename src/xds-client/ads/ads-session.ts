import { inNextTurn } from '../../util/clock';
import type { Handle } from '../../util/handle';
import type { Random } from '../../util/random';
import { afterRunning } from '../../util/running-time';
import { StatusCode } from '../../util/status-code';
import type { Steps } from '../../util/steps';
import type { Budgets, TimeBudget } from '../budgets';
import { MIN_READ_PAUSE_MS, READ_SLICE_MS } from '../limits';
import type { NextStream, OpenStream, StreamSession } from '../reconnecting-stream';
import type { ServerPolicy, VariantChoice } from '../server-policy';
import type { StreamStatus } from '../transport';
import { describeStreamEnd } from '../xds-errors';
import { parseAdsResponse, type AdsResponse } from './ads-response';
import { NackPacing } from './nack-pacing';
import { readResponse, type ReadContext, type ReadResponse } from './read-response';
import { ResourceWaits, type ResourceWaitsOptions } from './resource-waits';
import type { NextRequest, RequestSource, Subscriptions } from './subscriptions';
import type { Verdict } from './verdict';

/** The channel of a server, as its sessions use it. All methods are called in the queue. */
export interface ResponseHandler {
  readonly variant: VariantChoice;
  readonly policy: Pick<ServerPolicy, 'resourceTimeoutMs'>;
  /** Responses are read only while there is time left in its `time`. */
  readonly budgets: Budgets;
  readonly random: Random;
  /** Marks this moment among the subscriptions: see `onRead`. */
  readonly latestPosition: number;
  /** Returns what responses of a type are read with; `undefined` if the type was never requested. */
  readContext(typeUrl: string): ReadContext | undefined;
  /** Applies a response that was read. @param latestPosition When it arrived: resources may have been subscribed to since. */
  onRead(response: AdsResponse, read: ReadResponse, latestPosition: number): Verdict;
  /** Called with the type of a response that was not requested on the stream. It is not answered. */
  onUnrequested(typeUrl: string): void;
}

/** The ADS stream that a session belongs to. */
export interface AdsSessionOwner {
  /** Whether the server failed on an earlier stream and has not answered since. */
  readonly isFailing: boolean;
  /** Called with the first response on a stream. @param isSilent Whether it is known by the server's silence instead. */
  onReachable(isSilent: boolean): void;
  readonly onTimeout: ResourceWaitsOptions['onTimeout'];
}

/** Constructor options of a session. */
export interface AdsSessionOptions {
  readonly open: OpenStream;
  readonly owner: AdsSessionOwner;
  readonly handler: ResponseHandler;
  readonly source: RequestSource;
  readonly subscriptions: Subscriptions;
  /** The session whose stream is replaced. Its waits go on. */
  readonly replaced: AdsSession | undefined;
}

/** A response that is being read. */
interface Reading {
  readonly response: AdsResponse;
  readonly steps: Steps<ReadResponse>;
  /** See `ResponseHandler`, when it was received. */
  readonly latestPosition: number;
  /** On the monotonic clock. */
  readonly receivedAtMs: number;
  /** Milliseconds that it has taken, without breaks. */
  spentMs: number;
}

/** What is returned to a response that is dropped. */
const NOTHING: ReadResponse = {
  events: new Map(),
  removed: new Set(),
  lost: new Set(),
  violations: [],
  invalid: 0,
  isComplete: false,
};

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
  private readonly time: TimeBudget;
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
    const { open, owner, subscriptions, handler, replaced } = options;
    const { clock } = open;
    const { random } = handler;
    this.time = handler.budgets.time;
    this.waits = new ResourceWaits(
      {
        clock,
        random,
        timeoutMs: handler.policy.resourceTimeoutMs,
        onTimeout: (typeUrl, name, kind) => owner.onTimeout(typeUrl, name, kind),
      },
      replaced?.waits.deadlines(),
    );
    const onDue = (typeUrl: string) => subscriptions.sendHeld(typeUrl);
    this.nacks = new NackPacing({ clock, random, onDue });
    subscriptions.begin();
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

  /** Ends the request of a name. */
  removeName(typeUrl: string, name: string): void {
    this.options.subscriptions.removeName(typeUrl, name);
    this.waits.end(typeUrl, name);
  }

  /** Milliseconds until a resource is concluded to be missing; `undefined` while nothing is timed. */
  remainingMs(typeUrl: string, name: string): number | undefined {
    return this.waits.remainingMs(typeUrl, name);
  }

  /** Sends the request that is due, and lets the transport deliver the next response. */
  flush(): void {
    const { time } = this;
    const { open, subscriptions } = this.options;
    if (this.inFlight === undefined && this.sendPause === undefined) {
      this.inFlight = subscriptions.next();
      if (this.inFlight !== undefined) open.stream.send(this.inFlight.bytes);
    }
    if (!this.readDue || this.reading !== undefined || this.readPause !== undefined) return;
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
    const { typeUrl, newNames, isFirst, hasVersions } = inFlight;
    if (hasVersions) this.versionsSent = true;
    const { open, owner, source } = this.options;
    if (this.idleTimer === undefined && !this.sawResponse && owner.isFailing) {
      this.idleTimer = afterRunning(open.clock, () => this.onIdle(), IDLE_TIMEOUT_MS);
    }
    if (newNames.length === 0) return;
    // Servers read the first request of a type on a stream; some lose later ones. See docs/decisions/0007-asking-again.md.
    const mayBeLost = !isFirst && this.sawResponse;
    const resources = source.resources(typeUrl);
    const pending = newNames.filter((name) => {
      const resource = resources.get(name);
      return resource !== undefined && resource.accepted === undefined;
    });
    this.waits.start(typeUrl, pending, mayBeLost);
  }

  onMessage(bytes: Uint8Array): NextStream | undefined {
    const { open, owner, handler, subscriptions } = this.options;
    this.connected = true;
    this.readDue = true;
    const receivedAtMs = open.clock.monotonicMs();
    this.time.receive(bytes.length, receivedAtMs);
    const parsed = parseAdsResponse(bytes, subscriptions.isDelta);
    // Not even the nonce is known, so that it can only be answered by ending the stream.
    if (!parsed.ok) return { kind: 'after-backoff', reason: parsed.error };
    const response = parsed.value;
    const { typeUrl, controlPlane = '' } = response;
    const isFirst = !this.sawResponse;
    this.sawResponse = true;
    const isReplaced = handler.variant.onControlPlane(subscriptions.isDelta, controlPlane);
    if (isReplaced) return { kind: 'at-once' };
    if (isFirst) owner.onReachable(false);
    const context = subscriptions.isRequested(typeUrl) ? handler.readContext(typeUrl) : undefined;
    if (context === undefined) {
      handler.onUnrequested(typeUrl);
      return undefined;
    }
    const { latestPosition } = handler;
    const steps = readResponse(response, context);
    this.reading = { response, steps, latestPosition, receivedAtMs, spentMs: 0 };
    this.waits.pause();
    this.readOn(this.reading, receivedAtMs);
    return undefined;
  }

  onClosed(status: StreamStatus): NextStream {
    const { subscriptions, handler } = this.options;
    const { variant } = handler;
    const lacksVariant = status.code === StatusCode.UNIMPLEMENTED && subscriptions.isDelta;
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
    this.reading?.steps.return(NOTHING);
  }

  /** Concludes that a server is silent because it has nothing to send: an implicit acknowledgement of what is cached here. */
  private onIdle(): void {
    if (this.sawResponse || !this.versionsSent || !this.waits.isEmpty) return;
    this.options.owner.onReachable(true);
  }

  /** Reads a response, with breaks for other work if it is large. The next one is read when it is applied. */
  private readOn(reading: Reading, startedAtMs: number): void {
    const { clock } = this.options.open;
    for (;;) {
      const step = reading.steps.next();
      const nowMs = clock.monotonicMs();
      const spentMs = nowMs - startedAtMs;
      if (step.done === true) {
        reading.spentMs += spentMs;
        this.apply(reading, step.value);
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

  private apply(reading: Reading, read: ReadResponse): void {
    const { waits } = this;
    const { handler, subscriptions } = this.options;
    const { response, latestPosition, receivedAtMs } = reading;
    const { typeUrl } = response;
    const verdict = handler.onRead(response, read, latestPosition);
    this.reading = undefined;
    this.answered.add(typeUrl);
    this.time.receivedAtMs ??= receivedAtMs;
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
    const { nacks } = this;
    const { open, subscriptions } = this.options;
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
    this.time.beginTurn(this.options.open.clock.monotonicMs());
  }

  /** Reads nothing for a while: flow control keeps what the server sends meanwhile in the connection. */
  private pauseReading(pauseMs: number): void {
    this.readPause = this.options.open.clock.setTimer(() => this.endPause(), pauseMs);
  }
}
