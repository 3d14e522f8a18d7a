import {
  Metadata,
  Server,
  ServerCredentials,
  type MethodDefinition,
  type sendUnaryData,
  type ServerUnaryCall,
} from '@grpc/grpc-js';
import type { ConnectionRecord } from './recording-backend';

/** Hands connections on to a server. */
export type Injector = ReturnType<Server['createConnectionInjector']>;

const same = (buffer: Buffer) => buffer;
const method: MethodDefinition<Buffer, Buffer> = {
  // The one of gRPC's test service, which the clients of other implementations call.
  path: '/grpc.testing.TestService/UnaryCall',
  requestStream: false,
  responseStream: false,
  requestSerialize: same,
  requestDeserialize: same,
  responseSerialize: same,
  responseDeserialize: same,
};

export const METHOD_PATH = method.path;
/** In the header of this name, the answer has the number of the connection. */
export const CONNECTION_HEADER = 'x-connection';
/** What call credentials send. */
export const TOKEN = 'Bearer matrix-token-0123456789';

/** The gRPC server behind all backends. It answers every call, and records by which connection it came. */
export class EchoServer {
  private readonly server = new Server();
  private readonly records = new Map<number, ConnectionRecord>();
  private count = 0;
  private readonly numbers = new WeakMap<ConnectionRecord, number>();

  constructor() {
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

  /** @param port That of the client. */
  register(port: number, record: ConnectionRecord): void {
    this.records.set(port, record);
    this.numbers.set(record, this.count++);
  }

  forget(ports: Iterable<number>): void {
    for (const port of ports) this.records.delete(port);
  }

  stop(): void {
    this.server.forceShutdown();
  }

  /** @returns the number of the connection. */
  private record(call: ServerUnaryCall<Buffer, Buffer>): number {
    const record = this.records.get(Number(call.getPeer().split(':').at(-1)));
    if (record === undefined) throw new Error(`There is no connection from ${call.getPeer()}.`);
    record.calls++;
    record.hasToken ||= call.metadata.get('authorization').includes(TOKEN);
    return this.numbers.get(record) ?? -1;
  }
}
