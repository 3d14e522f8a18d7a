import { assertNever } from '../util/assert-never';
import { connectionBackoff, firstBackoffStep, type BackoffStep } from '../util/backoff';
import type { Clock } from '../util/clock';
import type { Handle } from '../util/handle';
import type { Random } from '../util/random';
import type { Result } from '../util/result';
import type { SerialQueue } from '../util/serial-queue';
import type { Steps } from '../util/steps';
import { StatusCode } from '../util/status-code';
import type { AdsConversation, AdsProtocol, AdsResponse, NextRequest } from './ads-protocol';
import type { AdsStreamHandler } from './ads-stream-handler';
import type { ServerSnapshot } from './client-snapshot';
import { MIN_READ_PAUSE_MS, READ_BREAK_MS, READ_SLICE_MS } from './limits';
import { NackPacing } from './nack-pacing';
import { NO_DEADLINES, ResourceWaits, type Deadlines } from './resource-waits';
import { responseDigest } from './response-digest';
import type { TimeBudget } from './time-budget';
import type { StreamStatus, XdsStream, XdsTransport } from './transport';
import type { VariantChoice } from './variant-choice';
import { describeStreamEnd } from './xds-errors';

/** What a stream is made of. */
export interface AdsStreamOptions {
  readonly handler: AdsStreamHandler;
  /** Gives the connection, making it if there is none. */
  readonly connect: () => Result<XdsTransport, string>;
  /** Full path of the method of a variant. */
  readonly method: (verb: AdsProtocol['verb']) => string;
  readonly variant: VariantChoice;
  readonly queue: SerialQueue;
  /** Responses are read only while there is time left in it. */
  readonly time: TimeBudget;
  readonly clock: Clock;
  readonly random: Random;
  readonly resourceTimeoutMs: number;
}

interface BackoffState {
  readonly kind: 'backoff';
  readonly timer: Handle;
  /** On the monotonic clock. */
  readonly retryAtMs: number;
}

/** What lives exactly as long as one stream. */
interface OpenState {
  readonly kind: 'open';
  readonly stream: XdsStream;
  /** On the monotonic clock. */
  readonly openedAtMs: number;
  readonly conversation: AdsConversation;
  readonly waits: ResourceWaits;
  readonly nacks: NackPacing;
  /** How long to wait if this stream, too, ends without a response. */
  readonly backoff: BackoffStep;
  /** The request given to the transport that has not been sent yet. */
  inFlight: NextRequest | undefined;
  /** Something was sent or received, so there is a connection. */
  isConnected: boolean;
  sawResponse: boolean;
  /** The server was told what we have. If nothing has changed since, it has nothing to say. */
  hasClaimed: boolean;
  /** Runs out when the silence of a server that had failed before means that it is well. */
  silence: Handle | undefined;
  /** The next response may be asked for once everybody has dealt with the last one. */
  readDue: boolean;
  /** Runs out when the next response may be read after all. */
  readPause: Handle | undefined;
  /** Runs out when the response that is being read may be read on. */
  readBreak: Handle | undefined;
}

/** A response that is being read. */
interface Reading {
  readonly response: AdsResponse;
  readonly steps: Steps<string | undefined>;
  /** Milliseconds that it has taken, without breaks. */
  spentMs: number;
}

type AdsState = { readonly kind: 'idle' } | BackoffState | OpenState | { readonly kind: 'closed' };

/** The state of a stream as far as others may know it. */
export type AdsStreamSnapshot = Pick<ServerSnapshot, 'state' | 'retryInMs'> & {
  readonly hasAnswered: boolean;
};

/**
 * A stream that answered is replaced at once (gRFC A57), but streams are opened at least this far apart: a
 * server that answers and closes would otherwise be asked again as fast as both sides can run.
 */
const MIN_STREAM_INTERVAL_MS = 1000;

/** A stream is replaced at most this often because it has not brought something that is wanted. */
const MIN_RENEWAL_INTERVAL_MS = 30_000;

/**
 * The silence of a server that was told what we have means that this is all there is, once it has lasted this
 * long: that is how incremental servers, and some of the others, answer a client that comes back.
 */
const SILENT_CONSENT_MS = 5000;

/**
 * An ADS stream to one server, and its replacement when it ends: flow control, backoff, and the timers of
 * missing resources. What is said on it is up to the variant of the protocol. Only `flush` sends and reads,
 * and it is called when everything a message set off has happened: that is what acknowledging means.
 */
export class AdsStream {
  private state: AdsState = { kind: 'idle' };
  private protocol: AdsProtocol;
  /** The server has answered since it last failed, on this stream or on one before. */
  private hasAnswered = false;
  /** When a stream may next be replaced because it has not brought something, on the monotonic clock. */
  private mayRenewAtMs = -Infinity;

