import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect as connectHttp2, type ClientHttp2Session } from 'node:http2';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Duplex, type DuplexOptions } from 'node:stream';
import { connect as connectTls, createServer as createTlsServer } from 'node:tls';
import {
  logVerbosity,
  Server,
  ServerCredentials,
  setLogger,
  setLogVerbosity,
  type ServerInterceptor,
} from '@grpc/grpc-js';
import { createAuthorizationInterceptor } from '../../src/authorization/authorization-interceptor';
import type { AuthorizationRule } from '../../src/authorization/authorization-policy';
import { createReloadingServerCredentials } from '../../src/server';
import { echoMethod } from '../support/echo-backend';
import { CertificateFolder } from '../support/identity-server';
import { TestCertificates, type TestCertificate } from '../support/test-certificates';

const folder = mkdtempSync(join(tmpdir(), 'grpc-xds-peers-'));
const certificates = new TestCertificates();
const root = certificates.authority('root');
const identity = root.sign('server', { names: ['DNS:server.test'] });
const files = new CertificateFolder();
files.writeIdentity(identity);
const ca = files.write('ca.crt', root.certificate);
const lines: string[] = [];

beforeAll(() => {
  setLogVerbosity(logVerbosity.ERROR);
  setLogger({ error: (line: string) => lines.push(line) });
});
afterAll(() => {
  setLogVerbosity(logVerbosity.NONE);
  setLogger(console);
  rmSync(folder, { recursive: true });
  certificates.close();
  files.close();
});

const clients = {
  uri: root.sign('web', { names: ['URI:spiffe://td/web', 'DNS:web.test'] }),
  dns: root.sign('web', { names: ['DNS:web.test'] }),
  subject: root.sign('web'),
  stranger: certificates.authority('other').sign('web', { names: ['URI:spiffe://td/web'] }),
};

const roots = Buffer.from(root.certificate);
const pair = {
  cert_chain: Buffer.from(identity.certificateChain),
  private_key: Buffer.from(identity.privateKey),
};
const insecure = () => ServerCredentials.createInsecure();
const ssl = (verify: boolean) => ServerCredentials.createSsl(roots, [pair], verify);
/** Asks for a certificate, and takes any. */
const asking = () => {
  const credentials = ssl(false);
  Object.assign(credentials._getConstructorOptions() ?? {}, {
    requestCert: true,
    rejectUnauthorized: false,
  });
  return credentials;
};
const optional = () =>
  createReloadingServerCredentials({
    files: { certificateFile: files.path('tls.crt'), privateKeyFile: files.path('tls.key') },
    trust: { caCertificateFile: ca },
    requireClientCertificate: false,
  });

/** Hands the bytes of a socket on. Nothing says what they have been before. */
class Opaque extends Duplex {
  constructor(
    private readonly below: Socket,
    options?: DuplexOptions,
  ) {
    super(options);
    below.on('data', (data: Buffer) => this.push(data)).on('end', () => this.push(null));
    below.on('error', () => this.destroy()).on('close', () => this.destroy());
  }
  override _read(): void {}
  override _write(data: Buffer, _encoding: string, done: () => void): void {
    this.below.write(data, () => done());
  }
  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.below.destroy();
    done(error);
  }
}

/** Accepts the connections of a server of grpc-js that listens or not. */
type Serve = (server: Server, credentials: ServerCredentials) => Promise<number | string>;

const bound: Serve = (server, credentials) =>
  new Promise((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', credentials, (error, port) =>
      error === null ? resolve(port) : reject(error),
    );
  });

let sockets = 0;
const ofPath: Serve = (server, credentials) => {
  const path = join(folder, `${sockets++}.sock`);
  return new Promise((resolve, reject) => {
    server.bindAsync(`unix:${path}`, credentials, (error) =>
      error === null ? resolve(path) : reject(error),
    );
  });
};

const injected =
  (handOn: (socket: Socket, inject: (stream: Duplex) => void) => void): Serve =>
  async (server, credentials) => {
    const injector = server.createConnectionInjector(credentials);
    const listening = createServer((socket) => {
      socket.on('error', () => undefined);
      handOn(socket, (stream) => injector.injectConnection(stream));
    });
    const { forceShutdown } = server;
    server.forceShutdown = () => {
      listening.close();
      forceShutdown.call(server);
    };
    await once(listening.listen(0, '127.0.0.1'), 'listening');
    return (listening.address() as AddressInfo).port;
  };

