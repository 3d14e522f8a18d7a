import {
  credentials,
  loadPackageDefinition,
  Metadata,
  status,
  type ChannelCredentials,
  type ClientDuplexStream,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { join } from 'node:path';

const deps = join(__dirname, '..', '..', 'node_modules', '@grpc', 'grpc-js-xds', 'deps');

const loaded = loadPackageDefinition(
  loadSync(
    [
      'envoy/service/discovery/v3/ads.proto',
      'envoy/service/listener/v3/lds.proto',
      'envoy/service/route/v3/rds.proto',
      'envoy/service/cluster/v3/cds.proto',
      'envoy/service/endpoint/v3/eds.proto',
      'envoy/service/secret/v3/sds.proto',
      'envoy/service/load_stats/v3/lrs.proto',
    ],
    {
      includeDirs: ['envoy-api', 'xds', 'googleapis', 'protoc-gen-validate'].map((dir) =>
        join(deps, dir),
      ),
      keepCase: true,
      defaults: true,
      longs: String,
      enums: String,
    },
  ),
);

function dig(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined;
}

/** The status of an ended stream. */
export interface StreamEnd {
  readonly code: number;
  readonly details: string;
}

/** The options of a client. */
export interface OfficialClientOptions {
  /** Default: insecure. */
  readonly channelCredentials?: ChannelCredentials;
  /** Whether it shares no connection with others. Default: false. */
  readonly isApart?: boolean;
  /** Sent with each call. */
  readonly headers?: Readonly<Record<string, string | Buffer>>;
}

/** A client of the official schema, loaded by proto-loader; shares no code with the server under test. */
export class OfficialClient {
  private readonly clients: { close(): void }[] = [];

  constructor(
    private readonly address: string,
    private readonly options: OfficialClientOptions = {},
  ) {}

  /** Opens a bidirectional stream of a method such as `envoy.service.x.v3.Service/Method`. */
  call<Response>(path: string): OfficialStream<Response> {
    const [service = '', method = ''] = path.split('/');
    const Service = service.split('.').reduce<unknown>(dig, loaded);
    if (typeof Service !== 'function') throw new Error(`no service ${service}`);
    const { channelCredentials = credentials.createInsecure(), headers = {} } = this.options;
    const args = { 'grpc.use_local_subchannel_pool': this.options.isApart === true ? 1 : 0 };
    const client = Reflect.construct(Service, [this.address, channelCredentials, args]);
    this.clients.push(client);
    const metadata = new Metadata();
    for (const [key, value] of Object.entries(headers)) metadata.set(key, value);
    return new OfficialStream(client[method](metadata));
  }

  close(): void {
    for (const client of this.clients) client.close();
  }
}

/** A read that no response has arrived for yet. */
interface Waiter<Response> {
  resolve(response: Response): void;
  reject(error: Error): void;
}

/** A stream that queues responses until they are read. */
export class OfficialStream<Response> {
  readonly received: Response[] = [];
  private readonly waiting: Waiter<Response>[] = [];
  /** Why there are no more responses; `undefined` while the stream is open. */
  private failure: Error | undefined;
  readonly ended: Promise<StreamEnd>;

  constructor(private readonly call: ClientDuplexStream<object, Response>) {
    this.ended = new Promise((resolve) => {
      call.on('status', ({ code, details }: StreamEnd) => {
        this.rejectWaiters(new Error(`the stream has ended: ${status[code]}: ${details}`));
        resolve({ code, details });
      });
    });
    call.on('error', () => {});
    call.on('data', (response: Response) => {
      const waiter = this.waiting.shift();
      if (waiter === undefined) this.received.push(response);
      else waiter.resolve(response);
    });
  }

  send(request: object): void {
    this.call.write(request);
  }

  /** Resolves to the next response. Rejects with the status of the stream if it ends before. */
  next(): Promise<Response> {
    const first = this.received.shift();
    if (first !== undefined) return Promise.resolve(first);
    if (this.failure !== undefined) return Promise.reject(this.failure);
    return new Promise((resolve, reject) => this.waiting.push({ resolve, reject }));
  }

  end(): void {
    this.call.end();
  }

  cancel(): void {
    this.call.cancel();
  }

  private rejectWaiters(failure: Error): void {
    this.failure = failure;
    for (const waiter of this.waiting.splice(0)) waiter.reject(failure);
  }
}
