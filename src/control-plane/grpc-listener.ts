import { ServerCredentials, type ConnectionInjector, type Server } from '@grpc/grpc-js';
import { MAX_CONNECTIONS } from '../util/limits';
import { joinHostPort } from '../util/text';
import { createServer, type AddressInfo, type Server as TcpServer, type Socket } from 'node:net';
import type { ConnectionAdmission } from '../util/connection-admission';
import type { SessionLimits } from '../util/session-limits';
import { TlsHandshakes } from '../util/tls-handshakes';

/** How long the handshake of TLS may take. */
const MAX_HANDSHAKE_MS = 10_000;

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

/** A connection that was accepted. */
export interface AcceptedConnection {
  /** Address of the client, as its calls have it; undefined for a socket of a path. */
  readonly peer: string | undefined;
  /**
   * Accepts no more calls (GOAWAY), and closes when those that have begun have ended. One in its handshake is closed.
   * @param graceMs Milliseconds after which it is destroyed.
   */
  drain(graceMs: number): void;
}

/** The options of a listener. */
export interface GrpcListenerOptions {
  /** Bounds the work for connections, and what their sessions may do. Default: nothing does. */
  readonly limits?:
    { readonly admission: ConnectionAdmission; readonly sessions: SessionLimits } | undefined;
  /** Default: insecure. A listener of a path has no TLS. */
  readonly credentials?: ServerCredentials | undefined;
  /** Called when certificates cannot be used; those before stay in use. */
  readonly onBadCertificates?: ((error: unknown) => void) | undefined;
  /**
   * Called with each connection that is accepted, and when it has closed. With it, each one has an injector of its own: that of
   * several could only drain all of them at once.
   */
  readonly connections?:
    | {
        onAccepted(connection: AcceptedConnection): void;
        onClosed(connection: AcceptedConnection): void;
      }
    | undefined;
}

/**
 * The listening socket of a gRPC server and its connections. Replaces `Server.bindAsync`, which cannot close connections
 * without a GOAWAY, as a crash does, and does not report why an address cannot be used
 * (https://github.com/grpc/grpc-node/blob/%40grpc/grpc-js%401.14.0/packages/grpc-js/src/server.ts).
 */
export class GrpcListener {
  private readonly sockets = new Set<Socket>();
  /** That of all connections; undefined if each has its own. */
  private readonly injector: ConnectionInjector | undefined;
  private readonly handshakes: TlsHandshakes | undefined;
  private acceptedCount = 0;

  private constructor(
    private readonly server: Server,
    private tcp: TcpServer,
    private readonly options: GrpcListenerOptions,
  ) {
    const { credentials, connections, onBadCertificates = () => {} } = options;
    if (credentials?._isSecure() === true) {
      this.handshakes = openHandshakes(credentials, onBadCertificates);
    }
    if (connections === undefined) this.injector = this.createInjector();
    this.attach(tcp);
  }

  /**
   * Starts to listen for a server to which all services have been added.
   *
   * @throws the system's error if the address cannot be used.
   */
  static listen(
    server: Server,
    address: ListenAddress,
    options: GrpcListenerOptions = {},
  ): Promise<GrpcListener> {
    if ('server' in address) {
      const taken = new GrpcListener(server, address.server, options);
      taken.acceptWaiting(address);
      return Promise.resolve(taken);
    }
    const listener = new GrpcListener(server, createServer({ noDelay: true }), options);
    return new Promise((resolve, reject) => {
      listener.tcp.once('error', (error) => {
        listener.handshakes?.close();
        reject(error);
      });
      listener.tcp.listen({ ...address }, () => {
        listener.tcp.removeAllListeners('error');
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
    this.handshakes?.close();
  }

  /** Stops accepting connections and closes the open ones. */
  destroy(): void {
    this.close();
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
    const { limits } = this.options;
    if (limits === undefined) this.begin(socket);
    else limits.admission.admit(socket, (...handlers) => this.begin(socket, ...handlers));
  }

  private begin(socket: Socket, onProven = () => {}, onSecured = () => {}): void {
    const { connections } = this.options;
    const connection = connections && new Connection(socket, this.createInjector());
    const injector = connection ?? this.injector;
    if (connection !== undefined) {
      connections?.onAccepted(connection);
      socket.once('close', () => connections?.onClosed(connection));
    }
    const inject = (stream: Socket) => {
      onSecured();
      const { sessions } = this.options.limits ?? {};
      if (injector === undefined) return;
      if (sessions === undefined) injector.injectConnection(stream);
      else sessions.inject(injector, stream, onProven);
    };
    if (this.handshakes === undefined) inject(socket);
    else this.handshakes.begin(socket, inject);
  }

  /** TLS is below it: the handshakes of all connections are those of one server of Node.js. */
  private createInjector(): ConnectionInjector {
    return this.server.createConnectionInjector(ServerCredentials.createInsecure());
  }
}

/** A connection with an injector of its own, which is destroyed with it: grpc-js would keep it. */
class Connection implements AcceptedConnection {
  readonly peer: string | undefined;
  private isInjected = false;

  constructor(
    private readonly socket: Socket,
    private readonly injector: ConnectionInjector,
  ) {
    const { remoteAddress, remotePort } = socket;
    this.peer = remoteAddress === undefined ? undefined : `${remoteAddress}:${remotePort}`;
    socket.once('close', () => injector.destroy());
  }

  injectConnection(socket: Socket): void {
    this.isInjected = true;
    this.injector.injectConnection(socket);
  }

  drain(graceMs: number): void {
    if (this.isInjected) this.injector.drain(graceMs);
    else this.socket.destroy();
  }
}

/** @throws if the first certificates cannot be used. */
function openHandshakes(
  credentials: ServerCredentials,
  onBadCertificates: (error: unknown) => void,
): TlsHandshakes {
  let isOpen = false;
  const handler = {
    onBadCertificates(error: unknown) {
      if (!isOpen) throw error;
      onBadCertificates(error);
    },
  };
  const settings = { handshakeTimeout: MAX_HANDSHAKE_MS };
  const handshakes = new TlsHandshakes(credentials, handler, settings);
  try {
    handshakes.open();
  } catch (error) {
    handshakes.close();
    throw error;
  }
  isOpen = true;
  return handshakes;
}

function isAddressInfo(address: AddressInfo | string | null): address is AddressInfo {
  return typeof address === 'object' && address !== null;
}
