import {
  Server,
  status,
  type Metadata,
  type sendUnaryData,
  type ServerUnaryCall,
} from '@grpc/grpc-js';
import { echoMethod } from './echo-backend';
import { bind } from './listen';

/** A real server that keeps the headers of every call, and fails as many of them as are to fail. */
export class HeadersBackend {
  readonly headers: Metadata[] = [];
  /** The number of calls to fail with UNAVAILABLE. */
  failures = 0;
  private readonly server = new Server();

  private constructor(public port: number) {}

  static async start(): Promise<HeadersBackend> {
    const backend = new HeadersBackend(0);
    backend.server.addService(
      { say: echoMethod },
      {
        say: (call: ServerUnaryCall<Buffer, Buffer>, callback: sendUnaryData<Buffer>) =>
          backend.serve(call.metadata, callback),
      },
    );
    backend.port = await bind(backend.server);
    return backend;
  }

  stop(): void {
    this.server.forceShutdown();
  }

  private serve(headers: Metadata, callback: sendUnaryData<Buffer>): void {
    this.headers.push(headers);
    if (this.failures-- > 0) callback({ code: status.UNAVAILABLE, details: 'try again' });
    else callback(null, Buffer.from('answer'));
  }
}
