import { Server, type ServerDuplexStream, type status } from '@grpc/grpc-js';
import { GrpcListener } from '../../src/control-plane/grpc-listener';
import { joinHostPort } from '../../src/util/text';
import {
  DiscoveryRequest,
  DiscoveryResponse,
} from '../../src/wire/generated/envoy/service/discovery/v3/discovery';

type Call = ServerDuplexStream<DiscoveryRequest, Uint8Array>;

const path = '/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources';

/** How a scripted control plane behaves. */
export interface ScriptedControlPlaneOptions {
  /** Called for each stream as it opens. Default: it gets no answer until the test gives one. */
  readonly onStream?: (stream: ScriptedStream) => void;
}

/**
 * A management server that says what a test tells it to and otherwise nothing: real sockets and real
 * gRPC, but no opinion on the protocol.
 */
export class ScriptedControlPlane {
  /** Every stream there has been, oldest first. */
  readonly streams: ScriptedStream[] = [];
  private readonly streamQueue = new Queue<ScriptedStream>();
  private server: Server | undefined;
  private listener: GrpcListener | undefined;
  private connectionsBefore = 0;

  constructor(private readonly options: ScriptedControlPlaneOptions = {}) {}

  /** Listens on the loopback interface. @returns `host:port`. */
  async start(port = 0): Promise<string> {
    const server = new Server();
    server.addService(
      {
        StreamAggregatedResources: {
          path,
          requestStream: true,
          responseStream: true,
          requestSerialize: (request: DiscoveryRequest) =>
            Buffer.from(DiscoveryRequest.encode(request).finish()),
          requestDeserialize: (bytes: Buffer) => DiscoveryRequest.decode(bytes),
          responseSerialize: (bytes: Uint8Array) => Buffer.from(bytes),
          responseDeserialize: (bytes: Buffer) => bytes,
        },
      },
      { StreamAggregatedResources: (call: Call) => this.accept(call) },
    );
    this.server = server;
    this.listener = await GrpcListener.listen(server, { host: '127.0.0.1', port });
    return joinHostPort('127.0.0.1', this.listener.port);
  }

  /** How many connections there have been since this server was made. */
  get connections(): number {
    return this.connectionsBefore + (this.listener?.accepted ?? 0);
  }

  /** How many connections there are. */
  get openConnections(): number {
    return this.listener?.open ?? 0;
  }

  /** The oldest stream this has not returned yet, as soon as there is one. */
  nextStream(): Promise<ScriptedStream> {
    return this.streamQueue.next();
  }

  /** Drops all connections and stops listening. May be started again. */
  async stop(): Promise<void> {
    this.connectionsBefore = this.connections;
    this.listener?.destroy();
    this.listener = undefined;
    this.server?.forceShutdown();
    this.server = undefined;
  }

  private accept(call: Call): void {
    const stream = new ScriptedStream(call);
    this.streams.push(stream);
    this.streamQueue.push(stream);
    this.options.onStream?.(stream);
  }
}

/** One stream of a scripted control plane. */
export class ScriptedStream {
  /** Every request there has been, oldest first. */
  readonly requests: DiscoveryRequest[] = [];
  /** Fulfilled when the stream is over, whoever ended it. */
  readonly closed: Promise<void>;
  private readonly requestQueue = new Queue<DiscoveryRequest>();
  private isOpen = true;

  constructor(private readonly call: Call) {
    this.closed = new Promise((resolve) => {
      const close = () => {
        this.isOpen = false;
        resolve();
      };
      for (const event of ['cancelled', 'error', 'end', 'close']) call.on(event, close);
    });
    call.on('data', (request: DiscoveryRequest) => {
      this.requests.push(request);
      this.requestQueue.push(request);
    });
  }

  /** False once the stream is over. */
  get open(): boolean {
    return this.isOpen;
  }

  /** Sends a response; fields not given are empty. */
  send(response: Partial<DiscoveryResponse>): void {
    this.sendBytes(DiscoveryResponse.encode(DiscoveryResponse.fromPartial(response)).finish());
  }

  /** Sends any bytes where a response belongs. */
  sendBytes(bytes: Uint8Array): void {
    this.call.write(bytes);
  }

  /** Ends the stream with status OK. */
  end(): void {
    this.call.end();
  }

  /** Ends the stream with an error. */
  fail(code: status, details: string): void {
    this.call.emit('error', { code, details });
  }
}

class Queue<T> {
  private readonly items: T[] = [];
  private readonly waiting: ((item: T) => void)[] = [];

  push(item: T): void {
    const waiter = this.waiting.shift();
    if (waiter === undefined) this.items.push(item);
    else waiter(item);
  }

  next(): Promise<T> {
    const first = this.items.shift();
    if (first !== undefined) return Promise.resolve(first);
    return new Promise((resolve) => this.waiting.push(resolve));
  }
}
