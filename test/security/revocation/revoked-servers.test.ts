import { connect, type Socket } from 'node:net';
import { createServer, type Server, type TLSSocket } from 'node:tls';
import { X509Certificate } from 'node:crypto';
import { ServerCredentials } from '@grpc/grpc-js';
import { loadCertificateFiles } from '../../../src/security/credentials/tls';
import { parseCertificateFiles } from '../../../src/security/providers/certificate-files';
import type { CertificateSource } from '../../../src/security/providers/certificate-provider';
import { createFileWatcher } from '../../../src/security/providers/file-watcher';
import { XdsSecureConnector } from '../../../src/security/client/secure-connector';
import { TlsPolicy } from '../../../src/security/client/tls-policy';
import { CredentialsRegistry } from '../../../src/security/credentials/credentials-registry';
import {
  builtInChannelCredentials,
  ManagementCredentials,
} from '../../../src/security/credentials/management-credentials';
import { GrpcTransportFactory } from '../../../src/transport/grpc-transport';
import { HttpClient } from '../../../src/transport/rest/http-client';
import { systemClock } from '../../../src/util/clock';
import { silentLogger } from '../../../src/util/logger';
import { Violations } from '../../../src/util/violations';
import type { XdsTransport } from '../../../src/xds-client/transport';
import { DiagnosticRecorder } from '../../support/diagnostic-recorder';
import { eventually } from '../../support/eventually';
import { listen } from '../../support/listen';
import { RestServer } from '../../support/rest-server';
import { revocationList } from '../../support/revocation-lists';
import { TestCertificates, type TestCertificate } from '../../support/test-certificates';
import { useFolder } from '../../support/tls';
import { bundleMap } from '../../support/trust-bundles';
import { ByteServer, METHOD } from '../../transport/byte-server';
import { StreamRecorder } from '../../transport/stream-recorder';

const certificates = new TestCertificates();
const root = certificates.authority('root');
const middle = root.sign('middle', { isAuthority: true });
const names = ['DNS:localhost', 'URI:spiffe://td.test/web'];
const web = middle.sign('web', { names });
const other = middle.sign('other', { names });
const foreign = certificates.authority('foreign');

const folder = useFolder();
const servers: Server[] = [];
const sockets: Socket[] = [];
const transports: XdsTransport[] = [];
afterAll(() => {
  for (const transport of transports) transport.close();
  for (const socket of sockets) socket.destroy();
  for (const one of servers) one.close();
  certificates.close();
});

/** Starts a server of HTTP/2 until the end of the tests. @returns its port. */
function serve({ certificateChain: cert, privateKey: key }: TestCertificate): Promise<number> {
  const one = createServer({ cert, key, ALPNProtocols: ['h2'] });
  one.on('tlsClientError', () => undefined);
  one.on('secureConnection', (socket: TLSSocket) => socket.on('error', () => undefined).unref());
  servers.push(one);
  return listen(one);
}

let lists = 0;
/** Writes a new file of lists. @returns its path. */
const writeLists = (...all: readonly Buffer[]) =>
  folder.write(`${lists++}.crl`, String(Buffer.concat(all)));

const roots = () => ({ ca_certificate_file: folder.write('ca.pem', root.certificate) });
const bundles = () => ({
  spiffe_trust_bundle_map_file: folder.write(
    'bundles.json',
    bundleMap({ 'td.test': [root], 'other.test': [foreign] }),
  ),
});

