import { createServer, connect, type AddressInfo, type Server, type Socket } from 'node:net';
import { once } from 'node:events';

/** A TCP proxy that can lose everything without closing anything, as a dead machine does. */
export class TcpGate {
  private readonly server: Server;
  private readonly sockets = new Set<Socket>();
  private isOpen = true;
  /** Connections made by clients, ever. */
  accepted = 0;
  /** Connections of clients that are open. */
  connected = 0;

  /** @param target `host:port`; without one, the gate accepts connections and says nothing. */
  constructor(target?: string) {
    this.server = createServer((client) => {
      this.accepted++;
      this.connected++;
      client.once('close', () => this.connected--);
      this.track(client);
      if (target === undefined) return;
      const [host, port] = target.split(':');
      const upstream = this.track(connect(Number(port), host));
      client.on('data', (data) => this.isOpen && upstream.write(data));
      upstream.on('data', (data) => this.isOpen && client.write(data));
      client.on('close', () => upstream.destroy());
      upstream.on('close', () => this.isOpen && client.destroy());
    });
  }

  get address(): string {
    const address = this.server.address() as AddressInfo;
    return `127.0.0.1:${address.port}`;
  }

  async start(port = 0): Promise<this> {
    this.server.listen(port, '127.0.0.1');
    await once(this.server, 'listening');
    return this;
  }

  /** Loses everything from here on. */
  shut(): void {
    this.isOpen = false;
  }

  stop(): void {
    this.server.close();
    this.disconnect();
  }

  /** Cuts all connections. */
  disconnect(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  private track(socket: Socket): Socket {
    this.sockets.add(socket);
    socket.on('error', () => {});
    // Nobody else reads from the sockets of a gate without a target, and only a reader sees the end.
    socket.resume();
    return socket;
  }
}
