import type { Node } from '../generated/envoy/config/core/v3/base';
import { DiscoveryRequest } from '../generated/envoy/service/discovery/v3/discovery';
import { assertNever } from '../util/assert-never';
import { connectionBackoff, firstBackoffStep, type BackoffStep } from '../util/backoff';
import type { Clock } from '../util/clock';
import type { Handle } from '../util/handle';
import type { Random } from '../util/random';
import type { Result } from '../util/result';
import type { SerialQueue } from '../util/serial-queue';
import { AdsRequests } from './ads-requests';
import type { AdsStreamHandler } from './ads-stream-handler';
import type { ServerSnapshot } from './client-snapshot';
import { ResourceTimers } from './resource-timers';
import type { StreamStatus, XdsStream, XdsTransport } from './transport';
import { describeStreamEnd } from './xds-errors';

/** What a stream is made of. */
export interface AdsStreamOptions {
  readonly handler: AdsStreamHandler;
  /** Gives the connection, making it if there is none. */
  readonly connect: () => Result<XdsTransport, string>;
  readonly node: Node;
  readonly queue: SerialQueue;
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
  readonly requests: AdsRequests;
  readonly timers: ResourceTimers;
  /** How long to wait if this stream, too, ends without a response. */
  readonly backoff: BackoffStep;
  /** The request given to the transport that has not been sent yet. */
  inFlight: { readonly typeUrl: string; readonly newNames: readonly string[] } | undefined;
  /** Something was sent or received, so there is a connection. */
  isConnected: boolean;
  sawResponse: boolean;
  /** The next response may be asked for once everybody has dealt with the last one. */
  readDue: boolean;
}

type AdsState = { readonly kind: 'idle' } | BackoffState | OpenState | { readonly kind: 'closed' };

/** The state of a stream as far as others may know it. */
export type AdsStreamSnapshot = Pick<ServerSnapshot, 'state' | 'retryInMs'> & {
  readonly sawResponse: boolean;
};

const ADS_METHOD =
  '/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources';

/**
 * A stream that answered is replaced at once (gRFC A57), but streams are opened at least this far apart: a
 * server that answers and closes would otherwise be asked again as fast as both sides can run.
 */
const MIN_STREAM_INTERVAL_MS = 1000;

/**
 * The state-of-the-world ADS stream to one server, and its replacement when it ends: what is asked for and
 * answered, flow control, backoff, and the timers of missing resources. Only `flush` sends and reads, and it
 * is called when everything a message set off has happened: that is what acknowledging means.
 */
export class AdsStream {
  private state: AdsState = { kind: 'idle' };
  /** The versions last accepted from this server. They outlive streams, nonces do not. */
  private readonly versions = new Map<string, string>();

  constructor(private readonly options: AdsStreamOptions) {}

  /** A name has been added to what is wanted. */
  addName(typeUrl: string): void {
    if (this.state.kind === 'open') this.state.requests.addName(typeUrl);
  }

  /** A name has been taken from what is wanted. */
  dropName(typeUrl: string, name: string): void {
    if (this.state.kind !== 'open') return;
    this.state.requests.dropName(typeUrl, name);
    this.state.timers.cancel(typeUrl, name);
  }

  /** A response had something to say about a resource, so that it need not be waited for. */
  settle(typeUrl: string, name: string): void {
    if (this.state.kind === 'open') this.state.timers.cancel(typeUrl, name);
  }

  /** Makes the next stream ask as if nothing had ever been received: what is cached is another server's. */
  forgetVersions(): void {
    this.versions.clear();
  }

