import {
  Client,
  credentials,
  Server,
  type ClientDuplexStream,
  type ServerDuplexStream,
  type status,
} from '@grpc/grpc-js';
import { bind } from './listen';
import { bytesCodec } from './bytes-codec';

const same = (buffer: Buffer) => buffer;

/** A method of streams both ways, with messages of bytes. */
const TALK = {
  path: '/test.Talk/Talk',
  requestStream: true,
  responseStream: true,
  ...bytesCodec,
};

type TalkCall = ServerDuplexStream<Buffer, Buffer>;

/** A call as the server saw it. */
interface SeenCall {
  readonly messages: string[];
  /** Whether the client has half-closed it. */
  isComplete: boolean;
  isCancelled: boolean;
}

/** A real server that counts its calls. */
export class CountingServer {
  readonly seen: SeenCall[] = [];
  port = 0;
  private readonly server = new Server();

  /** @param answer Called at the end of each request. */
  private constructor(answer: (call: TalkCall, previousAttempts: number) => void) {
    const serve = (call: TalkCall) => {
      const entry: SeenCall = { messages: [], isComplete: false, isCancelled: false };
      this.seen.push(entry);
      call.on('data', (message: Buffer) => entry.messages.push(String(message)));
      call.on('cancelled', () => (entry.isCancelled = true));
      call.on('end', () => {
        entry.isComplete = true;
        answer(call, Number(call.metadata.get('grpc-previous-rpc-attempts')[0] ?? 0));
      });
    };
    this.server.addService({ Talk: TALK }, { Talk: serve });
  }

  /** @param answer Called at the end of each request. Default: ends the call. */
  static async start(
    answer: (call: TalkCall, previousAttempts: number) => void = (call) => call.end(),
  ): Promise<CountingServer> {
    const started = new CountingServer(answer);
    started.port = await bind(started.server);
    return started;
  }

  get calls(): number {
    return this.seen.length;
  }

  stop(): void {
    this.server.forceShutdown();
  }
}

/** How a call ended. */
export interface TalkOutcome {
  readonly code: status;
  readonly details: string;
}

/** A client of such servers. */
export class TalkClient {
  private readonly client: Client;

  constructor(target: string) {
    this.client = new Client(target, credentials.createInsecure());
  }

  /** Starts a call. */
  open(deadlineMs = 60_000): {
    readonly call: ClientDuplexStream<Buffer, Buffer>;
    readonly outcome: Promise<TalkOutcome>;
  } {
    const deadline = Date.now() + deadlineMs;
    const call = this.client.makeBidiStreamRequest(TALK.path, same, same, { deadline });
    call.on('data', () => undefined);
    call.on('error', () => undefined);
    const outcome = new Promise<TalkOutcome>((resolve) => call.on('status', resolve));
    return { call, outcome };
  }

  /** Makes a call with messages. */
  async talk(messages: readonly string[] = ['hello'], deadlineMs?: number): Promise<TalkOutcome> {
    const { call, outcome } = this.open(deadlineMs);
    for (const message of messages) call.write(Buffer.from(message));
    call.end();
    return outcome;
  }

  close(): void {
    this.client.close();
  }
}
