import {
  Client,
  credentials,
  Metadata,
  Server,
  ServerCredentials,
  status,
  type CallOptions,
  type ChannelOptions,
  type MethodDefinition,
  type ServiceError,
} from '@grpc/grpc-js';
import { bind } from './listen';
import { bytesCodec } from './bytes-codec';

const same = (buffer: Buffer) => buffer;

/** The one method of the test service. The answer is the backend's name. */
export const echoMethod: MethodDefinition<Buffer, Buffer> = {
  path: '/test.Echo/Say',
  requestStream: false,
  responseStream: false,
  ...bytesCodec,
};

/** A real server that says who it is and counts who came. */
export class EchoBackend {
  port = 0;
  calls = 0;
  /** Distinct client addresses seen: one per connection. */
  readonly peers = new Set<string>();
  /** The `:authority` and the headers of the last call. */
  authority = '';
  metadata = new Metadata();
  /** How many of the next calls fail with UNAVAILABLE. */
  refusals = 0;
  /** Called with the headers of each call. The answer waits for its promise. */
  onCall: (metadata: Metadata) => void | Promise<void> = () => {};
  private server: Server | undefined;

  constructor(
    readonly name: string,
    private readonly credentials = ServerCredentials.createInsecure(),
  ) {}

  static async start(name: string, credentials?: ServerCredentials): Promise<EchoBackend> {
    const backend = new EchoBackend(name, credentials);
    await backend.listen();
    return backend;
  }

  async listen(): Promise<void> {
    const server = new Server();
    server.addService(
      { say: echoMethod },
      {
        say: (
          call: { readonly metadata: Metadata; getPeer(): string; getHost(): string },
          callback: (error: { code: status } | null, answer?: Buffer) => void,
        ): void => {
          this.calls++;
          this.peers.add(call.getPeer());
          this.authority = call.getHost();
          this.metadata = call.metadata;
          if (this.refusals > 0) {
            this.refusals--;
            callback({ code: status.UNAVAILABLE });
            return;
          }
          const answer = () => callback(null, Buffer.from(this.name));
          const waiting = this.onCall(call.metadata);
          if (waiting === undefined) answer();
          else void waiting.then(answer);
        },
      },
    );
    this.port = await bind(server, this.credentials, `127.0.0.1:${this.port}`);
    this.server = server;
  }

  /** Lets running calls finish, then closes. */
  drain(): Promise<void> {
    return new Promise((resolve) => {
      if (this.server === undefined) resolve();
      else this.server.tryShutdown(() => resolve());
    });
  }

  stop(): void {
    this.server?.forceShutdown();
    this.server = undefined;
  }
}

/** The settings of one call: a deadline from now on, headers, and those of grpc-js, such as `host`. */
interface SayOptions extends Pick<CallOptions, 'credentials' | 'host'> {
  readonly deadlineMs?: number;
  readonly metadata?: Metadata;
}

/** A client of the test service. */
export class EchoClient {
  private readonly client: Client;

  constructor(
    target: string,
    options: ChannelOptions = {},
    channelCredentials = credentials.createInsecure(),
  ) {
    this.client = new Client(target, channelCredentials, options);
  }

  /** @returns who answered. Rejects with the `ServiceError` of a failed call. */
  say(options: SayOptions = {}): Promise<string> {
    const { deadlineMs = 25_000, metadata = new Metadata(), ...callOptions } = options;
    return new Promise((resolve, reject) => {
      this.client.makeUnaryRequest(
        echoMethod.path,
        same,
        same,
        Buffer.from('hello'),
        metadata,
        { ...callOptions, deadline: Date.now() + deadlineMs },
        (error: ServiceError | null, answer?: Buffer) =>
          error === null ? resolve(String(answer)) : reject(error),
      );
    });
  }

  /** The error of a call that must fail. */
  async failure(options: SayOptions = {}): Promise<{ code: number; details: string }> {
    try {
      const answer = await this.say(options);
      throw new Error(`The call was answered by ${answer}`);
    } catch (error) {
      if (!isServiceError(error)) throw error;
      return { code: error.code, details: error.details };
    }
  }

  close(): void {
    this.client.close();
  }
}

function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && 'code' in error && 'details' in error;
}
