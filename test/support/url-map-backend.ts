import {
  Metadata,
  Server,
  type MethodDefinition,
  type sendUnaryData,
  type ServerUnaryCall,
} from '@grpc/grpc-js';
import { bytesCodec } from './bytes-codec';
import { bind } from './listen';

/** The method of gRPC's xDS interop tests; the messages are opaque bytes. */
export const unaryMethod: MethodDefinition<Buffer, Buffer> = {
  path: '/grpc.testing.TestService/UnaryCall',
  requestStream: false,
  responseStream: false,
  ...bytesCodec,
};

/**
 * A real server that does what `rpc-behavior` says: `keep-open` leaves a call without an answer, `error-code-N` fails it. An
 * answer names the server in the header `hostname`, and in `time-left-ms` the time until the deadline when the call came in.
 */
export class UrlMapBackend {
  /** The number of attempts that have arrived. */
  calls = 0;
  port = 0;
  private readonly server = new Server();

  private constructor(readonly hostname: string) {}

  static async start(hostname: string): Promise<UrlMapBackend> {
    const backend = new UrlMapBackend(hostname);
    const call = backend.answer.bind(backend);
    backend.server.addService({ call: unaryMethod }, { call });
    backend.port = await bind(backend.server);
    return backend;
  }

  stop(): void {
    this.server.forceShutdown();
  }

  private answer(call: ServerUnaryCall<Buffer, Buffer>, callback: sendUnaryData<Buffer>): void {
    this.calls++;
    const [behavior] = call.metadata.get('rpc-behavior').map(String);
    if (behavior === 'keep-open') return;
    if (behavior !== undefined) {
      // Without headers before, for they would rule out a retry.
      const code = Number(behavior.replace('error-code-', ''));
      callback({ code, details: 'as rpc-behavior says' });
      return;
    }
    const headers = new Metadata();
    headers.set('hostname', this.hostname);
    headers.set('time-left-ms', String(Number(call.getDeadline()) - Date.now()));
    call.sendMetadata(headers);
    callback(null, Buffer.alloc(0));
  }
}
