import { Server, ServerCredentials, type ServerDuplexStream } from '@grpc/grpc-js';
import { containedCallback } from '../../grpc-js/host-callbacks';
import { containedHandler, onCallEvent } from '../../grpc-js/server-callbacks';
import type { Clock } from '../../util/clock';
import { StatusCode } from '../../util/status-code';
import type { StreamStatus, XdsStream, XdsTransport } from '../client';
import { typeOf, withoutMetadata, UNREADABLE, type Frame } from './recording';
import { joinHostPort } from '../../util/text';

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
  private readonly server = new Server({ 'grpc.max_send_message_length': -1 });

  /** @param onStream Receives each stream, with the path of its method. */
  constructor(onStream: (method: string, call: RawCall) => void) {
    for (const [service, suffix] of services) {
      for (const name of [`Stream${suffix}`, `Delta${suffix}`]) {
        const path = `/envoy.service.${service}/${name}`;
        const codec = {
          ...{ requestSerialize: same, requestDeserialize: same },
          ...{ responseSerialize: same, responseDeserialize: same },
        };
        this.server.addService(
          { [name]: { path, requestStream: true, responseStream: true, ...codec } },
          { [name]: containedHandler(PLACE, (call: RawCall) => onStream(path, call)) },
        );
      }
    }
  }

  /** Starts to listen. @returns the port. @throws the system's error if the address cannot be used. */
  listen(host: string, port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.server.bindAsync(
        joinHostPort(host, port),
        ServerCredentials.createInsecure(),
        containedCallback(PLACE, (error: Error | null, bound: number) => {
          if (error === null) resolve(bound);
          else reject(error);
        }),
      );
    });
  }

  /** Ends all streams. */
  close(): void {
    this.server.forceShutdown();
  }
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
