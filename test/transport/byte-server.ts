import { Server, ServerCredentials, type ServerDuplexStream } from '@grpc/grpc-js';

type Call = ServerDuplexStream<string, string>;

export const METHOD = '/test.Bytes/Exchange';

const encode = (text: string) => Buffer.from(text);
const decode = (bytes: Buffer) => bytes.toString();
const service = {
  exchange: {
    path: METHOD,
    requestStream: true,
    responseStream: true,
    requestSerialize: encode,
    requestDeserialize: decode,
    responseSerialize: encode,
    responseDeserialize: decode,
  },
} as const;

/** A gRPC server with one method, whose messages are any text. */
export class ByteServer {
  private server = this.build();

  /** @param address Where to listen; with port 0, on any port, which is `address` from then on. */
  constructor(
    private readonly onCall: (call: Call) => void,
    public address = 'localhost:0',
    private readonly credentials = ServerCredentials.createInsecure(),
  ) {}

  async start(): Promise<this> {
    const port = await new Promise<number>((resolve, reject) => {
      this.server.bindAsync(this.address, this.credentials, (error, bound) =>
        error === null ? resolve(bound) : reject(error),
      );
    });
    this.address = this.address.replace(/:0$/, `:${port}`);
    return this;
  }

  /** Cuts all connections and stops listening. `start` may follow. */
  stop(): void {
    this.server.forceShutdown();
    this.server = this.build();
  }

  private build(): Server {
    const server = new Server({ 'grpc.max_receive_message_length': -1 });
    server.addService(service, { exchange: (call: Call) => this.onCall(call) });
    return server;
  }
}