  constructor(private readonly options: AdsStreamOptions) {
    this.protocol = options.variant.createProtocol(options.handler);
  }

  /** A name has been added to what is wanted. */
  addName(typeUrl: string, name: string): void {
    if (this.state.kind === 'open') this.state.conversation.addName(typeUrl, name);
  }

  /** A name has been taken from what is wanted. */
  dropName(typeUrl: string, name: string): void {
    if (this.state.kind !== 'open') return;
    this.state.conversation.dropName(typeUrl, name);
    this.state.waits.end(typeUrl, name);
  }

  /**
   * A response had something to say about a resource, so that it need not be waited for.
   * @param wasRequested Whether it was when the response arrived, so that the server knows of the request.
   */
  settle(typeUrl: string, name: string, wasRequested: boolean): void {
    if (this.state.kind !== 'open') return;
    this.state.waits.end(typeUrl, name);
    if (wasRequested) this.state.conversation.confirmName(typeUrl, name);
  }

  /**
   * A response had everything there is of a type, so that what is not in it will not come by asking again.
   * @param wasRequested Whether a resource was when the response arrived.
   */
  endOverdue(typeUrl: string, wasRequested: (name: string) => boolean): void {
    if (this.state.kind === 'open') this.state.waits.endOverdue(typeUrl, wasRequested);
  }

  /**
   * Has a wanted resource sent anew, which the server believes we have. While it is being waited for, nothing
   * happens: one question is enough.
   */
  askAgain(typeUrl: string, name: string): void {
    const { state } = this;
    if (state.kind !== 'open' || state.waits.remainingMs(typeUrl, name) !== undefined) return;
    state.conversation.dropName(typeUrl, name);
    state.conversation.addName(typeUrl, name);
  }

  /**
   * Makes the next stream request everything as if nothing had been received: another server's resources take the
   * place of this one's. A stream on which the server has learnt which versions are cached is replaced at once, because
   * the server would not send those again.
   */
  forgetVersions(): void {
    this.protocol.forgetVersions();
    const { state } = this;
    if (state.kind !== 'open' || state.sawResponse) return;
    if (!state.hasClaimed && state.inFlight?.claims !== true) return;
    this.open(state.backoff, state.waits.deadlines());
  }

  /** Replaces a stream that has had responses, so that everything is sent again. */
  renew(): void {
    if (this.state.kind !== 'open' || !this.state.sawResponse) return;
    this.protocol.forgetVersions();
    this.open(this.firstBackoff(), this.state.waits.deadlines());
  }

  /** Opens a stream if one is wanted, sends what is due and asks for the next response. */
  flush(): void {
    if (this.state.kind === 'idle' && this.options.handler.typeUrls().length > 0) {
      this.open(this.firstBackoff());
    }
    if (this.state.kind !== 'open') return;
    this.sendNext(this.state);
    if (!this.state.readDue || this.state.readPause !== undefined) return;
    const { time, clock } = this.options;
    const waitMs = this.state.sawResponse ? time.waitMs(clock.monotonicMs()) : 0;
    if (waitMs > 0) {
      this.pauseReading(this.state, Math.max(waitMs, MIN_READ_PAUSE_MS));
      return;
    }
    this.state.readDue = false;
    this.state.stream.read();
  }

  /** Ends the stream for good. */
  close(): void {
    this.setState({ kind: 'closed' });
  }

  /** The present state, for people. */
  snapshot(): AdsStreamSnapshot {
    const { state } = this;
    switch (state.kind) {
      case 'idle':
      case 'closed':
        return { state: state.kind, retryInMs: undefined, hasAnswered: false };
      case 'backoff': {
        const retryInMs = Math.max(0, state.retryAtMs - this.options.clock.monotonicMs());
        return { state: 'backoff', retryInMs, hasAnswered: false };
      }
      case 'open': {
        const { hasAnswered } = this;
        const connection = state.isConnected ? 'open' : 'connecting';
        return { state: connection, retryInMs: undefined, hasAnswered };
      }
      default:
        return assertNever(state);
    }
  }

  /** Milliseconds until a resource is concluded to be missing; `undefined` while nothing is timed. */
  remainingMs(typeUrl: string, name: string): number | undefined {
    return this.state.kind === 'open' ? this.state.waits.remainingMs(typeUrl, name) : undefined;
  }

  private setState(next: AdsState): void {
    const { state } = this;
    this.state = next;
    if (state.kind === 'backoff') state.timer.release();
    if (state.kind === 'open') {
      state.waits.clear();
      state.nacks.clear();
      state.readPause?.release();
      state.readBreak?.release();
      state.silence?.release();
      state.stream.close();
    }
  }

