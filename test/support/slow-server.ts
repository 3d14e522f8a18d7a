import { Server, type sendUnaryData, type ServerUnaryCall } from '@grpc/grpc-js';
import { echoMethod } from './echo-backend';
import { bind } from './listen';

/** A server that answers when it is told to; the request `fast`, at once. */
export class SlowServer {
  readonly waiting: (() => void)[] = [];
  port = 0;
  private readonly server = new Server();

  async start(): Promise<void> {
    this.server.addService(
      { say: echoMethod },
      {
        say: (call: ServerUnaryCall<Buffer, Buffer>, callback: sendUnaryData<Buffer>) => {
          if (String(call.request) === 'fast') callback(null, Buffer.from(''));
          else this.waiting.push(() => callback(null, Buffer.from('')));
        },
      },
    );
    this.port = await bind(this.server);
  }

  /** Answers every call that waits. */
  answer(): void {
    for (const answer of this.waiting.splice(0)) answer();
  }

  stop(): void {
    this.server.forceShutdown();
  }
}
