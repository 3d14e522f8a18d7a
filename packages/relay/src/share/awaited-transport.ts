import type { Clock } from '../../../../src/util/clock';
import type { Handle } from '../../../../src/util/handle';
import type { Result } from '../../../../src/util/result';
import { StatusCode } from '../../../../src/util/status-code';
import type { StreamStatus, XdsStream, XdsStreamHandler, XdsTransport } from 'grpc-xds/internal';
import type { RelayState } from './relay-election';
import { afterRunning, type RunningClock } from '../../../../src/util/running-time';

/** How long after the end of a stream it can turn out that the relay has ended, in milliseconds. */
const NEWS_DELAY_MS = 200;

/** Constructor options of a transport. */
export interface AwaitedTransportOptions {
  /** The relay, as far as it is known. */
  readonly relay: {
    readonly state: RelayState;
    /** Watches the state until the handle is released. */
    watch(onChanged: () => void): Handle;
  };
  /** Connects to the relay that there is now. */
  readonly connect: () => Result<XdsTransport, string>;
  readonly clock: RunningClock & Pick<Clock, 'soon'>;
}

/**
 * A transport to a relay that moves from one process to another. A stream that is opened while the relay is looked for waits for it,
 * and fails when none can be used: the next one is opened when there is a relay. A stream whose relay has ended is replaced at
 * once, without a backoff. So there is nothing to be reset when another process takes over, and the management servers are not
 * used meanwhile.
 */
export class AwaitedTransport implements XdsTransport {
  private readonly streams = new Set<AwaitedStream>();
  private connection: { readonly state: RelayState; readonly transport: XdsTransport } | undefined;

  constructor(private readonly options: AwaitedTransportOptions) {}

  openStream(method: string, handler: XdsStreamHandler): XdsStream {
    const { relay, clock } = this.options;
    const stream: AwaitedStream = new AwaitedStream(handler, {
      relay,
      clock,
      connect: (state) => this.connect(state),
      method,
      onEnd: () => this.streams.delete(stream),
    });
    this.streams.add(stream);
    clock.soon(() => stream.proceed());
    return stream;
  }

  close(): void {
    for (const stream of this.streams) stream.close();
    this.connection?.transport.close();
  }

  /** Each relay has a connection of its own, which has no backoff of an earlier one. */
  private connect(state: RelayState): Result<XdsTransport, string> {
    if (this.connection?.state === state) return { ok: true, value: this.connection.transport };
    this.connection?.transport.close();
    this.connection = undefined;
    const made = this.options.connect();
    if (made.ok) this.connection = { state, transport: made.value };
    return made;
  }
}

/** Constructor options of a stream. */
interface AwaitedStreamOptions extends Pick<AwaitedTransportOptions, 'relay' | 'clock'> {
  readonly method: string;
  readonly connect: (state: RelayState) => Result<XdsTransport, string>;
  readonly onEnd: () => void;
}

type StreamState =
  /** There is no relay. */
  | { readonly kind: 'waiting' }
  | { readonly kind: 'open'; readonly relay: RelayState; readonly stream: XdsStream }
  /** The stream of the relay has ended, and perhaps the relay. */
  | { readonly kind: 'ending'; readonly relay: RelayState; readonly status: StreamStatus }
  | { readonly kind: 'closed' };

class AwaitedStream implements XdsStream {
  private state: StreamState = { kind: 'waiting' };
  private timer: Handle | undefined;
  private readonly watch: Handle;
  /** What was called while there was no relay. */
  private unsent: Uint8Array | undefined;
  private credits = 0;
  private isHalfClosed = false;

  constructor(
    private readonly handler: XdsStreamHandler,
    private readonly options: AwaitedStreamOptions,
  ) {
    this.watch = options.relay.watch(() => this.proceed());
  }

  send(bytes: Uint8Array): void {
    if (this.state.kind === 'open') this.state.stream.send(bytes);
    else this.unsent = bytes;
  }

  read(): void {
    if (this.state.kind === 'open') this.state.stream.read();
    else this.credits++;
  }

  halfClose(): void {
    if (this.state.kind === 'open') this.state.stream.halfClose();
    else this.isHalfClosed = true;
  }

  close(): void {
    const { state } = this;
    this.end();
    if (state.kind === 'open') state.stream.close();
  }

  /** Handles that the state of the relay may have changed. */
  proceed(): void {
    const { state } = this;
    const { state: relay } = this.options.relay;
    switch (state.kind) {
      case 'waiting':
        if (relay.kind === 'ready') this.open(relay);
        else if (relay.kind === 'unavailable') this.failWithout(relay.reason);
        return;
      case 'open':
        if (relay === state.relay) return;
        state.stream.close();
        this.fail({ code: StatusCode.UNAVAILABLE, details: 'the relay has ended' }, true);
        return;
      case 'ending':
        if (relay !== state.relay) this.fail(state.status, true);
        return;
      case 'closed':
    }
  }

  private failWithout(details: string): void {
    const retryWhen = (onReady: () => void) => whenReady(this.options.relay, onReady);
    this.fail({ code: StatusCode.UNAVAILABLE, details, retryWhen }, false);
  }

  private open(relay: RelayState): void {
    const connected = this.options.connect(relay);
    if (!connected.ok) {
      this.failWithout(connected.error);
      return;
    }
    const stream = connected.value.openStream(this.options.method, {
      onSent: () => this.handler.onSent(),
      onMessage: (bytes) => this.handler.onMessage(bytes),
      onClosed: (status) => this.onClosed(relay, status),
    });
    this.state = { kind: 'open', relay, stream };
    if (this.unsent !== undefined) stream.send(this.unsent);
    for (; this.credits > 0; this.credits--) stream.read();
    if (this.isHalfClosed) stream.halfClose();
  }

  /** The end of the relay may be noticed on its streams first. */
  private onClosed(relay: RelayState, status: StreamStatus): void {
    this.state = { kind: 'ending', relay, status };
    if (status.code !== StatusCode.UNAVAILABLE) {
      this.fail(status, false);
      return;
    }
    this.timer = afterRunning(this.options.clock, () => this.fail(status, false), NEWS_DELAY_MS);
    this.proceed();
  }

  private fail(status: StreamStatus, isSucceeded: boolean): void {
    if (this.state.kind === 'closed') return;
    this.end();
    this.handler.onClosed({ ...status, isSucceeded });
  }

  private end(): void {
    if (this.state.kind === 'closed') return;
    this.state = { kind: 'closed' };
    this.stopTimer();
    this.watch.release();
    this.options.onEnd();
  }

  private stopTimer(): void {
    this.timer?.release();
    this.timer = undefined;
  }
}

/** Notifies when there is another relay, until the handle is released. */
function whenReady(relay: AwaitedTransportOptions['relay'], onReady: () => void): Handle {
  return relay.watch(() => {
    if (relay.state.kind === 'ready') onReady();
  });
}
