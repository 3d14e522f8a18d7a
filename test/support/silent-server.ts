import { createServer, type Server, type Socket } from 'node:net';

/** A TCP server that accepts connections, counts them and never answers. */
export class SilentServer {
  connections = 0;
  private readonly sockets = new Set<Socket>();
  private readonly server: Server = createServer((socket) => {
    this.connections++;
    this.sockets.add(socket);
    socket.on('error', () => {});
  });

  /** @returns the port. */
  listen(): Promise<number> {
    return new Promise((resolve) => {
      this.server.listen(0, '127.0.0.1', () => {
        const address = this.server.address();
        resolve(typeof address === 'object' && address !== null ? address.port : 0);
      });
    });
  }

  close(): void {
    this.server.close();
    for (const socket of this.sockets) socket.destroy();
  }
}
