import { createServer, type SecureContextOptions, type Server, type TLSSocket } from 'node:tls';
import type { Socket } from 'node:net';
import type { ServerCredentials } from '../../grpc-js';
import { connectionKeyOf } from '../../security/peer/tls-connections';
import { errorMessage } from '../../util/errors';
import { ServerTlsCredentials } from '../credentials/server-tls-credentials';
import type { Logger } from '../../util/logger';
import { failureCauseOf } from '../credentials/server-handshakes';

/** The cause of handshakes that end because the server has no certificate yet. */
const NOT_LOADED = 'NOT_LOADED';

/** Receives a connection when its handshake has ended well. */
export type OnSecured = (socket: TLSSocket) => void;

export interface TlsAcceptorOptions {
  readonly credentials: ServerCredentials;
  /** Names the credentials in messages; ends in a space. */
  readonly subject: string;
  /** Whether Node.js traces the TLS protocol (`grpc-node.tls_enable_trace`). */
  readonly enableTrace: boolean;
  readonly logger: Logger;
  /** Called when a handshake has ended. @param cause Why it failed; `undefined` if it did not. */
  readonly onHandshake: (cause: string | undefined) => void;
  /** Whether the credentials report handshakes that fail, because they know more causes than Node.js. */
  readonly isReported: boolean;
}

/**
 * Runs the handshakes of connections that were accepted elsewhere, by any secure credentials of a server of grpc-js, in a TLS
 * server that never listens (https://nodejs.org/docs/latest-v20.x/api/http.html#event-connection). grpc-js itself does not say
 * when a handshake has ended, so that its servers cannot drain a connection that is in one.
 */
export class TlsAcceptor {
  private readonly server: Server;
  /** The connections in a handshake, by their ends: the socket of TLS does not show the one below it. */
  private readonly pending = new Map<string, OnSecured>();
  private hasContext = false;
  private readonly watcher = (context: SecureContextOptions | null) => this.use(context);

  constructor(private readonly options: TlsAcceptorOptions) {
    const { credentials, enableTrace, isReported, onHandshake } = options;
    // Without a callback, HTTP/2 is the only protocol, as in a server of grpc-js.
    const settings = { ALPNProtocols: ['h2'], ...credentials._getConstructorOptions() };
    if (settings.ALPNCallback !== undefined) Reflect.deleteProperty(settings, 'ALPNProtocols');
    this.server = createServer({ ...settings, enableTrace });
    this.server.on('secureConnection', (socket) => this.onSecured(socket));
    // Node.js leaves it to the server to end a handshake that has failed or takes too long.
    this.server.on('tlsClientError', (error, socket) => {
      const cause = isReported ? undefined : failureCauseOf(error);
      if (cause !== undefined) onHandshake(cause);
      socket.destroy();
    });
    if (credentials instanceof ServerTlsCredentials) credentials.watchFailures(this.server);
    credentials._addWatcher(this.watcher);
    // What a provider has supplied in the course of that has notified no watcher.
    if (!this.hasContext) this.use(credentials._getSecureContextOptions());
  }

  /** Begins the handshake of a connection. It is closed if there are no certificates, or if the handshake fails. */
  accept(socket: Socket, onSecured: OnSecured): void {
    const key = connectionKeyOf(socket);
    if (!this.hasContext || key === undefined) {
      if (!this.hasContext) this.options.onHandshake(NOT_LOADED);
      socket.destroy();
      return;
    }
    this.pending.set(key, onSecured);
    socket.once('close', () => {
      if (this.pending.get(key) === onSecured) this.pending.delete(key);
    });
    this.server.emit('connection', socket);
  }

  /** Releases the certificates. There must be no handshake left. */
  close(): void {
    this.options.credentials._removeWatcher(this.watcher);
  }

  private onSecured(socket: TLSSocket): void {
    socket.on('error', ignore);
    const key = connectionKeyOf(socket);
    const onSecured = key === undefined ? undefined : this.pending.get(key);
    // Clients are verified in the choice of HTTP/2 (`ServerHandshakes`): without it, nothing is known of this one.
    if (key === undefined || onSecured === undefined || socket.alpnProtocol !== 'h2') {
      socket.destroy();
      return;
    }
    this.pending.delete(key);
    this.options.onHandshake(undefined);
    onSecured(socket);
  }

  /** Certificates that cannot be used replace nothing; `null` says that there are none. */
  private use(context: SecureContextOptions | null): void {
    if (context === null) {
      this.hasContext = false;
      return;
    }
    try {
      this.server.setSecureContext(context);
      this.hasContext = true;
    } catch (error) {
      const { logger, subject } = this.options;
      logger.error(() => `${subject}certificates cannot be used: ${errorMessage(error)}`);
    }
  }
}

/** The connection closes after an error. */
function ignore(): void {}
