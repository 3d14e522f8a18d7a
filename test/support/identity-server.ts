import type { Socket } from 'node:net';
import {
  Client,
  credentials,
  Server,
  ServerInterceptingCall,
  type ChannelOptions,
  type ServerCredentials,
  type ServerInterceptor,
  type ServiceError,
} from '@grpc/grpc-js';
import { peerIdentity, type AuthenticatedCall } from '../../src/server';
import { tlsConnectionOf } from '../../src/security/peer/tls-connections';
import { echoMethod } from './echo-backend';
import type { TestCertificate, TestCertificates } from './test-certificates';
import { Folder } from './tls';
import { bind } from './listen';

/** What a call sees of its client. */
export interface SeenClient {
  readonly spiffeId: string | undefined;
  readonly uriSans: readonly string[];
  readonly dnsSans: readonly string[];
  readonly subject: string;
  readonly serial: string;
}

function describe(call: AuthenticatedCall): SeenClient | undefined {
  const identity = peerIdentity(call);
  if (identity === undefined) return undefined;
  const { spiffeId, uriSans, dnsSans, subject, certificate } = identity;
  return { spiffeId, uriSans, dnsSans, subject, serial: certificate.serialNumber };
}

const definition = (name: string, requestStream: boolean, responseStream: boolean) => ({
  ...echoMethod,
  path: `/test.Identity/${name}`,
  requestStream,
  responseStream,
});

export const methods = {
  unary: definition('Unary', false, false),
  clientStream: definition('ClientStream', true, false),
  serverStream: definition('ServerStream', false, true),
  bidi: definition('Bidi', true, true),
};

/** A plain server of grpc-js, which answers every kind of call with what it sees of its client. */
export class IdentityServer {
  port = 0;
  /** What interceptors saw, by call. */
  readonly intercepted: { readonly isTls: boolean; readonly peer: SeenClient | undefined }[] = [];
  /** The ports of clients, by subject: one for each connection that had a call. */
  readonly remotePorts = new Map<string, Set<number | undefined>>();
  private readonly server: Server;

  constructor() {
    const interceptor: ServerInterceptor = (_method, call) => {
      const peer = describe(call);
      const tls = tlsConnectionOf(call);
      this.intercepted.push({ isTls: tls.ok && tls.value !== undefined, peer });
      const ports = this.remotePorts.get(peer?.subject ?? '') ?? new Set();
      this.remotePorts.set(peer?.subject ?? '', ports.add(call.getConnectionInfo().remotePort));
      return new ServerInterceptingCall(call);
    };
    this.server = new Server({ interceptors: [interceptor] });
    const answer = (call: AuthenticatedCall) => Buffer.from(JSON.stringify(describe(call) ?? null));
    this.server.addService(methods, {
      unary: (call: AuthenticatedCall, callback: (e: null, b: Buffer) => void) =>
        callback(null, answer(call)),
      clientStream: (
        call: AuthenticatedCall & NodeJS.EventEmitter & { resume(): void },
        callback: (e: null, b: Buffer) => void,
      ) => {
        call.resume();
        call.on('end', () => callback(null, answer(call)));
      },
      serverStream: (call: AuthenticatedCall & { write(b: Buffer): void; end(): void }) => {
        call.write(answer(call));
        call.end();
      },
      bidi: (
        call: AuthenticatedCall & NodeJS.EventEmitter & { write(b: Buffer): void; end(): void },
      ) => {
        call.on('data', () => call.write(answer(call)));
        call.on('end', () => call.end());
      },
    });
  }

  async bind(serverCredentials: ServerCredentials, address = '127.0.0.1:0'): Promise<number> {
    this.port = await bind(this.server, serverCredentials, address);
    return this.port;
  }

  /** Returns what serves connections that others have accepted. */
  inject(serverCredentials: ServerCredentials): (socket: Socket) => void {
    const injector = this.server.createConnectionInjector(serverCredentials);
    return (socket) => injector.injectConnection(socket);
  }

  stop(): void {
    this.server.forceShutdown();
  }
}

/** A client of its own connection. */
export function identityClient(
  port: number,
  root: TestCertificate,
  own?: TestCertificate,
  options: ChannelOptions = {},
): Client {
  const secured = credentials.createSsl(
    Buffer.from(root.certificate),
    own === undefined ? null : Buffer.from(own.privateKey),
    own === undefined ? null : Buffer.from(own.certificateChain),
  );
  return new Client(`127.0.0.1:${port}`, secured, {
    'grpc.use_local_subchannel_pool': 1,
    'grpc.initial_reconnect_backoff_ms': 100,
    'grpc.max_reconnect_backoff_ms': 100,
    ...options,
  });
}

const same = (bytes: Buffer) => bytes;

/** Calls the unary method. @returns what the server saw; `undefined` if that was nothing. */
export function whoAmI(client: Client, timeoutMs = 20_000): Promise<SeenClient | undefined> {
  return new Promise((resolve, reject) => {
    const onAnswer = (error: ServiceError | null, answer?: Buffer) => {
      if (error === null) resolve(parseAnswer(answer));
      else reject(error);
    };
    const deadline = Date.now() + timeoutMs;
    client.makeUnaryRequest(
      methods.unary.path,
      same,
      same,
      Buffer.alloc(0),
      { deadline },
      onAnswer,
    );
  });
}

export function parseAnswer(answer: Buffer | undefined): SeenClient | undefined {
  const seen: SeenClient | null = JSON.parse(String(answer));
  return seen ?? undefined;
}

/** Files of certificates in a folder of their own, each replaced at once. */
export class CertificateFolder extends Folder {
  /** Writes `tls.crt` and `tls.key`. @returns the option `files`. */
  writeIdentity({ certificateChain, privateKey }: TestCertificate): {
    readonly certificateFile: string;
    readonly privateKeyFile: string;
    readonly refreshIntervalMs: number;
  } {
    const privateKeyFile = this.write('tls.key', privateKey);
    const certificateFile = this.write('tls.crt', certificateChain);
    return { certificateFile, privateKeyFile, refreshIntervalMs: 1000 };
  }
}

/** A server, the files of its certificates, and clients, all of one test. */
export class IdentityWorld {
  folder = new CertificateFolder();
  server = new IdentityServer();
  private readonly clients: Client[] = [];

  /** A client of its own connection, which is closed after the test. */
  client(root: TestCertificate, own?: TestCertificate): Client {
    return this.add(identityClient(this.server.port, root, own));
  }

  add(client: Client): Client {
    this.clients.push(client);
    return client;
  }

  /** Replaces the server by one that is not bound yet. */
  restart(): void {
    this.server.stop();
    this.server = new IdentityServer();
  }

  end(): void {
    for (const client of this.clients.splice(0)) client.close();
    this.folder.close();
    this.restart();
    this.folder = new CertificateFolder();
  }

  close(): void {
    this.server.stop();
    this.folder.close();
  }
}

/** Returns the world of the tests of a file, which is a new one for each of them. */
export function useIdentityWorld(certificates: TestCertificates): IdentityWorld {
  const world = new IdentityWorld();
  afterEach(() => world.end());
  afterAll(() => {
    world.close();
    certificates.close();
  });
  return world;
}