  /** @param inherited Of the stream that this one replaces, if that is for the sake of its waits. */
  private open(backoff: BackoffStep, inherited: Deadlines = NO_DEADLINES): void {
    const transport = this.options.connect();
    if (!transport.ok) {
      this.fail(`cannot be used: ${transport.error}`, backoff);
      return;
    }
    this.chooseProtocol();
    const stream = transport.value.openStream(this.options.method(this.protocol.verb), {
      onSent: () => this.whileOpen(stream, (open) => this.onSent(open)),
      onMessage: (bytes) => this.whileOpen(stream, (open) => this.onMessage(open, bytes)),
      onClosed: (status) => this.whileOpen(stream, (open) => this.onClosed(open, status)),
    });
    const conversation = this.protocol.begin();
    this.setState({
      kind: 'open',
      stream,
      openedAtMs: this.options.clock.monotonicMs(),
      conversation,
      waits: this.createWaits(stream, inherited),
      nacks: this.createNackPacing(stream),
      backoff,
      inFlight: undefined,
      isConnected: false,
      sawResponse: false,
      hasClaimed: false,
      silence: undefined,
      readDue: true,
      readPause: undefined,
      readBreak: undefined,
    });
    for (const typeUrl of this.options.handler.typeUrls()) conversation.addType(typeUrl);
  }

  private chooseProtocol(): void {
    const { variant, handler } = this.options;
    if (variant.isDelta !== this.protocol.isDelta) this.protocol = variant.createProtocol(handler);
  }

  private createWaits(stream: XdsStream, inherited: Deadlines): ResourceWaits {
    const { clock, random, resourceTimeoutMs: timeoutMs, handler } = this.options;
    const onTimeout = (typeUrl: string, name: string) =>
      this.whileOpen(stream, () => handler.onResourceTimeout(typeUrl, name, this.hasAnswered));
    const onOverdue = (typeUrl: string, name: string) =>
      this.whileOpen(stream, (open) => this.askOnNewStream(open, typeUrl, name));
    return new ResourceWaits({ clock, random, timeoutMs, onTimeout, onOverdue }, inherited);
  }

  private createNackPacing(stream: XdsStream): NackPacing {
    const { clock, random } = this.options;
    const onRelease = (typeUrl: string) =>
      this.whileOpen(stream, ({ conversation }) => conversation.release(typeUrl));
    return new NackPacing({ clock, random, onRelease });
  }

  /**
   * Several control planes lose the question for a resource that is asked for in the course of a stream, and
   * none loses what a stream begins with. Everything unanswered is asked for there, so that one new stream does
   * for all of it.
   */
  private askOnNewStream(open: OpenState, typeUrl: string, name: string): void {
    const now = this.options.clock.monotonicMs();
    if (now < this.mayRenewAtMs) return;
    this.mayRenewAtMs = now + MIN_RENEWAL_INTERVAL_MS;
    this.options.handler.onOverdue(typeUrl, name);
    this.open(this.firstBackoff(), open.waits.deadlines());
  }

  /** Runs an event of a stream in the queue, unless the stream has been replaced by then. */
  private whileOpen(stream: XdsStream, task: (open: OpenState) => void): void {
    this.options.queue.run(() => {
      if (this.state.kind === 'open' && this.state.stream === stream) task(this.state);
    });
  }

  private sendNext(open: OpenState): void {
    if (open.inFlight !== undefined) return;
    open.inFlight = open.conversation.next();
    if (open.inFlight !== undefined) open.stream.send(open.inFlight.bytes);
  }

  /** Waiting begins now and not when the request was composed: until here there was no connection (A57). */
  private onSent(open: OpenState): void {
    const { inFlight } = open;
    open.inFlight = undefined;
    open.isConnected = true;
    if (inFlight === undefined) return;
    if (inFlight.claims) open.hasClaimed = true;
    this.listenToSilence(open);
    const { typeUrl, newNames, isFirst } = inFlight;
    // With the first request of a type the server has begun to listen; later ones it may miss.
    const mayBeLost = !isFirst && open.sawResponse;
    for (const name of newNames) {
      if (this.options.handler.isMissing(typeUrl, name)) open.waits.start(typeUrl, name, mayBeLost);
    }
  }

  private listenToSilence(open: OpenState): void {
    const { clock, handler } = this.options;
    if (open.silence !== undefined || open.sawResponse || !handler.isFailing()) return;
    const onSilence = (current: OpenState) => {
      if (this.isSilentConsent(current)) handler.onAlive();
    };
    open.silence = clock.setTimer(() => this.whileOpen(open.stream, onSilence), SILENT_CONSENT_MS);
  }

  private isSilentConsent({ hasClaimed, sawResponse, waits, openedAtMs }: OpenState): boolean {
    if (sawResponse || !hasClaimed || !waits.isEmpty) return false;
    return this.options.clock.monotonicMs() - openedAtMs >= SILENT_CONSENT_MS;
  }

