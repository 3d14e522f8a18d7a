import {
  credentials,
  loadPackageDefinition,
  Metadata,
  type ClientDuplexStream,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { join } from 'node:path';
import type { Root } from 'protobufjs';
import { loadOfficial } from '../protos/official-schema';

const deps = join(__dirname, '..', '..', 'node_modules', '@grpc', 'grpc-js-xds', 'deps');

/** A response as the official schema reads it. */
export interface Response {
  readonly version_info: string;
  readonly type_url: string;
  readonly nonce: string;
  readonly control_plane: { readonly identifier: string } | null;
  readonly resources: readonly { readonly type_url: string; readonly value: Buffer }[];
}

/** How a stream ended. */
export interface StreamEnd {
  readonly code: number;
  readonly details: string;
}

type Call = ClientDuplexStream<object, Response>;
type OpenCall = (metadata: Metadata) => Call;

const loaded = loadPackageDefinition(
  loadSync('envoy/service/discovery/v3/ads.proto', {
    includeDirs: ['envoy-api', 'xds', 'googleapis', 'protoc-gen-validate'].map((dir) =>
      join(deps, dir),
    ),
    keepCase: true,
    defaults: true,
    longs: String,
    enums: String,
  }),
);

function dig(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined;
}

/** A client of the official schema by proto-loader: it shares no code with the server under test. */
export class AdsClient {
  private readonly client: { close(): void };
  private readonly openCall: OpenCall;

  constructor(address: string) {
    const path = ['envoy', 'service', 'discovery', 'v3', 'AggregatedDiscoveryService'];
    const Service = path.reduce<unknown>(dig, loaded);
    if (typeof Service !== 'function') throw new Error('no such service');
    const client = Reflect.construct(Service, [address, credentials.createInsecure()]);
    this.client = client;
    this.openCall = (metadata) => client.StreamAggregatedResources(metadata);
  }

  open(): AdsClientStream {
    return new AdsClientStream(this.openCall(new Metadata()));
  }

  close(): void {
    this.client.close();
  }
}

/** One stream. Keeps what the server sends until it is asked for. */
export class AdsClientStream {
  readonly received: Response[] = [];
  private readonly waiting: ((response: Response) => void)[] = [];
  readonly ended: Promise<StreamEnd>;

  constructor(private readonly call: Call) {
    this.ended = new Promise((resolve) => {
      call.on('status', ({ code, details }: StreamEnd) => resolve({ code, details }));
    });
    call.on('error', () => {});
    call.on('data', (response: Response) => {
      const waiter = this.waiting.shift();
      if (waiter === undefined) this.received.push(response);
      else waiter(response);
    });
  }

  send(request: object): void {
    this.call.write(request);
  }

  subscribe(typeUrl: string, names: readonly string[], more: object = {}): void {
    this.send({ type_url: typeUrl, resource_names: names, ...more });
  }

  ack(response: Response, names: readonly string[]): void {
    const { type_url, version_info, nonce } = response;
    this.send({ type_url, version_info, response_nonce: nonce, resource_names: names });
  }

  nack(response: Response, names: readonly string[], message: string, version = ''): void {
    const { type_url, nonce } = response;
    const error_detail = { code: 3, message };
    const names_ = { resource_names: names };
    this.send({ type_url, version_info: version, response_nonce: nonce, error_detail, ...names_ });
  }

  next(): Promise<Response> {
    const first = this.received.shift();
    if (first !== undefined) return Promise.resolve(first);
    return new Promise((resolve) => this.waiting.push(resolve));
  }

  end(): void {
    this.call.end();
  }

  cancel(): void {
    this.call.cancel();
  }
}

let official: Root | undefined;

/** Decodes a message with the official schema, as plain JSON with proto field names. */
export function decodeOfficial(typeUrl: string, value: Uint8Array): unknown {
  official ??= loadOfficial([
    'envoy/service/discovery/v3/discovery.proto',
    'envoy/config/listener/v3/listener.proto',
    'envoy/config/route/v3/route.proto',
    'envoy/config/cluster/v3/cluster.proto',
    'envoy/config/endpoint/v3/endpoint.proto',
  ]);
  const type = official.lookupType(typeUrl.slice(typeUrl.lastIndexOf('/') + 1));
  return type.toObject(type.decode(value), { longs: String, enums: String });
}
