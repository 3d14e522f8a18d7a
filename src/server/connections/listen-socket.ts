import { createServer, type Server as NetServer, type Socket } from 'node:net';
import type { SocketAddress } from '../../resources/endpoints/endpoints';
import type { Clock } from '../../util/clock';
import { errorMessage } from '../../util/errors';
import type { Handle } from '../../util/handle';

/** Milliseconds until a port that cannot be used is tried again. */
const RETRY_MS = 60_000;

export interface ListenSocketOptions {
  /** A literal IP address and a port. */
  readonly address: SocketAddress;
  readonly clock: Pick<Clock, 'setTimer'>;
  readonly onConnection: (socket: Socket) => void;
  /** Connections are accepted from now on. */
  readonly onListening: () => void;
  /** The port cannot be used; it is tried again. */
  readonly onFailed: (reason: string) => void;
  /** A connection could not be accepted, such as for want of a file descriptor; the next ones are. */
  readonly onAcceptFailed: (reason: string) => void;
}

/** Listens on a port, and on one that another process uses as soon as it is free. */
export class ListenSocket implements Handle {
  private server: NetServer | undefined;
  private retry: Handle | undefined;

  constructor(private readonly options: ListenSocketOptions) {
    this.listen();
  }

  /** Accepts no more connections. Those that were accepted stay. */
  release(): void {
    this.retry?.release();
    this.retry = undefined;
    const { server } = this;
    this.server = undefined;
    server?.close();
  }

  private listen(): void {
    const { address, onConnection, onListening } = this.options;
    const server = createServer((socket) => {
      // What is accepted while the port is being closed belongs to nothing any more.
      if (this.server === server) onConnection(socket);
      else socket.destroy();
    });
    this.server = server;
    server.on('error', (error) => this.onError(server, error));
    server.listen(address.port, address.host, () => {
      if (this.server === server) onListening();
    });
  }

  private onError(server: NetServer, error: unknown): void {
    if (this.server !== server) return;
    if (server.listening) {
      this.options.onAcceptFailed(errorMessage(error));
      return;
    }
    this.server = undefined;
    this.retry = this.options.clock.setTimer(() => {
      this.retry = undefined;
      this.listen();
    }, RETRY_MS);
    this.options.onFailed(errorMessage(error));
  }
}
