import { ServerCredentials, type ConnectionInjector, type Server } from '@grpc/grpc-js';
import { createServer, type AddressInfo, type Server as TcpServer, type Socket } from 'node:net';

/**
 * The listening socket of a gRPC server and the connections it accepted. `Server.bindAsync` would
 * keep both to itself: it cannot drop connections without a parting word, as a crash does, and does
 * not say why an address cannot be used.
 */
export class GrpcListener {
  private readonly sockets = new Set<Socket>();
  private readonly injector: ConnectionInjector;
  private readonly tcp: TcpServer;
  private acceptedCount = 0;

  private constructor(server: Server) {
    this.injector = server.createConnectionInjector(ServerCredentials.createInsecure());
    this.tcp = createServer({ noDelay: true }, (socket) => this.accept(socket));
  }

  /**
   * Listens on behalf of a server that has all its services.
   *
   * @throws with the system's words when the address cannot be used.
   */
  static listen(server: Server, host: string, port: number): Promise<GrpcListener> {
    const listener = new GrpcListener(server);
    return new Promise((resolve, reject) => {
      listener.tcp.once('error', reject);
      listener.tcp.listen({ host, port }, () => {
        listener.tcp.off('error', reject);
        // What fails later is one accept, and the client of that one sees it.
        listener.tcp.on('error', () => {});
        resolve(listener);
      });
    });
  }

  /** The port listened on. */
  get port(): number {
    const address = this.tcp.address();
    return isAddressInfo(address) ? address.port : 0;
  }

  /** How many connections there have been. */
  get accepted(): number {
    return this.acceptedCount;
  }

  /** How many connections there are. */
  get open(): number {
    return this.sockets.size;
  }

  /** Takes no new connections; those there are stay. */
  close(): void {
    this.tcp.close();
  }

  /** Takes no new connections and drops those there are. */
  destroy(): void {
    this.tcp.close();
    for (const socket of this.sockets) socket.destroy();
  }

  private accept(socket: Socket): void {
    this.acceptedCount++;
    this.sockets.add(socket);
    socket.once('close', () => this.sockets.delete(socket));
    this.injector.injectConnection(socket);
  }
}

function isAddressInfo(address: AddressInfo | string | null): address is AddressInfo {
  return typeof address === 'object' && address !== null;
}

/** `host:port`, with the brackets an IPv6 address needs. */
export function joinHostPort(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
