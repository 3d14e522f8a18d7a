import { X509Certificate } from 'node:crypto';
import { createSecureServer, type Http2SecureServer, type ServerHttp2Session } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { TLSSocket, type TlsOptions } from 'node:tls';
import type { TestCertificate } from './test-certificates';
import { listen } from './listen';

/** What a server knows of the connection that a call came by. */
export interface ConnectionFacts {
  /** The subject in the certificate of the server, such as `CN=server`. */
  readonly server: string;
  /** Such as `TLSv1.3`. */
  readonly protocol: string | null;
  /** The subject in the certificate of the client, such as `CN=client`; `null` without one. */
  readonly client: string | null;
  /** Whether the handshake resumed an earlier session. */
  readonly isResumed: boolean;
  /** The number of the connection, from 0. */
  readonly connection: number;
}

/** A server of HTTP/2 over TLS that answers every call with facts about its connection, in JSON. Node.js offers session tickets. */
export class TlsBackend {
  private readonly sessions = new Set<ServerHttp2Session>();
  private connections = 0;

  private constructor(
    private readonly subject: string,
    private readonly server: Http2SecureServer,
    readonly port: number,
  ) {}

  /** Starts one with a certificate. @param options Such as `{ requestCert: true }`. */
  static async start(
    { certificateChain: cert, privateKey: key }: TestCertificate,
    options: TlsOptions = {},
  ): Promise<TlsBackend> {
    const server = createSecureServer({ cert, key, ...options });
    await listen(server);
    const { subject } = new X509Certificate(cert);
    const backend = new TlsBackend(subject, server, (server.address() as AddressInfo).port);
    server.on('session', (session) => backend.serve(session));
    return backend;
  }

  /** Closes all connections once their calls have ended. */
  async closeConnections(): Promise<void> {
    const closed = [...this.sessions].map(
      (session) => new Promise<void>((resolve) => session.close(resolve)),
    );
    await Promise.all(closed);
  }

  stop(): void {
    for (const session of this.sessions) session.destroy();
    this.server.close();
  }

  private serve(session: ServerHttp2Session): void {
    const connection = this.connections++;
    this.sessions.add(session);
    session.once('close', () => this.sessions.delete(session));
    session.on('error', () => {});
    const { socket } = session;
    if (!(socket instanceof TLSSocket)) throw new Error('not a connection with TLS');
    const facts: ConnectionFacts = {
      server: this.subject,
      protocol: socket.getProtocol(),
      client: socket.getPeerX509Certificate()?.subject ?? null,
      isResumed: socket.isSessionReused(),
      connection,
    };
    session.on('stream', (stream) => {
      const message = Buffer.from(JSON.stringify(facts));
      const prefix = Buffer.alloc(5);
      prefix.writeUInt32BE(message.length, 1);
      const headers = { ':status': 200, 'content-type': 'application/grpc' };
      stream.respond(headers, { waitForTrailers: true });
      stream.once('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
      stream.end(Buffer.concat([prefix, message]));
    });
  }
}
