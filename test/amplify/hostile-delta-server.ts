import { Server, type ServerDuplexStream } from '@grpc/grpc-js';
import { GrpcListener } from '../../src/control-plane/grpc-listener';
import { joinHostPort } from '../../src/util/text';
import {
  DeltaDiscoveryRequest,
  DeltaDiscoveryResponse,
} from '../../src/wire/generated/envoy/service/discovery/v3/discovery';
import { PREFIX, settlePending, validResource, type Answer, type Pending } from './hostile-server';
import { bytesCodec } from '../support/bytes-codec';

type Stream = ServerDuplexStream<Buffer, Buffer>;

const METHOD = '/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources';
const NOTHING = new Uint8Array(0);
/** How long a response may take to be answered, in milliseconds. */
const ANSWER_MS = 30_000;

/** A management server of the incremental variant that serves any resource that is requested. */
export class HostileDeltaServer {
  private readonly server = new Server({ 'grpc.max_send_message_length': -1 });
  private stream: Stream | undefined;
  private nonces = 0;
  private pending: Pending<Stream> | undefined;
  private listener: GrpcListener | undefined;

  constructor(private readonly backendPort: number) {
    const delta = {
      path: METHOD,
      requestStream: true as const,
      responseStream: true as const,
      ...bytesCodec,
    };
    this.server.addService({ delta }, { delta: (stream: Stream) => this.onStream(stream) });
  }

  /** Listens on the loopback interface. @returns `host:port`. */
  async start(): Promise<string> {
    this.listener = await GrpcListener.listen(this.server, { host: '127.0.0.1', port: 0 });
    return joinHostPort('127.0.0.1', this.listener.port);
  }

  stop(): void {
    this.listener?.destroy();
    this.server.forceShutdown();
  }

  /** Sends a response without resources of its own, with more fields, encoded. */
  sendMore(typeName: string, fields: Uint8Array): Promise<Answer> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => settle({ kind: 'no answer' }), ANSWER_MS);
      const settle = (answer: Answer) => {
        clearTimeout(timer);
        this.pending = undefined;
        resolve(answer);
      };
      const nonce = this.write(typeName, [], fields);
      this.pending = { typeName, nonce, stream: this.stream, settle };
    });
  }

  private onStream(stream: Stream): void {
    this.stream = stream;
    stream.on('data', (bytes: Buffer) => this.onRequest(stream, bytes));
    stream.on('error', () => undefined);
    stream.on('end', () => stream.end());
  }

  private onRequest(stream: Stream, bytes: Buffer): void {
    if (stream !== this.stream) return;
    const request = DeltaDiscoveryRequest.decode(bytes);
    const { responseNonce, errorDetail, typeUrl, resourceNamesSubscribe } = request;
    const typeName = typeUrl.slice(PREFIX.length);
    settlePending(this.pending, { stream, typeName, responseNonce, errorDetail });
    if (resourceNamesSubscribe.length > 0) this.write(typeName, resourceNamesSubscribe, NOTHING);
  }

  /** @returns the nonce. */
  private write(typeName: string, names: readonly string[], fields: Uint8Array): string {
    const nonce = String(++this.nonces);
    const typeUrl = PREFIX + typeName;
    const resources = names.map((name) => ({
      name,
      version: nonce,
      resource: { typeUrl, value: validResource(typeName, name, this.backendPort) },
    }));
    const own = DeltaDiscoveryResponse.create({ typeUrl, nonce, resources });
    this.stream?.write(Buffer.concat([fields, DeltaDiscoveryResponse.encode(own).finish()]));
    return nonce;
  }
}
