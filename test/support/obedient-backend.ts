import {
  Client,
  credentials,
  Metadata,
  Server,
  status,
  type ChannelOptions,
  type sendUnaryData,
  type ServerUnaryCall,
  type ServiceError,
} from '@grpc/grpc-js';
import { OrcaLoadReport } from '../../src/wire/generated/xds/data/orca/v3/orca_load_report';
import { echoMethod } from './echo-backend';
import { bind } from './listen';

/** What a call asks for: to be answered, to fail, or to be kept waiting until it is let go. */
export type Request = 'ok' | 'fail' | 'hold';

/** How a call ended. */
export interface Outcome {
  readonly code: status;
  readonly details: string;
}

/** A call under way. */
export interface RunningCall {
  readonly outcome: Promise<Outcome>;
  cancel(): void;
}

/** A real server that does what a call asks it to, and reports its load with every answer. */
export class ObedientBackend {
  /** Calls that came. */
  calls = 0;
  /** Calls that are kept waiting. */
  readonly held: (() => void)[] = [];
  private constructor(
    private readonly server: Server,
    readonly port: number,
  ) {}

  /** @param load Reported with every answer and every failure. */
  static async start(load: Partial<OrcaLoadReport> = {}): Promise<ObedientBackend> {
    const server = new Server();
    const bytes = Buffer.from(OrcaLoadReport.encode(OrcaLoadReport.create(load)).finish());
    const trailers = new Metadata();
    trailers.set('endpoint-load-metrics-bin', bytes);
    server.addService(
      { say: echoMethod },
      {
        say: (call: ServerUnaryCall<Buffer, Buffer>, callback: sendUnaryData<Buffer>) =>
          backend.serve(call, callback, trailers),
      },
    );
    const port = await bind(server);
    const backend = new ObedientBackend(server, port);
    return backend;
  }

  /** Answers the calls that are kept waiting. */
  letGo(): void {
    for (const answer of this.held.splice(0)) answer();
  }

  stop(): void {
    this.server.forceShutdown();
  }

  private serve(
    call: ServerUnaryCall<Buffer, Buffer>,
    callback: sendUnaryData<Buffer>,
    trailers: Metadata,
  ): void {
    this.calls++;
    const answer = () => callback(null, Buffer.from(''), trailers);
    const request = String(call.request);
    if (request === 'hold') this.held.push(answer);
    else if (request === 'ok') answer();
    else callback({ code: status.ABORTED, details: 'as wanted', metadata: trailers });
  }
}

/** A client of such servers. */
export class ObedientClient {
  private readonly client: Client;

  constructor(target: string, options: ChannelOptions = {}) {
    this.client = new Client(target, credentials.createInsecure(), options);
  }

  /** @param headers Sent with the call. */
  call(request: Request, headers: Readonly<Record<string, string>> = {}): RunningCall {
    const same = (buffer: Buffer) => buffer;
    const metadata = new Metadata();
    for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
    let cancel = () => {};
    const outcome = new Promise<Outcome>((resolve) => {
      const call = this.client.makeUnaryRequest(
        echoMethod.path,
        same,
        same,
        Buffer.from(request),
        metadata,
        { deadline: Date.now() + 120_000 },
        (error: ServiceError | null) => resolve(error ?? { code: status.OK, details: '' }),
      );
      cancel = () => call.cancel();
    });
    return { outcome, cancel };
  }

  /** Makes calls at once and waits for them all. */
  async calls(
    count: number,
    request: Request,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<readonly Outcome[]> {
    const running = Array.from({ length: count }, () => this.call(request, headers).outcome);
    return Promise.all(running);
  }

  close(): void {
    this.client.close();
  }
}
