import type { Clock } from '../util/clock';
import { StatusCode } from '../util/status-code';
import type {
  StreamStatus,
  XdsStream,
  XdsStreamHandler,
  XdsTransport,
} from '../xds-client/transport';

/** State of the world, of all types or of one. */
const SERVED = /\/Stream(AggregatedResources|Listeners|Routes|Clusters|Endpoints)$/;

/** What a stream is opened with. */
export interface ServedStreamOptions {
  readonly handler: XdsStreamHandler;
  readonly clock: Pick<Clock, 'soon' | 'setTimer'>;
  /** Called when the stream has ended, from either side. */
  onEnd(): void;
}

/** A connection whose streams are served in this process, in place of a gRPC server. */
export abstract class ServedTransport<S extends ServedStream> implements XdsTransport {
  protected readonly streams = new Set<S>();

  constructor(private readonly clock: ServedStreamOptions['clock']) {}

  protected abstract createStream(options: ServedStreamOptions): S;
  /** Describes that a method is not served. */
  protected abstract describeUnserved(method: string): string;
  /** Handles that a stream was opened. */
  protected onOpened(_stream: S): void {}

  openStream(method: string, handler: XdsStreamHandler): XdsStream {
    const { clock } = this;
    const onEnd = () => this.streams.delete(stream);
    const stream: S = this.createStream({ handler, clock, onEnd });
    this.streams.add(stream);
    if (SERVED.test(method)) this.onOpened(stream);
    else stream.fail({ code: StatusCode.UNIMPLEMENTED, details: this.describeUnserved(method) });
    return stream;
  }

  close(): void {
    for (const stream of this.streams) stream.close();
  }
}

/** The server's side of a state-of-the-world stream. Its handler is never called from within a call of its methods. */
export abstract class ServedStream implements XdsStream {
  protected readonly handler: XdsStreamHandler;
  protected readonly clock: ServedStreamOptions['clock'];
  /** Calls of `read` that have not been answered with a message. */
  protected credits = 0;
  protected isOpen = true;

  constructor(private readonly options: ServedStreamOptions) {
    this.handler = options.handler;
    this.clock = options.clock;
  }

  abstract send(bytes: Uint8Array): void;
  /** Calls the handler with the messages that are ready and may be sent. */
  protected abstract deliver(): void;

  read(): void {
    this.credits++;
    this.deliverLater();
  }

  /** See `XdsStream`. Responses are not sent after it. */
  halfClose(): void {
    this.fail({ code: StatusCode.OK, details: '' });
  }

  close(): void {
    if (this.isOpen) this.end();
  }

  /** Ends the stream as a server would. */
  fail(status: StreamStatus): void {
    this.later(() => {
      this.end();
      this.handler.onClosed(status);
    });
  }

  deliverLater(): void {
    this.later(() => this.deliver());
  }

  protected later(task: () => void): void {
    this.clock.soon(() => {
      if (this.isOpen) task();
    });
  }

  protected end(): void {
    this.isOpen = false;
    this.options.onEnd();
  }
}
