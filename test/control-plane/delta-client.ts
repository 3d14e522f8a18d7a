import { OfficialClient, type OfficialStream } from './official-client';

/** An incremental response decoded with the official schema. */
export interface DeltaResponse {
  readonly system_version_info: string;
  readonly type_url: string;
  readonly nonce: string;
  readonly control_plane: { readonly identifier: string } | null;
  readonly removed_resources: readonly string[];
  readonly resources: readonly {
    readonly name: string;
    readonly version: string;
    readonly aliases: readonly string[];
    readonly resource: { readonly type_url: string; readonly value: Buffer } | null;
    readonly ttl: { readonly seconds: string; readonly nanos: number } | null;
  }[];
}

/** The fields of an incremental request. */
export interface DeltaRequestFields {
  readonly node?: object;
  readonly sub?: readonly string[];
  readonly unsub?: readonly string[];
  readonly have?: Readonly<Record<string, string>>;
}

/** An incremental client of the official schema; shares no code with the server under test. */
export class DeltaClient {
  private readonly client: OfficialClient;

  constructor(address: string) {
    this.client = new OfficialClient(address);
  }

  open(
    path = 'envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources',
  ): DeltaClientStream {
    return new DeltaClientStream(this.client.call(path));
  }

  close(): void {
    this.client.close();
  }
}

/** A stream that queues responses until they are read. */
export class DeltaClientStream {
  constructor(private readonly stream: OfficialStream<DeltaResponse>) {}

  get received(): readonly DeltaResponse[] {
    return this.stream.received;
  }

  get ended() {
    return this.stream.ended;
  }

  send(type_url: string, { node, sub = [], unsub = [], have = {} }: DeltaRequestFields): void {
    this.stream.send({
      node,
      type_url,
      resource_names_subscribe: sub,
      resource_names_unsubscribe: unsub,
      initial_resource_versions: have,
    });
  }

  ack({ type_url, nonce }: DeltaResponse): void {
    this.stream.send({ type_url, response_nonce: nonce });
  }

  nack({ type_url, nonce }: DeltaResponse, message: string): void {
    this.stream.send({ type_url, response_nonce: nonce, error_detail: { code: 3, message } });
  }

  next(): Promise<DeltaResponse> {
    return this.stream.next();
  }

  cancel(): void {
    this.stream.cancel();
  }
}