const asIs = (socket: Socket, inject: (stream: Duplex) => void) => inject(socket);
const asStream = (socket: Socket, inject: (stream: Duplex) => void) => inject(new Opaque(socket));
/** Secures connections before the server has them, in a server that never listens. */
const overTls = (socket: Socket, inject: (stream: Duplex) => void) => {
  const { certificateChain: cert, privateKey: key } = identity;
  createTlsServer({ cert, key, ALPNProtocols: ['h2'] }, inject).emit('connection', socket);
};

const DENIED = '7';

/** Connects a client of HTTP/2. */
function connectTo(to: number | string, own: PeerKind['client']): ClientHttp2Session {
  const socket = typeof to === 'string' ? connect(to) : connect(to, '127.0.0.1');
  const secured = own === 'none' || own === 'plain' ? undefined : own;
  const secure = () =>
    connectTls({
      socket,
      servername: 'server.test',
      ca: roots,
      ALPNProtocols: ['h2'],
      ...(secured && { cert: secured.certificateChain, key: secured.privateKey }),
    });
  const session = connectHttp2(own === 'plain' ? 'http://server.test' : 'https://server.test', {
    createConnection: () => (own === 'plain' ? socket : secure()),
  });
  return session.on('error', () => undefined);
}

/** Runs a call. @returns the code of its status. */
function call(session: ClientHttp2Session): Promise<string> {
  return new Promise((resolve) => {
    const stream = session.request({
      ':method': 'POST',
      ':path': echoMethod.path,
      te: 'trailers',
      'content-type': 'application/grpc',
    });
    let status: unknown;
    const see = (seen: Record<string, unknown>) => (status = seen['grpc-status'] ?? status);
    stream
      .on('response', see)
      .on('trailers', see)
      .on('error', (error) => resolve(String(error)));
    stream.on('close', () => resolve(String(status))).resume();
    stream.end(Buffer.alloc(5));
  });
}

interface Rules {
  readonly deny?: AuthorizationRule;
  readonly allow?: AuthorizationRule;
}

/** A server with one client, whose calls are judged by the rules that a test gives. */
class JudgedPeer {
  private judge: ServerInterceptor = (_method, call) => call as never;
  private readonly server: Server;
  private session: ClientHttp2Session | undefined;

  constructor(private readonly kind: PeerKind) {
    const judge: ServerInterceptor = (method, call) => this.judge(method, call);
    this.server = new Server({ interceptors: [...(kind.before ?? []), judge] });
    const say = (_: unknown, done: (error: null, reply: Buffer) => void) =>
      done(null, Buffer.alloc(0));
    this.server.addService({ say: echoMethod }, { say });
  }

  async start(): Promise<void> {
    const { serve, credentials, client } = this.kind;
    this.session = connectTo(await serve(this.server, credentials()), client);
  }

  /** Returns the code of the status of a call. */
  async call({ deny, allow = { name: 'all' } }: Rules): Promise<string> {
    if (this.session === undefined) throw new Error('not started');
    const policy = { name: 'shop', allow_rules: [allow], ...(deny && { deny_rules: [deny] }) };
    this.judge = createAuthorizationInterceptor({ policy });
    return call(this.session);
  }

  stop(): void {
    this.session?.destroy();
    this.server.forceShutdown();
  }
}

interface PeerKind {
  readonly name: string;
  readonly serve: Serve;
  readonly credentials: () => ServerCredentials;
  readonly client: TestCertificate | 'none' | 'plain';
  /** Interceptors before that of the policy. */
  readonly before?: readonly ServerInterceptor[];
  /** The principals that it is; `undefined` if they are not known. */
  readonly is: readonly string[] | undefined;
}

/** An interceptor that hides the call below it, as one of an application can. */
const hiding: ServerInterceptor = (_method, { ...methods }) => methods as never;
const wrapping: ServerInterceptor = (_method, call) => {
  const names = ['start', 'sendMetadata', 'sendMessage', 'sendStatus', 'startRead', 'getPeer'];
  const others = ['getDeadline', 'getHost', 'getAuthContext', 'getConnectionInfo'];
  const entries = [...names, ...others, 'getMetricsRecorder'].map((name) => {
    const method: unknown = Reflect.get(call, name);
    if (typeof method !== 'function') throw new Error(name);
    return [name, method.bind(call)];
  });
  return hiding(undefined as never, Object.fromEntries(entries));
};

const NAMES = ['', '*', 'spiffe://td/web', 'web.test', 'CN=web'];
const [URI, DNS, SUBJECT] = ['spiffe://td/web', 'web.test', 'CN=web'];

