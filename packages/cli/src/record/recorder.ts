import type { ServerDuplexStream } from '@grpc/grpc-js';
import {
  ServiceHost,
  type HostedService,
  containedCallback,
  containedHandler,
  onCallEvent,
} from 'grpc-xds/internal';
import type { Clock } from '../../../../src/util/clock';
import { ClosedConnections } from '../../../../src/util/closed-connections';
import { ConnectionAdmission } from '../../../../src/util/connection-admission';
import { StatusCode } from '../../../../src/util/status-code';
import type { StreamStatus, XdsStream, XdsTransport } from '../client';
import type { CliIo } from '../io';
import { typeOf, withoutMetadata, UNREADABLE, type Frame } from './recording';

/** A stream of a client, as bytes. */
export type RawCall = ServerDuplexStream<Buffer, Buffer>;

/** The discovery services, each with the suffix of its two methods. */
const services = [
  ['discovery.v3.AggregatedDiscoveryService', 'AggregatedResources'],
  ['listener.v3.ListenerDiscoveryService', 'Listeners'],
  ['route.v3.RouteDiscoveryService', 'Routes'],
  ['cluster.v3.ClusterDiscoveryService', 'Clusters'],
  ['endpoint.v3.EndpointDiscoveryService', 'Endpoints'],
] as const;

/** For exceptions. */
const PLACE = 'a recorded stream';

const same = (bytes: Buffer) => bytes;

/** A gRPC server of all discovery services that leaves the messages as they are. Without authentication. */
export class RawAdsServer {
  private readonly host: ServiceHost;

  /** @param onStream Receives each stream, with the path of its method. */
  constructor(
    io: Pick<CliIo, 'clock' | 'printError'>,
    onStream: (method: string, call: RawCall) => void,
  ) {
    const { clock } = io;
    const closed = new ClosedConnections(clock, { error: (text) => io.printError(text()) });
    this.host = new ServiceHost({
      name: 'recorder',
      clock,
      admission: new ConnectionAdmission(clock, closed),
      services: [{ methods: rawMethods(onStream), endStreams: () => {} }],
    });
  }

  /** Starts to listen. @returns the port. @throws the system's error if the address cannot be used. */
  listen(host: string, port: number): Promise<number> {
    return this.host.start({ host, port });
  }

  /** Ends all streams. */
  close(): void {
    this.host.kill();
  }
}

function rawMethods(onStream: (method: string, call: RawCall) => void): HostedService['methods'] {
  const codec = {
    requestSerialize: same,
    requestDeserialize: same,
    responseSerialize: same,
    responseDeserialize: same,
  };
  return services
    .flatMap(([service, suffix]) => [`${service}/Stream${suffix}`, `${service}/Delta${suffix}`])
    .map((method) => `/envoy.service.${method}`)
    .map((path) => ({
      addTo: (server) =>
        server.addService(
          { [path]: { path, requestStream: true, responseStream: true, ...codec } },
          { [path]: containedHandler(PLACE, (call: RawCall) => onStream(path, call)) },
        ),
    }));
}

/** Constructor options of a recorder. */
export interface RecorderOptions {
  readonly upstream: XdsTransport;
  readonly clock: Clock;
  readonly onFrame: (frame: Frame) => void;
  /** Called when the upstream server has ended a stream. */
  readonly onClosed: (stream: number, status: StreamStatus) => void;
}

/** Passes streams on to a management server, and records their messages. */
export class Recorder {
  private streams = 0;
  private readonly startMs: number;

  constructor(private readonly options: RecorderOptions) {
    this.startMs = options.clock.monotonicMs();
  }

  /** Passes a stream on. */
  accept(method: string, call: RawCall): void {
    const stream = ++this.streams;
    const { upstream, clock, onFrame, onClosed } = this.options;
    new RecordedStream(call, {
      open: (handler) => upstream.openStream(method, handler),
      record: (direction, bytes) => {
        const t = Math.round(clock.monotonicMs() - this.startMs);
        const type = typeOf({ direction, method, bytes });
        if (direction === 'request' && type === UNREADABLE) return false;
        const kept = direction === 'request' ? withoutMetadata(method, bytes) : bytes;
        onFrame({ t, stream, direction, method, type, bytes: kept });
        return true;
      },
      onClosed: (closed) => onClosed(stream, closed),
    });
  }
}

interface RecordedStreamOptions {
  readonly open: (handler: Parameters<XdsTransport['openStream']>[1]) => XdsStream;
  /** @returns false for a request that cannot be read: it may have metadata, which is not recorded. */
  readonly record: (direction: Frame['direction'], bytes: Buffer) => boolean;
  readonly onClosed: (status: StreamStatus) => void;
}

/** One stream of a client, and the stream to the upstream server that it is passed on to. */
class RecordedStream {
  private readonly upstream: XdsStream;
  private readonly pending: Buffer[] = [];
  private isSending = false;
  private isHalfClosed = false;

  constructor(
    private readonly call: RawCall,
    private readonly options: RecordedStreamOptions,
  ) {
    this.upstream = options.open({
      onSent: () => {
        this.isSending = false;
        this.pump();
      },
      onMessage: (bytes) => this.onResponse(Buffer.from(bytes)),
      onClosed: (closed) => this.onClosed(closed),
    });
    this.upstream.read();
    onCallEvent(PLACE, call, 'data', (bytes: Buffer) => this.onRequest(bytes));
    onCallEvent(PLACE, call, 'end', () => {
      this.isHalfClosed = true;
      this.pump();
    });
    onCallEvent(PLACE, call, 'cancelled', () => this.upstream.close());
    // The client has received the status already.
    onCallEvent(PLACE, call, 'error', () => {});
  }

  private onRequest(bytes: Buffer): void {
    if (!this.options.record('request', bytes)) {
      this.upstream.close();
      this.call.emit('error', {
        code: StatusCode.INVALID_ARGUMENT,
        details: 'no discovery request',
      });
      return;
    }
    this.pending.push(bytes);
    this.pump();
  }

  private onResponse(bytes: Buffer): void {
    this.options.record('response', bytes);
    // The next message is read when the client has room for it.
    this.call.write(
      bytes,
      containedCallback(PLACE, () => this.upstream.read()),
    );
  }

  private onClosed(closed: StreamStatus): void {
    this.options.onClosed(closed);
    const { code, details } = closed;
    if (code === StatusCode.OK) this.call.end();
    else this.call.emit('error', { code, details });
  }

  private pump(): void {
    if (this.isSending) return;
    const next = this.pending.shift();
    if (next !== undefined) {
      this.isSending = true;
      this.upstream.send(next);
    } else if (this.isHalfClosed) {
      this.upstream.halfClose();
    }
  }
}
