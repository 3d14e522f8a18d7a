import type { Root } from 'protobufjs';
import { loadOfficial } from '../protos/official-schema';
import { OfficialClient, type OfficialClientOptions, type OfficialStream } from './official-client';

/** A response decoded with the official schema. */
export interface Response {
  readonly version_info: string;
  readonly type_url: string;
  readonly nonce: string;
  readonly control_plane: { readonly identifier: string } | null;
  readonly resources: readonly { readonly type_url: string; readonly value: Buffer }[];
  readonly resource_errors?: readonly unknown[];
}

/** A state-of-the-world client of the official schema; shares no code with the server under test. */
export class AdsClient {
  private readonly client: OfficialClient;

  constructor(address: string, options: OfficialClientOptions = {}) {
    this.client = new OfficialClient(address, options);
  }

  open(): AdsClientStream {
    const service = 'envoy.service.discovery.v3.AggregatedDiscoveryService';
    return new AdsClientStream(this.client.call(`${service}/StreamAggregatedResources`));
  }

  close(): void {
    this.client.close();
  }
}

/** A stream that queues responses until they are read. */
export class AdsClientStream {
  constructor(private readonly stream: OfficialStream<Response>) {}

  get received(): readonly Response[] {
    return this.stream.received;
  }

  get ended() {
    return this.stream.ended;
  }

  send(request: object): void {
    this.stream.send(request);
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
    return this.stream.next();
  }

  end(): void {
    this.stream.end();
  }

  cancel(): void {
    this.stream.cancel();
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
