import type { Socket } from 'node:net';
import {
  createServer,
  type SecureContextOptions,
  type Server,
  type TLSSocket,
  type TlsOptions,
} from 'node:tls';
import { connectionKeyOf } from './connection-ends';

/** Where the certificates of a server are from: the part of the server credentials of grpc-js that its own servers use. */
export interface CertificateSource {
  /** What does not change with the certificates. */
  _getConstructorOptions(): object | null;
  _getSecureContextOptions(): SecureContextOptions | null;
  _addWatcher(watcher: (context: SecureContextOptions | null) => void): void;
  _removeWatcher(watcher: (context: SecureContextOptions | null) => void): void;
}

/** Receives what becomes of handshakes. */
export interface TlsHandshakesHandler {
  /** Certificates cannot be used; those before stay. What this throws for the first ones is thrown by `open`. */
  onBadCertificates(error: unknown): void;
  /** A handshake has failed or takes too long. Default: nothing happens besides the end of the connection. */
  onFailed?(error: Error): void;
  /** There are no certificates for a connection, which is closed. Default: nothing happens besides. */
  onNoCertificates?(): void;
}

/** Called when the handshake of a connection has ended well. */
export type OnSecured = (socket: TLSSocket) => void;

/**
 * Runs the handshakes of HTTP/2 connections that were accepted elsewhere in a TLS server that never listens
 * (https://nodejs.org/docs/latest-v20.x/api/http.html#event-connection). The certificates are those that their source has at the
 * time. grpc-js itself does not say when a handshake has ended, so that its servers cannot drain a connection that is in one.
 */
export class TlsHandshakes {
  /** For those who watch its handshakes. */
  readonly server: Server;
  /** The connections in a handshake, by their ends: the socket of TLS does not show the one below it. */
  private readonly pending = new Map<string, OnSecured>();
  private hasContext = false;
  private readonly watcher = (context: SecureContextOptions | null) => this.use(context);

  /** @param settings Of the TLS server; those of the source count before them. */
  constructor(
    private readonly source: CertificateSource,
    private readonly handler: TlsHandshakesHandler,
    settings: TlsOptions = {},
  ) {
    const own: TlsOptions = source._getConstructorOptions() ?? {};
    // A callback takes the place of the list, and Node.js refuses both.
    const protocols = own.ALPNCallback === undefined ? { ALPNProtocols: ['h2'] } : {};
    this.server = createServer({ ...settings, ...protocols, ...own });
    this.server.on('secureConnection', (socket) => this.onSecured(socket));
    // Node.js leaves it to the server to end a handshake that has failed or takes too long.
    this.server.on('tlsClientError', (error, socket) => {
      this.handler.onFailed?.(error);
      socket.destroy();
    });
  }

  /** Watches the certificates from here on. */
  open(): void {
    this.source._addWatcher(this.watcher);
    // What a provider has supplied in the course of that has notified no watcher.
    if (!this.hasContext) this.use(this.source._getSecureContextOptions());
  }

  /** Begins the handshake of a connection. It is closed if there are no certificates, or if the handshake fails. */
  begin(socket: Socket, onSecured: OnSecured): void {
    const key = connectionKeyOf(socket);
    // A socket that has closed meanwhile has no ends.
    if (!this.hasContext || key === undefined) {
      if (!this.hasContext) this.handler.onNoCertificates?.();
      socket.destroy();
      return;
    }
    this.pending.set(key, onSecured);
    socket.once('close', () => {
      if (this.pending.get(key) === onSecured) this.pending.delete(key);
    });
    this.server.emit('connection', socket);
  }

  /** Stops watching the certificates. There must be no handshake left. */
  close(): void {
    this.source._removeWatcher(this.watcher);
  }

  private onSecured(socket: TLSSocket): void {
    socket.on('error', ignore);
    const key = connectionKeyOf(socket) ?? '';
    const onSecured = this.pending.get(key);
    this.pending.delete(key);
    // Credentials may verify clients in the choice of HTTP/2: without it, nothing is known of this one.
    if (onSecured === undefined || socket.alpnProtocol !== 'h2') socket.destroy();
    else onSecured(socket);
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
      this.handler.onBadCertificates(error);
    }
  }
}

/** The connection closes after an error. */
function ignore(): void {}