/** The connections to a cluster whose certificates are in files. @param config That of the provider `file_watcher`. */
function connectorOf(config: object): XdsSecureConnector {
  const type = createFileWatcher({ spiffeBundles: true });
  const violations = Violations.root();
  const parsed = type.parseConfig(config, violations);
  if (parsed === undefined) throw new Error(violations.all.join('; '));
  const context = {
    instanceName: 'i',
    node: { id: 'n', cluster: '', locality: undefined, metadata: undefined },
    clock: systemClock,
    logger: silentLogger,
  };
  const provider = type.create(parsed, context);
  const source: CertificateSource = {
    nodeId: 'n',
    watch: ({ certificateName: name }, onChanged) => provider.watch(name, onChanged),
  };
  const tls = {
    sni: '',
    autoHostSni: false,
    autoSniSanValidation: false,
    rootCertificates: { kind: 'instance', instanceName: 'i', certificateName: '' },
    identity: undefined,
    sanMatchers: [],
  } as const;
  return new XdsSecureConnector(new TlsPolicy('shop', tls, source), {});
}

/** @returns the connection, or why there is none. */
async function dial(connector: XdsSecureConnector, port: number): Promise<Socket | string> {
  const socket = connect(port, '127.0.0.1');
  sockets.push(socket);
  try {
    await connector.waitForReady();
    const secured = await connector.connect(socket);
    sockets.push(secured.socket);
    return secured.socket;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

async function outcome(config: object, server: TestCertificate): Promise<string> {
  const connector = connectorOf(config);
  const connected = await dial(connector, await serve(server));
  connector.destroy();
  return typeof connected === 'string' ? connected : 'connected';
}

const serialOf = ({ certificate }: TestCertificate) =>
  new X509Certificate(certificate).serialNumber;
const revoked = `cluster "shop": certificate check failure: the certificate "CN=web" (serial number ${serialOf(web)}) of "CN=middle" is revoked`;

describe('a backend', () => {
  it.each([
    ['of authorities in a file', roots],
    ['of a trust bundle', bundles],
  ])('%s is refused if its certificate is revoked (gRFC A69)', async (_, trust) => {
    const crl_file = writeLists(revocationList(middle, [web]));
    expect(await outcome({ ...trust(), crl_file }, web)).toBe(revoked);
    expect(await outcome({ ...trust(), crl_file }, other)).toBe('connected');
  });

  it('is refused if the authority that signed its certificate is revoked', async () => {
    const crl_file = writeLists(revocationList(root, [middle]));
    expect(await outcome({ ...roots(), crl_file }, web)).toMatch(/"CN=middle" .* is revoked$/);
  });

  it('is refused if no list covers it, where that is configured', async () => {
    const crl_file = writeLists(revocationList(middle));
    expect(await outcome({ ...roots(), crl_file }, web)).toBe('connected');
    const fails = { ...roots(), crl_file, fail_revocation_undetermined: true };
    expect(await outcome(fails, web)).toMatch(/no certificate revocation list .*"CN=middle"/);
    const all = writeLists(revocationList(middle), revocationList(root));
    expect(await outcome({ ...fails, crl_file: all }, web)).toBe('connected');
  });

  it('is refused in a handshake that counts as one of a certificate (gRFC A118)', async () => {
    const handshakes = new DiagnosticRecorder('grpc-xds:tls-handshake');
    const crl_file = writeLists(revocationList(middle, [web]));
    await outcome({ ...roots(), crl_file }, web);
    expect(handshakes.take()).toMatchObject([
      ['grpc-xds:tls-handshake', { result: 'CERTIFICATE_VERIFICATION_FAILED' }],
    ]);
  });

  it('keeps its connections when it is revoked, and gets no others', async () => {
    const crl_file = writeLists(revocationList(middle));
    const port = await serve(web);
    const connector = connectorOf({ ...roots(), crl_file });
    const before = await dial(connector, port);
    expect(before).not.toEqual(expect.any(String));
    folder.write(
      crl_file.slice(crl_file.lastIndexOf('/') + 1),
      String(revocationList(middle, [web])),
    );
    await eventually(
      () => dial(connector, port),
      (dialled) => dialled === revoked,
    );
    expect((before as Socket).destroyed).toBe(false);
    connector.destroy();
  });
});

describe('a management server', () => {
  it('is refused if its certificate is revoked', async () => {
    const { certificateChain: chain, privateKey: key } = web;
    const pair = { cert_chain: Buffer.from(chain), private_key: Buffer.from(key) };
    const own = ServerCredentials.createSsl(null, [pair]);
    const server = await new ByteServer((call) => call.write('hello'), 'localhost:0', own).start();
    const factory = new GrpcTransportFactory({
      credentials: new ManagementCredentials({
        channel: new CredentialsRegistry('channel', builtInChannelCredentials()),
        call: new CredentialsRegistry('call', []),
      }),
      clock: systemClock,
    });
    const open = (crl_file: string): StreamRecorder => {
      const transport = factory.create({
        serverUri: server.address,
        channelCreds: { type: 'tls', config: { ...roots(), crl_file } },
        callCreds: [],
        features: new Set(),
        key: '',
      });
      if (!transport.ok) throw new Error(transport.error);
      transports.push(transport.value);
      const recorder = new StreamRecorder();
      transport.value.openStream(METHOD, recorder).read();
      return recorder;
    };
    const accepted = open(writeLists(revocationList(middle)));
    await accepted.untilMessage();
    const refused = open(writeLists(revocationList(middle, [web])));
    expect((await refused.untilClosed()).details).toMatch(
      /certificate check failure: the certificate "CN=web" .* is revoked/,
    );
    server.stop();
  });
});

describe('a management server over HTTPS', () => {
  it('is checked on each connection, also one that could resume a session', async () => {
    const headers = { connection: 'close' };
    const { certificateChain: cert, privateKey: key } = web;
    const server = await RestServer.start(() => ({ headers, body: {} }), { cert, key });
    const crl_file = writeLists(revocationList(middle));
    const config = parseCertificateFiles(
      { ...roots(), crl_file },
      { spiffeBundles: true, isFileRequired: false },
      Violations.root(),
    );
    if (config === undefined) throw new Error('invalid');
    const files = loadCertificateFiles(config, { clock: systemClock, logger: silentLogger });
    if (!files.ok) throw new Error(files.error);
    const options = { clock: systemClock, timeoutMs: 5000, maxMessageBytes: 1000 };
    const client = new HttpClient({ ...options, certificates: files.value });
    const post = () =>
      new Promise((resolve) =>
        client.post({ url: new URL(server.uri), headers: {}, body: '{}' }, resolve),
      );
    expect(await post()).toMatchObject({ ok: true, value: { status: 200 } });
    folder.write(
      crl_file.slice(crl_file.lastIndexOf('/') + 1),
      String(revocationList(middle, [web])),
    );
    files.value.read();
    const answer = await post();
    expect(JSON.stringify(answer)).toContain('is revoked');
    client.close();
    server.stop();
  });
});

describe('the configuration', () => {
  it.each<[what: string, config: object, problem: string]>([
    [
      'a file and a directory',
      { crl_file: 'a', crl_directory: 'b' },
      'crl_file: must not be set together with crl_directory',
    ],
    [
      'undetermined certificates without lists',
      { fail_revocation_undetermined: true },
      'fail_revocation_undetermined: needs crl_directory or crl_file',
    ],
    [
      'what is no boolean',
      { crl_file: 'a', fail_revocation_undetermined: 1 },
      'fail_revocation_undetermined: must be a boolean',
    ],
    ['what is no path', { crl_directory: 1 }, 'crl_directory: must be a string'],
  ])('rejects %s', (_, config, problem) => {
    const violations = Violations.root();
    const rules = { spiffeBundles: true, isFileRequired: false };
    parseCertificateFiles({ ca_certificate_file: 'ca', ...config }, rules, violations);
    expect(violations.all).toEqual([problem]);
  });

  it('rejects lists for the authorities of the system', () => {
    const violations = Violations.root();
    const rules = { spiffeBundles: true, isFileRequired: false };
    parseCertificateFiles({ crl_directory: 'lists' }, rules, violations);
    expect(violations.all).toEqual([
      'crl_directory: needs ca_certificate_file or spiffe_trust_bundle_map_file',
    ]);
  });
});
