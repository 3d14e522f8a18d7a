import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSystemTls, createTlsCredentialsType } from '../../../src/security/credentials/tls';
import type { SecureConnector } from '../../../src/grpc-js';
import { tlsOptions } from '../../../src/security/contexts/tls-options';
import { XdsSecureConnector } from '../../../src/security/client/secure-connector';
import { TlsPolicy } from '../../../src/security/client/tls-policy';
import { HttpClient } from '../../../src/transport/rest/http-client';
import { systemClock } from '../../../src/util/clock';
import { silentLogger } from '../../../src/util/logger';
import { ok } from '../../../src/util/result';
import { Violations } from '../../../src/util/violations';
import { TestCertificates } from '../../support/test-certificates';

// A server that chooses finite-field Diffie-Hellman chooses how long the client computes in one turn of the event loop: half a
// second with a group of 8,192 bits, before its certificate is looked at.

import tls, { createSecureContext, createServer, type Server, type TlsOptions } from 'node:tls';
import { listen } from '../../support/listen';

const certificates = new TestCertificates();
const ca = certificates.authority('CA');
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
const server = ca.sign('localhost', {
  names: ['DNS:localhost'],
  keyOf: { certificateChain: '', privateKey: key },
});
const folder = mkdtempSync(join(tmpdir(), 'key-exchange-'));
const caPath = join(folder, 'ca.pem');
writeFileSync(caPath, ca.certificate);
const servers: Server[] = [];
afterAll(() => {
  for (const each of servers) each.close();
  certificates.close();
  rmSync(folder, { recursive: true });
});

/** What only a client with finite-field Diffie-Hellman agrees to. */
const finiteField: readonly (readonly [string, TlsOptions])[] = [
  [
    'cipher suites with finite-field Diffie-Hellman',
    { ciphers: 'DHE-RSA-AES256-GCM-SHA384', dhparam: 'auto', maxVersion: 'TLSv1.2' },
  ],
  ['a small group of TLS 1.3', { ecdhCurve: 'ffdhe2048', minVersion: 'TLSv1.3' }],
  ['a large group of TLS 1.3', { ecdhCurve: 'ffdhe8192', minVersion: 'TLSv1.3' }],
];
/** What other clients agree to. */
const ellipticCurves: readonly TlsOptions[] = [
  {},
  { maxVersion: 'TLSv1.2' },
  ...['P-256', 'P-384', 'P-521', 'X448'].map((ecdhCurve) => ({ ecdhCurve })),
];

/** Starts a server. @returns its port. */
async function serve(options: TlsOptions): Promise<number> {
  const cert = server.certificateChain;
  const started = createServer({ cert, key, ALPNProtocols: ['h2', 'http/1.1'], ...options });
  servers.push(started);
  started.on('tlsClientError', () => {});
  started.on('connection', (socket: Socket) => socket.unref());
  started.on('secureConnection', (socket) => {
    socket.on('error', () => {});
    socket.on('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}'));
  });
  return listen(started);
}

/** Connects. @returns `secure`, or why there is no connection. */
async function secure(connector: SecureConnector, port: number): Promise<string> {
  try {
    await connector.waitForReady();
    const { socket } = await connector.connect(connect(port, '127.0.0.1'));
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket
      .on('error', () => {})
      .resume()
      .end();
    await closed;
    return 'secure';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    connector.destroy();
  }
}

function clusterConnector(): SecureConnector {
  const source = {
    nodeId: 'n',
    watch: () => ({
      current: { roots: ok({ certificates: [ca.certificate] }), identity: undefined },
      release: () => undefined,
    }),
  };
  const policy = new TlsPolicy(
    'c',
    {
      sni: '',
      autoHostSni: false,
      autoSniSanValidation: false,
      identity: undefined,
      rootCertificates: { kind: 'instance', instanceName: 'i', certificateName: '' },
      sanMatchers: [],
    },
    source,
  );
  return new XdsSecureConnector(policy, {});
}