  /** Opens a stream if one is wanted, sends what is due and asks for the next response. */
  flush(): void {
    if (this.state.kind === 'idle' && this.options.handler.typeUrls().length > 0) {
      this.open(this.firstBackoff());
    }
    if (this.state.kind !== 'open') return;
    this.sendNext(this.state);
    if (!this.state.readDue) return;
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
        return { state: state.kind, retryInMs: undefined, sawResponse: false };
      case 'backoff': {
        const retryInMs = Math.max(0, state.retryAtMs - this.options.clock.monotonicMs());
        return { state: 'backoff', retryInMs, sawResponse: false };
      }
      case 'open': {
        const { isConnected, sawResponse } = state;
        return { state: isConnected ? 'open' : 'connecting', retryInMs: undefined, sawResponse };
      }
      default:
        return assertNever(state);
    }
  }

  /** Milliseconds until a resource is concluded to be missing; `undefined` while nothing is timed. */
  remainingMs(typeUrl: string, name: string): number | undefined {
    return this.state.kind === 'open' ? this.state.timers.remainingMs(typeUrl, name) : undefined;
  }

  private setState(next: AdsState): void {
    const { state } = this;
    this.state = next;
    if (state.kind === 'backoff') state.timer.release();
    if (state.kind === 'open') {
      state.timers.clear();
      state.stream.close();
    }
  }

  private open(backoff: BackoffStep): void {
    const transport = this.options.connect();
    if (!transport.ok) {
      this.fail(`cannot be used: ${transport.error}`, backoff);
      return;
    }
    const stream = transport.value.openStream(ADS_METHOD, {
      onSent: () => this.whileOpen(stream, (open) => this.onSent(open)),
      onMessage: (bytes) => this.whileOpen(stream, (open) => this.onMessage(open, bytes)),
      onClosed: (status) => this.whileOpen(stream, (open) => this.onClosed(open, status)),
    });
    const requests = this.createRequests();
    this.setState({
      kind: 'open',
      stream,
      openedAtMs: this.options.clock.monotonicMs(),
      requests,
      timers: this.createTimers(stream),
      backoff,
      inFlight: undefined,
      isConnected: false,
      sawResponse: false,
      readDue: true,
    });
    this.askForEverything(requests);
  }

  private createRequests(): AdsRequests {
    const { handler, node } = this.options;
    const source = {
      names: (typeUrl: string) => handler.names(typeUrl),
      version: (typeUrl: string) => this.versions.get(typeUrl) ?? '',
    };
    return new AdsRequests(source, node);
  }

  private createTimers(stream: XdsStream): ResourceTimers {
    const { clock, resourceTimeoutMs, handler } = this.options;
    return new ResourceTimers(clock, resourceTimeoutMs, (typeUrl, name) =>
      this.whileOpen(stream, ({ sawResponse }) =>
        handler.onResourceTimeout(typeUrl, name, sawResponse),
      ),
    );
  }

  private askForEverything(requests: AdsRequests): void {
    const wanted = new Set(this.options.handler.typeUrls());
    // Of a type that nobody wants nothing is kept, so the server must not be told that we have it.
    for (const typeUrl of this.versions.keys()) {
      if (!wanted.has(typeUrl)) this.versions.delete(typeUrl);
    }
    for (const typeUrl of wanted) requests.addName(typeUrl);
  }

  /** Runs an event of a stream in the queue, unless the stream has been replaced by then. */
  private whileOpen(stream: XdsStream, task: (open: OpenState) => void): void {
    this.options.queue.run(() => {
      if (this.state.kind === 'open' && this.state.stream === stream) task(this.state);
    });
  }

  private sendNext(open: OpenState): void {
    if (open.inFlight !== undefined) return;
    const next = open.requests.next();
    if (next === undefined) return;
    open.inFlight = { typeUrl: next.request.typeUrl, newNames: next.newNames };
    open.stream.send(DiscoveryRequest.encode(next.request).finish());
  }

  /** Waiting begins now and not when the request was composed: until here there was no connection (A57). */
  private onSent(open: OpenState): void {
    const { inFlight } = open;
    open.inFlight = undefined;
    open.isConnected = true;
    if (inFlight === undefined) return;
    const { typeUrl, newNames } = inFlight;
    for (const name of newNames) {
      if (this.options.handler.isMissing(typeUrl, name)) open.timers.start(typeUrl, name);
    }
  }

  private onMessage(open: OpenState, bytes: Uint8Array): void {
    open.isConnected = true;
    open.readDue = true;
    const verdict = this.options.handler.onResponse(bytes);
    if (verdict.kind === 'unreadable') {
      this.fail(verdict.message, open.sawResponse ? this.firstBackoff() : open.backoff);
      return;
    }
    open.sawResponse = true;
    if (verdict.kind === 'accepted') this.versions.set(verdict.typeUrl, verdict.version);
    const rejection = verdict.kind === 'rejected' ? verdict.message : undefined;
    open.requests.answer(verdict.typeUrl, verdict.nonce, rejection);
  }

  private onClosed(open: OpenState, status: StreamStatus): void {
    if (!open.sawResponse) {
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
