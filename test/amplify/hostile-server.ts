import { Server, type ServerDuplexStream } from '@grpc/grpc-js';
import { GrpcListener } from '../../src/control-plane/grpc-listener';
import { joinHostPort } from '../../src/util/text';
import { DiscoveryRequest } from '../../src/wire/generated/envoy/service/discovery/v3/discovery';
import { encodeMessage } from '../resources/decode-json';
import {
  edsClusterJson,
  endpointsJson,
  listenerJson,
  routeConfigJson,
  routeToCluster,
} from '../support/xds-json';
import { message } from './wire';

type Stream = ServerDuplexStream<Buffer, Buffer>;

const ADS = '/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources';
const LRS = '/envoy.service.load_stats.v3.LoadReportingService/StreamLoadStats';
export const PREFIX = 'type.googleapis.com/';
/** How long a response may take to be answered, in milliseconds. */
const ANSWER_MS = 30_000;

const LOAD_STATS = 'envoy.service.load_stats.v3.LoadStatsResponse';
export const LISTENER = 'envoy.config.listener.v3.Listener';
export const ROUTES = 'envoy.config.route.v3.RouteConfiguration';
export const CLUSTER = 'envoy.config.cluster.v3.Cluster';
export const ENDPOINTS = 'envoy.config.endpoint.v3.ClusterLoadAssignment';

/** The names that the resources of a target have. */
const BAD: ReadonlyMap<string, string> = new Map([
  [LISTENER, 'bad'],
  [ROUTES, 'bad-routes'],
  [CLUSTER, 'bad'],
  [ENDPOINTS, 'bad'],
]);

/** What a client did with a response. */
export type Answer =
  | { readonly kind: 'accepted' }
  | { readonly kind: 'rejected'; readonly reason: string }
  | { readonly kind: 'stream ended' }
  | { readonly kind: 'no answer' };

/** A response that has not been answered yet. */
export interface Pending<Stream> {
  readonly typeName: string;
  readonly nonce: string;
  readonly stream: Stream | undefined;
  readonly settle: (answer: Answer) => void;
}

/** What a request says of the response before it. */
interface AnswerRequest<Stream> {
  readonly stream: Stream;
  readonly typeName: string;
  readonly responseNonce: string;
  readonly errorDetail: { readonly message: string } | undefined;
}

/**
 * Settles the pending response if a request answers it, or requests its type on a newer stream. Not before that: clients
 * ignore what is sent of a type that has not been requested on the stream, so what follows would never be answered.
 */
export function settlePending<Stream>(
  pending: Pending<Stream> | undefined,
  { stream, typeName, responseNonce, errorDetail }: AnswerRequest<Stream>,
): void {
  if (pending === undefined) return;
  const reason = errorDetail?.message;
  if (pending.stream === stream) {
    if (pending.nonce !== responseNonce) return;
    pending.settle(reason === undefined ? { kind: 'accepted' } : { kind: 'rejected', reason });
  } else if (pending.typeName === typeName) {
    pending.settle({ kind: 'stream ended' });
  }
}

/** A management server that serves any resource that is requested, and given bytes in place of one of them. */
export class HostileServer {
  private readonly server = new Server({ 'grpc.max_send_message_length': -1 });
  private stream: Stream | undefined;
  private reports: Stream | undefined;
  private names = new Map<string, readonly string[]>();
  private nonces = 0;
  private pending: Pending<Stream> | undefined;
  private listener: GrpcListener | undefined;

