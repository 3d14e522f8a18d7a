import { createServer, type AddressInfo, type Server as TcpServer, type Socket } from 'node:net';
import {
  createServer as createTlsServer,
  type Server as TlsServer,
  type TLSSocket,
} from 'node:tls';
import type { CertificateFolder } from './certificates';
import { readServerName } from './client-hello';
import { EchoServer, type Injector } from './echo-server';
import type { ServerSettings } from './tls-case';

/** What a server has seen of one connection. */
export interface ConnectionRecord {
  /** Counted from 0. */
  readonly number: number;
  /** By its first bytes. */
  kind: 'tls' | 'plain' | 'other' | 'nothing';
  /** The target of CONNECT; `undefined` if it did not begin with it. */
  tunnelTo: string | undefined;
  /** The server name that the client sent; empty for none. */
  serverName: string;
  version: string | undefined;
  /** The common name in the certificate of the client; `null` without one. */
  client: string | null;
  isResumed: boolean;
  calls: number;
  /** Whether a call had the bearer token. */
  hasToken: boolean;
}

const PREFACE = 'PRI * HTTP/2.0';
const HANDSHAKE = 0x16;
const MAJOR_VERSION = 0x03;

/**
 * A server on loopback that records how clients speak to it: by the first bytes of a connection, it is handed on with TLS, or
 * in plain text, to a gRPC server, so that a client that does not encrypt is not stopped by that.
 */
export class RecordingBackend {
  /** Oldest first. */
  readonly connections: ConnectionRecord[] = [];
  port = 0;
  private readonly sockets = new Set<Socket>();
  private readonly tcp: TcpServer;
  private tls: TlsServer | undefined;
  private injector: Injector;
  /** By the port of the client. */
  private readonly byPort = new Map<number, ConnectionRecord>();
  private readonly server = new EchoServer((port) => this.byPort.get(port));

  constructor(
    private readonly certificates: CertificateFolder,
    private settings: ServerSettings,
  ) {
    this.injector = this.server.createInjector();
    this.tcp = createServer((socket) => this.accept(socket));
  }

  async start(): Promise<this> {
    this.configure(this.settings);
    await new Promise<void>((resolve) => this.tcp.listen(0, '127.0.0.1', resolve));
    this.port = (this.tcp.address() as AddressInfo).port;
    return this;
  }

  /** How the connections from now on are secured. */
  configure(settings: ServerSettings): void {
    this.settings = settings;
    this.tls = createTlsServer(this.optionsOf(settings));
    this.tls.on('secureConnection', (socket) => this.secured(socket));
    this.tls.on('tlsClientError', () => {});
  }

  /** Ends all connections. */
  disconnect(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  /** Ends all connections once their calls have ended. */
  drain(): void {
    this.injector.drain(10_000);
    this.injector = this.server.createInjector();
  }

  stop(): void {
    this.tcp.close();
    this.disconnect();
    this.server.stop();
  }

  private optionsOf(settings: ServerSettings) {
    const { certificates } = this;
    const {
      versions = ['TLSv1.2', 'TLSv1.3'],
      protocols = ['h2'],
      demandsCertificate = false,
    } = settings;
    const name = certificateName(settings);
    const [first = name] = settings.chain ?? [];
    const chain = settings.chain?.map((one) => certificates.leaf(one)).join('');
    return {
      cert: chain ?? certificates.chain(name),
      key: certificates.key(first),
      minVersion: versions[0],
      maxVersion: versions[1],
      ...(protocols.length > 0 && { ALPNProtocols: [...protocols] }),
      // A server may have what a client must refuse: weak keys, old versions.
      ciphers: 'DEFAULT@SECLEVEL=0',
      ...(demandsCertificate && {
        requestCert: true,
        rejectUnauthorized: true,
        ca: [certificates.leaf('root')],
      }),
    };
  }

  private accept(socket: Socket): void {
    const record: ConnectionRecord = {
      number: this.connections.length,
      kind: 'nothing',
      tunnelTo: undefined,
      serverName: '',
      version: undefined,
      client: null,
      isResumed: false,
      calls: 0,
      hasToken: false,
    };
    this.connections.push(record);
    this.sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => this.sockets.delete(socket));
    this.byPort.set(socket.remotePort ?? 0, record);
    this.readFirst(socket, record);
  }

  private readFirst(socket: Socket, record: ConnectionRecord): void {
    socket.once('readable', () => {
      const first: unknown = socket.read();
      if (Buffer.isBuffer(first)) this.dispatch(socket, record, first);
    });
  }

  private dispatch(socket: Socket, record: ConnectionRecord, first: Buffer): void {
    const { manner } = this.settings;
    const text = first.toString('latin1');
    const connectTo = /^CONNECT (\S+) HTTP\/1\.1\r\n/.exec(text)?.[1];
    if (connectTo !== undefined) {
      record.tunnelTo = connectTo;
      this.tunnel(socket, record);
      return;
    }
    record.kind =
      first[0] === HANDSHAKE && first[1] === MAJOR_VERSION
        ? 'tls'
        : text.startsWith(PREFACE)
          ? 'plain'
          : 'other';
    if (record.kind === 'tls') record.serverName = readServerName(first);
    if (manner === 'silent') socket.resume();
    else if (manner === 'closing') socket.destroy();
    else if (manner === 'http/1.1') socket.end('HTTP/1.1 400 Bad Request\r\n\r\n');
    else {
      socket.unshift(first);
      if (record.kind === 'tls' && manner !== 'plain') this.tls?.emit('connection', socket);
      else this.injector.injectConnection(socket);
    }
  }

  private tunnel(socket: Socket, record: ConnectionRecord): void {
    const { manner } = this.settings;
    if (manner === 'silent proxy') socket.resume();
    else if (manner === 'refusing proxy') socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
    else {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      this.readFirst(socket, record);
    }
  }

  private secured(socket: TLSSocket): void {
    socket.on('error', () => {});
    const record = this.byPort.get(socket.remotePort ?? 0);
    if (record !== undefined) {
      const subject: { CN?: unknown } | undefined = socket.getPeerCertificate().subject;
      record.version = socket.getProtocol() ?? undefined;
      record.client = typeof subject?.CN === 'string' ? subject.CN : null;
      record.isResumed = socket.isSessionReused();
    }
    if (this.settings.manner === 'no settings') socket.resume();
    else this.injector.injectConnection(socket);
  }
}

/** The certificate of a server in the table. */
export function certificateName({ certificate = 'good', names }: ServerSettings): string {
  return names === undefined ? certificate : nameOfNames(names);
}

/** The entry of the table for a certificate with these names, which `root` signed. */
export function nameOfNames(names: readonly string[]): string {
  return `with ${JSON.stringify(names)}`;
}