const KINDS: readonly PeerKind[] = [
  { name: 'plain text', serve: bound, credentials: insecure, client: 'plain', is: [] },
  { name: 'a unix socket', serve: ofPath, credentials: insecure, client: 'plain', is: [] },
  {
    name: 'an injected socket',
    serve: injected(asIs),
    credentials: insecure,
    client: 'plain',
    is: [],
  },
  {
    name: 'TLS that asks for no certificate',
    serve: bound,
    credentials: () => ssl(false),
    client: 'none',
    is: [''],
  },
  {
    name: 'TLS that asks for no certificate, of a client that has one',
    serve: bound,
    credentials: () => ssl(false),
    client: clients.uri,
    is: [''],
  },
  {
    name: 'TLS over a unix socket',
    serve: ofPath,
    credentials: () => ssl(false),
    client: 'none',
    is: [''],
  },
  {
    name: 'TLS over an injected socket',
    serve: injected(asIs),
    credentials: () => ssl(false),
    client: 'none',
    is: [''],
  },
  {
    name: 'TLS over a stream',
    serve: injected(asStream),
    credentials: () => ssl(false),
    client: 'none',
    is: [''],
  },
  {
    name: 'an injected TLS socket',
    serve: injected(overTls),
    credentials: insecure,
    client: 'none',
    is: [''],
  },
  {
    name: 'TLS with a certificate that nobody verifies',
    serve: bound,
    credentials: asking,
    client: clients.stranger,
    is: [''],
  },
  {
    name: 'optional mutual TLS without a certificate',
    serve: bound,
    credentials: optional,
    client: 'none',
    is: [''],
  },
  {
    name: 'optional mutual TLS with one',
    serve: bound,
    credentials: optional,
    client: clients.uri,
    is: ['*', URI],
  },
  {
    name: 'mutual TLS, with a URI',
    serve: bound,
    credentials: () => ssl(true),
    client: clients.uri,
    is: ['*', URI],
  },
  {
    name: 'mutual TLS, with a DNS name',
    serve: bound,
    credentials: () => ssl(true),
    client: clients.dns,
    is: ['*', DNS],
  },
  {
    name: 'mutual TLS, with a subject alone',
    serve: bound,
    credentials: () => ssl(true),
    client: clients.subject,
    is: ['*', SUBJECT],
  },
  {
    name: 'mutual TLS over a unix socket',
    serve: ofPath,
    credentials: () => ssl(true),
    client: clients.uri,
    is: ['*', URI],
  },
  {
    name: 'mutual TLS behind an interceptor that hides the call',
    serve: bound,
    credentials: () => ssl(true),
    client: clients.uri,
    before: [wrapping],
    is: ['*', URI],
  },
  {
    name: 'a stream',
    serve: injected(asStream),
    credentials: insecure,
    client: 'plain',
    is: undefined,
  },
  {
    name: 'TLS behind an interceptor that hides the call',
    serve: bound,
    credentials: () => ssl(false),
    client: 'none',
    before: [wrapping],
    is: undefined,
  },
  {
    name: 'plain text behind an interceptor that hides the call',
    serve: bound,
    credentials: insecure,
    client: 'plain',
    before: [wrapping],
    is: undefined,
  },
];

describe.each(KINDS)('a peer of the kind: $name', (kind) => {
  const { is } = kind;
  const peer = new JudgedPeer(kind);
  beforeAll(() => peer.start());
  afterAll(() => peer.stop());

  it.each(NAMES)('is judged by the principal "%s"', async (principal) => {
    const rule = { name: 'r', source: { principals: [principal] } };
    const matches = is?.includes(principal);
    // What is not known is neither let through by a deny rule nor let in by an allow rule.
    expect(await peer.call({ deny: rule })).toBe(matches === false ? '0' : DENIED);
    expect(await peer.call({ allow: rule })).toBe(matches === true ? '0' : DENIED);
  });

  it('is judged by the path where no rule names a principal', async () => {
    const rule = { name: 'r', request: { paths: [echoMethod.path] } };
    expect(await peer.call({ deny: rule })).toBe(DENIED);
    expect(await peer.call({ allow: rule })).toBe('0');
  });
});

it('says once of a connection that cannot be evaluated why, with what to do', async () => {
  lines.length = 0;
  const kind = KINDS.find(({ name }) => name === 'a stream');
  if (kind === undefined) throw new Error('no such kind');
  const peer = new JudgedPeer(kind);
  await peer.start();
  const deny = { name: 'r', source: { principals: [''] } };
  expect(await peer.call({ deny })).toBe(DENIED);
  peer.stop();
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatch(
    /authorization policy "shop": call "\/test.Echo\/Say" denied: it cannot be evaluated, since it is not known whether its connection is secured by TLS: give createConnectionInjector\(\) a net\.Socket or a tls\.TLSSocket/,
  );
});