  constructor(private readonly backendPort: number) {
    const method = (path: string) => ({
      path,
      requestStream: true as const,
      responseStream: true as const,
      requestSerialize: (bytes: Buffer) => bytes,
      requestDeserialize: (bytes: Buffer) => bytes,
      responseSerialize: (bytes: Buffer) => bytes,
      responseDeserialize: (bytes: Buffer) => bytes,
    });
    this.server.addService(
      { ads: method(ADS), lrs: method(LRS) },
      {
        ads: (stream: Stream) => this.onStream(stream),
        lrs: (stream: Stream) => this.onReports(stream),
      },
    );
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

  /** Sends all requested resources of a type, some bytes in place of the one of the target `bad`. */
  send(typeName: string, bad?: Uint8Array): Promise<Answer> {
    const names = new Set([...(this.names.get(typeName) ?? []), BAD.get(typeName) ?? 'bad']);
    const resources = [...names].map((name) => {
      const isBad = bad !== undefined && name === BAD.get(typeName);
      const bytes = isBad
        ? Buffer.concat([bad, message(0x0a, Buffer.from(name))])
        : validResource(typeName, name, this.backendPort);
      return anyOf(typeName, bytes);
    });
    return this.sendEnvelope(
      typeName,
      resources.map((resource) => message(0x12, resource)),
    );
  }

  /** Sends the requested resources of a type in a response with more fields, encoded. */
  sendMore(typeName: string, fields: Uint8Array): Promise<Answer> {
    const names = this.names.get(typeName) ?? [];
    const resources = names.map((name) =>
      message(0x12, anyOf(typeName, validResource(typeName, name, this.backendPort))),
    );
    return this.sendEnvelope(typeName, [fields, ...resources]);
  }

  private sendEnvelope(typeName: string, fields: readonly Uint8Array[]): Promise<Answer> {
    const nonce = String(++this.nonces);
    const own = [message(0x0a, Buffer.from(nonce)), message(0x22, Buffer.from(PREFIX + typeName))];
    const response = Buffer.concat([...fields, ...own, message(0x2a, Buffer.from(nonce))]);
    return new Promise((resolve) => {
      const timer = setTimeout(() => settle({ kind: 'no answer' }), ANSWER_MS);
      const settle = (answer: Answer) => {
        clearTimeout(timer);
        this.pending = undefined;
        resolve(answer);
      };
      this.pending = { typeName, nonce, stream: this.stream, settle };
      this.stream?.write(response);
    });
  }

  /** Sends an LRS response. @returns whether there is a stream. */
  sendLoadStats(bytes: Uint8Array): boolean {
    this.reports?.write(Buffer.from(bytes));
    return this.reports !== undefined;
  }

  private onReports(stream: Stream): void {
    this.reports = stream;
    stream.on('data', () => undefined);
    stream.on('error', () => undefined);
    stream.on('end', () => stream.end());
    const order = { send_all_clusters: true, load_reporting_interval: '1s' };
    stream.write(Buffer.from(encodeMessage(LOAD_STATS, order)));
  }

  private onStream(stream: Stream): void {
    this.stream = stream;
    this.names = new Map();
    stream.on('data', (bytes: Buffer) => this.onRequest(stream, DiscoveryRequest.decode(bytes)));
    stream.on('error', () => undefined);
    stream.on('end', () => stream.end());
  }

  private onRequest(stream: Stream, request: DiscoveryRequest): void {
    if (stream !== this.stream) return;
    const { typeUrl, resourceNames, responseNonce, errorDetail } = request;
    const typeName = typeUrl.slice(PREFIX.length);
    const before = this.names.get(typeName)?.join();
    this.names.set(typeName, resourceNames);
    settlePending(this.pending, { stream, typeName, responseNonce, errorDetail });
    if (before === resourceNames.join() || resourceNames.length === 0) return;
    const nonce = String(++this.nonces);
    const fields = resourceNames.map((name) =>
      message(0x12, anyOf(typeName, validResource(typeName, name, this.backendPort))),
    );
    const own = [0x0a, 0x22, 0x2a].map((tag) =>
      message(tag, Buffer.from(tag === 0x22 ? typeUrl : nonce)),
    );
    stream.write(Buffer.concat([...fields, ...own]));
  }
}

/** Returns a valid resource of any name. */
export function validResource(typeName: string, name: string, backendPort: number): Uint8Array {
  switch (typeName) {
    case LISTENER:
      return encodeMessage(typeName, listenerJson(name, `${name}-routes`));
    case ROUTES: {
      const cluster = name.replace(/-routes$/, '');
      return encodeMessage(typeName, routeConfigJson(name, [routeToCluster(cluster)]));
    }
    case CLUSTER:
      return encodeMessage(typeName, edsClusterJson(name, { lrs_server: { self: {} } }));
    default:
      return encodeMessage(ENDPOINTS, endpointsJson(name, [{ zone: 'a', ports: [backendPort] }]));
  }
}

function anyOf(typeName: string, bytes: Uint8Array): Uint8Array {
  return Buffer.concat([message(0x0a, Buffer.from(PREFIX + typeName)), message(0x12, bytes)]);
}