  private onMessage(open: OpenState, bytes: Uint8Array): void {
    open.isConnected = true;
    open.readDue = true;
    const startedAtMs = this.options.clock.monotonicMs();
    const response = open.conversation.read(bytes);
    if (!response.ok) {
      // Not even the nonce can be read, so that it can only be answered by ending the stream.
      this.fail(response.error, open.sawResponse ? this.firstBackoff() : open.backoff);
      return;
    }
    open.sawResponse = true;
    this.hasAnswered = true;
    const { typeUrl, controlPlane = '' } = response.value;
    if (this.options.variant.onControlPlane(controlPlane)) {
      this.open(this.firstBackoff(), open.waits.deadlines());
      return;
    }
    if (!open.conversation.hasRequested(typeUrl)) {
      // An answer would be the first request of the type, and without names a subscription to everything.
      this.options.handler.onUnrequested(typeUrl);
      return;
    }
    const steps = this.options.handler.onResponse(response.value);
    const spentMs = this.options.clock.monotonicMs() - startedAtMs;
    this.readOn(open, { response: response.value, steps, spentMs });
  }

  /**
   * Reads a response, with breaks for other work if it is large. It is answered, and the next one may be read, when all
   * of it has been read. No wait ends by time before. With the stream, what has been read of it is dropped.
   */
  private readOn(open: OpenState, reading: Reading): void {
    const { clock } = this.options;
    const startedAtMs = clock.monotonicMs();
    open.readDue = true;
    open.readBreak = undefined;
    open.waits.pause();
    let step = reading.steps.next();
    while (step.done !== true && clock.monotonicMs() - startedAtMs < READ_SLICE_MS) {
      step = reading.steps.next();
    }
    reading.spentMs += clock.monotonicMs() - startedAtMs;
    if (step.done !== true) {
      open.readDue = false;
      const resume = () => this.whileOpen(open.stream, () => this.readOn(open, reading));
      open.readBreak = clock.setTimer(resume, READ_BREAK_MS);
      return;
    }
    if (step.value === undefined) this.acknowledge(open, reading.response);
    else this.reject(open, reading, step.value);
    open.waits.resume();
  }

  private acknowledge({ conversation, nacks }: OpenState, response: AdsResponse): void {
    nacks.release(response.typeUrl);
    conversation.release(response.typeUrl);
    conversation.answer(response, undefined);
  }

  private reject(open: OpenState, { response, spentMs }: Reading, rejection: string): void {
    const content = responseDigest(response);
    const { isHeld, readPauseMs } = open.nacks.reject(response.typeUrl, content, spentMs);
    open.conversation.answer(response, rejection, isHeld);
    if (readPauseMs > 0) this.pauseReading(open, readPauseMs);
  }

  /** Reads nothing for a while: what the server sends meanwhile waits in the connection, by flow control. */
  private pauseReading(open: OpenState, pauseMs: number): void {
    const resume = () =>
      this.whileOpen(open.stream, (current) => {
        current.readPause = undefined;
      });
    open.readPause = this.options.clock.setTimer(resume, pauseMs);
  }

  private onClosed(open: OpenState, status: StreamStatus): void {
    if (!open.sawResponse && !this.isSilentConsent(open)) {
      const lacksVariant = status.code === StatusCode.UNIMPLEMENTED && this.protocol.isDelta;
      if (lacksVariant && this.options.variant.onDeltaUnimplemented()) {
        this.open(open.backoff);
        return;
      }
      this.fail(describeStreamEnd(status), open.backoff);
      return;
    }
    const ageMs = this.options.clock.monotonicMs() - open.openedAtMs;
    if (ageMs < MIN_STREAM_INTERVAL_MS) {
      this.waitAndOpen(MIN_STREAM_INTERVAL_MS - ageMs, this.firstBackoff());
    } else {
      this.open(this.firstBackoff());
    }
  }

  private fail(reason: string, backoff: BackoffStep): void {
    this.hasAnswered = false;
    this.waitAndOpen(backoff.delayMs, backoff.next());
    this.options.handler.onFailure(reason, backoff.delayMs);
  }

  /** @param backoff How long to wait after the attempt that follows. */
  private waitAndOpen(delayMs: number, backoff: BackoffStep): void {
    const { clock, queue } = this.options;
    const waiting: BackoffState = {
      kind: 'backoff',
      retryAtMs: clock.monotonicMs() + delayMs,
      timer: clock.setTimer(() => {
        queue.run(() => {
          if (this.state === waiting) this.open(backoff);
        });
      }, delayMs),
    };
    this.setState(waiting);
  }

  private firstBackoff(): BackoffStep {
    return firstBackoffStep(connectionBackoff, this.options.random);
  }
}
