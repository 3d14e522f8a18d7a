import {
  Metadata,
  Server,
  ServerCredentials,
  type MethodDefinition,
  type sendUnaryData,
  type ServerUnaryCall,
} from '@grpc/grpc-js';
import type { ConnectionRecord } from './recording-backend';
import { bytesCodec } from '../support/bytes-codec';

/** Hands connections on to a server. */
export type Injector = ReturnType<Server['createConnectionInjector']>;

const method: MethodDefinition<Buffer, Buffer> = {
  // The one of gRPC's test service, which the clients of other implementations call.
  path: '/grpc.testing.TestService/UnaryCall',
  requestStream: false,
  responseStream: false,
  ...bytesCodec,
};

export const METHOD_PATH = method.path;
/** In the header of this name, the answer has the number of the connection. */
export const CONNECTION_HEADER = 'x-connection';
/** What call credentials send. */
export const TOKEN = 'Bearer matrix-token-0123456789';

/** The gRPC server of a backend. It answers every call, and records by which connection it came. */
export class EchoServer {
  private readonly server = new Server();

  /** @param recordOf Returns the connection from a port. */
  constructor(private readonly recordOf: (port: number) => ConnectionRecord | undefined) {
    const UnaryCall = (
      call: ServerUnaryCall<Buffer, Buffer>,
      callback: sendUnaryData<Buffer>,
    ): void => {
      const headers = new Metadata();
      headers.set(CONNECTION_HEADER, String(this.record(call)));
      call.sendMetadata(headers);
      callback(null, Buffer.alloc(0));
    };
    this.server.addService({ UnaryCall: method }, { UnaryCall });
  }

  createInjector(): Injector {
    return this.server.createConnectionInjector(ServerCredentials.createInsecure());
  }

  stop(): void {
    this.server.forceShutdown();
  }

  /** @returns the number of the connection. */
  private record(call: ServerUnaryCall<Buffer, Buffer>): number {
    const record = this.recordOf(Number(call.getPeer().split(':').at(-1)));
    if (record === undefined) throw new Error(`There is no connection from ${call.getPeer()}.`);
    record.calls++;
    record.hasToken ||= call.metadata.get('authorization').includes(TOKEN);
    return record.number;
  }
}
