import { ServerCredentials, type ConnectionInjector, type Server } from '@grpc/grpc-js';
import { joinHostPort } from '../util/text';
import { createServer, type AddressInfo, type Server as TcpServer, type Socket } from 'node:net';
import { MAX_CONNECTIONS } from './limits';

/** A socket that is listened on already, and its connections. */
export interface ListeningSocket {
  readonly server: TcpServer;
  /** Returns the connections that nothing reads from yet. The later ones are for the listeners of the server. */
  takeConnections(): readonly Socket[];
}

/**
 * Where a server listens: a port of TCP, a Unix socket, a socket that was passed as a file descriptor, or one that is
 * listened on.
 */
export type ListenAddress =
  | { readonly host: string; readonly port: number }
  | { readonly path: string }
  | { readonly fd: number }
  | ListeningSocket;

/**
 * The listening socket of a gRPC server and its connections. Replaces `Server.bindAsync`, which cannot close connections
 * without a GOAWAY, as a crash does, and does not report why an address cannot be used
 * (https://github.com/grpc/grpc-node/blob/%40grpc/grpc-js%401.14.0/packages/grpc-js/src/server.ts).
 */
export class GrpcListener {
  private readonly sockets = new Set<Socket>();
  private readonly injector: ConnectionInjector;
  private acceptedCount = 0;

  private constructor(
    server: Server,
    private tcp: TcpServer,
  ) {
    this.injector = server.createConnectionInjector(ServerCredentials.createInsecure());
    this.attach(tcp);
  }

  /**
   * Starts to listen for a server to which all services have been added.
   *
   * @throws the system's error if the address cannot be used.
   */
  static listen(server: Server, address: ListenAddress): Promise<GrpcListener> {
    if ('server' in address) {
      const taken = new GrpcListener(server, address.server);
      taken.acceptWaiting(address);
      return Promise.resolve(taken);
    }
    const listener = new GrpcListener(server, createServer({ noDelay: true }));
    return new Promise((resolve, reject) => {
      listener.tcp.once('error', reject);
      listener.tcp.listen({ ...address }, () => {
        listener.tcp.off('error', reject);
        // A later error is that of one accept; its client sees the failed connection.
        listener.tcp.on('error', () => {});
        resolve(listener);
      });
    });
  }

  /** Accepts connections of another socket in place of the one before, which its owner closes. Open connections stay. */
  move(to: ListeningSocket): void {
    this.tcp = to.server;
    this.attach(to.server);
    this.acceptWaiting(to);
  }

  /** The port listened on; 0 for a path. */
  get port(): number {
    const address = this.tcp.address();
    return isAddressInfo(address) ? address.port : 0;
  }

  /** In the form of `server_uri`: `unix:/path`, or an address with a port. */
  get address(): string | undefined {
    const address = this.tcp.address();
    if (isAddressInfo(address)) return joinHostPort(address.address, address.port);
    return address === null ? undefined : `unix:${address}`;
  }

  /** The number of connections accepted so far. */
  get accepted(): number {
    return this.acceptedCount;
  }

  get open(): number {
    return this.sockets.size;
  }

  /** Stops accepting connections; open connections stay. */
  close(): void {
    this.tcp.close();
  }

  /** Stops accepting connections and closes the open ones. */
  destroy(): void {
    this.tcp.close();
    for (const socket of this.sockets) socket.destroy();
  }

  private attach(tcp: TcpServer): void {
    tcp.on('connection', (socket) => this.accept(socket));
    tcp.maxConnections = MAX_CONNECTIONS;
  }

  private acceptWaiting(socket: ListeningSocket): void {
    for (const connection of socket.takeConnections()) this.accept(connection);
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
