import { createServer, type Server, type Socket } from 'node:net';
import { listen } from './listen';

/** A server that accepts connections, counts them and never says a word. */
export class SilentServer {
  connections = 0;
  /** Those that are open. */
  readonly sockets = new Set<Socket>();

  /** @param server Such as one of TLS, which answers handshakes only. */
  constructor(private readonly server: Server = createServer()) {
    server.on('tlsClientError', () => undefined);
    server.on('connection', (socket: Socket) => {
      this.connections++;
      this.sockets.add(socket);
      socket.on('error', () => undefined).on('close', () => this.sockets.delete(socket));
      socket.resume();
    });
  }

  /** @returns the port. */
  listen(): Promise<number> {
    return listen(this.server);
  }

  close(): void {
    this.server.close();
    for (const socket of this.sockets) socket.destroy();
  }
}
