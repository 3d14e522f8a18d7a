import type { ServerCredentials } from '@grpc/grpc-js';
import { createServer, type SecureContextOptions, type Server, type TLSSocket } from 'node:tls';
import type { Socket } from 'node:net';
import { MAX_HANDSHAKE_MS } from './limits';

/** Called when the handshake of a connection has ended well. */
type OnSecured = (socket: TLSSocket) => void;

/**
 * Runs the handshakes of connections that were accepted elsewhere, by any secure credentials of grpc-js, in a TLS server that
 * never listens. The certificates are those that the credentials have at the time. Until there are any, connections are closed.
 */
export class TlsHandshakes {
  private readonly server: Server;
  /** By the ends of the connection: the socket of TLS does not show the one below it. */
  private readonly pending = new Map<string, OnSecured>();
  private hasContext = false;
  private readonly watcher = (context: SecureContextOptions | null) => this.use(context);

  /**
   * @param onProblem Called when later certificates cannot be used; those before stay.
   * @throws if the first certificates cannot be used.
   */
  constructor(
    private readonly credentials: ServerCredentials,
    private readonly onProblem: (error: unknown) => void,
  ) {
    const own = credentials._getConstructorOptions() ?? {};
    // A callback takes the place of the list, and Node.js refuses both.
    const protocols = 'ALPNCallback' in own ? {} : { ALPNProtocols: ['h2'] };
    this.server = createServer({ handshakeTimeout: MAX_HANDSHAKE_MS, ...protocols, ...own });
    this.server.on('secureConnection', (socket) => this.onSecured(socket));
    // Node.js leaves it to the server to end a handshake that has failed or takes too long.
    this.server.on('tlsClientError', (_error, socket) => socket.destroy());
    credentials._addWatcher(this.watcher);
    // The watcher is not called with the certificates that the credentials have already.
    const first = credentials._getSecureContextOptions();
    if (this.hasContext || first === null) return;
    this.server.setSecureContext(first);
    this.hasContext = true;
  }

  /** Begins the handshake of a connection. It is closed if there are no certificates, or if the handshake fails. */
  begin(socket: Socket, onSecured: OnSecured): void {
    const key = keyOf(socket);
    // A socket that has closed meanwhile has no ends.
    if (!this.hasContext || socket.remoteAddress === undefined) {
      socket.destroy();
      return;
    }
    this.pending.set(key, onSecured);
    socket.once('close', () => {
      if (this.pending.get(key) === onSecured) this.pending.delete(key);
    });
    this.server.emit('connection', socket);
  }

  /** Stops watching the certificates. */
  close(): void {
    this.credentials._removeWatcher(this.watcher);
  }

  private onSecured(socket: TLSSocket): void {
    // The connection closes after an error.
    socket.on('error', () => {});
    const key = keyOf(socket);
    const onSecured = this.pending.get(key);
    this.pending.delete(key);
    if (onSecured === undefined || socket.alpnProtocol !== 'h2') socket.destroy();
    else onSecured(socket);
  }

  /** Certificates that cannot be used replace nothing. @param context `null` if there are none. */
  private use(context: SecureContextOptions | null): void {
    if (context === null) {
      this.hasContext = false;
      return;
    }
    try {
      this.server.setSecureContext(context);
      this.hasContext = true;
    } catch (error) {
      this.onProblem(error);
    }
  }
}

/** Of a Unix socket the ends are not known: such a connection is not secured by TLS. */
function keyOf({ localAddress, localPort, remoteAddress, remotePort }: Socket): string {
  return [localAddress, localPort, remoteAddress, remotePort].join(' ');
}