const tlsType = createTlsCredentialsType({
  clock: systemClock,
  logger: silentLogger,
  spiffeBundles: true,
});
const target = { scheme: 'dns', path: 'localhost' };

function tlsConnector(): SecureConnector {
  const made = tlsType.parse({ ca_certificate_file: caPath }, Violations.root())?.();
  if (made?.ok !== true) throw new Error('no credentials');
  return made.value._createSecureConnector(target, {});
}

async function post(port: number): Promise<string> {
  const made = tlsType.parseForHttps?.({ ca_certificate_file: caPath }, Violations.root())?.();
  if (made?.ok !== true) throw new Error('no certificates');
  const client = new HttpClient({
    clock: systemClock,
    timeoutMs: 10_000,
    maxMessageBytes: 1000,
    certificates: made.value,
  });
  const url = new URL(`https://localhost:${port}/`);
  const answer = await new Promise<string>((resolve) => {
    client.post({ url, headers: {}, body: '{}' }, (result) => {
      resolve(result.ok ? 'secure' : result.error.details);
    });
  });
  client.close();
  return answer;
}

const clients: readonly (readonly [string, (port: number) => Promise<string>])[] = [
  ['a cluster', (port) => secure(clusterConnector(), port)],
  ['a management server over gRPC', (port) => secure(tlsConnector(), port)],
  ['a management server over HTTPS', post],
];

describe.each(clients)('the connection to %s', (_name, attempt) => {
  it.each(finiteField)('fails with a server that has only %s', async (_what, options) => {
    expect(await attempt(await serve(options))).toMatch(/handshake.failure/i);
  });

  it.each(ellipticCurves)('is made with a server that has elliptic curves: %j', async (options) => {
    expect(await attempt(await serve(options))).toBe('secure');
  });
});

it('the error of a cluster names the cause', async () => {
  const [[, options] = ['', {}]] = finiteField;
  expect(await secure(clusterConnector(), await serve(options))).toMatch(
    /or one that has only finite-field Diffie-Hellman, which is not offered \(ERR_SSL_/,
  );
});

it('the credentials google_default agree to no finite-field Diffie-Hellman', () => {
  const contexts = jest.spyOn(tls, 'createSecureContext');
  expect(createSystemTls({}).ok).toBe(true);
  expect(contexts.mock.calls).toEqual([[tlsOptions()]]);
  contexts.mockRestore();
});

it('the credentials google_default trust the roots of GRPC_DEFAULT_SSL_ROOTS_FILE_PATH', async () => {
  const made = createSystemTls({ rootsPath: caPath });
  if (!made.ok) throw new Error(made.error);
  const port = await serve({});
  expect(await secure(made.value._createSecureConnector(target, {}), port)).toBe('secure');
  expect(createSystemTls({ rootsPath: join(folder, 'none') })).toEqual({
    ok: false,
    error: expect.stringContaining('none cannot be read: ENOENT'),
  });
});

describe('the cipher suites that clients offer', () => {
  const namesOf = (cipherSuites: string | undefined) => {
    const { ciphers } = tlsOptions({ cipherSuites });
    createSecureContext({ ciphers });
    return ciphers;
  };

  it('are those of Node.js', () => {
    expect(namesOf(undefined)).toBe(`${tls.DEFAULT_CIPHERS}:!kDHE`);
    process.env['GRPC_SSL_CIPHER_SUITES'] = '';
    expect(tlsOptions()).toEqual(tlsOptions({ cipherSuites: undefined }));
    delete process.env['GRPC_SSL_CIPHER_SUITES'];
  });

  it('are those of GRPC_SSL_CIPHER_SUITES if it is set', () => {
    expect(namesOf('ECDHE-RSA-AES128-GCM-SHA256')).toBe('ECDHE-RSA-AES128-GCM-SHA256:!kDHE');
    expect(() => namesOf('DHE-RSA-AES256-GCM-SHA384')).toThrow(/no cipher match/);
  });
});
