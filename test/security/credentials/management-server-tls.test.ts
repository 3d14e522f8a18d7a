import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ServerCredentials } from '@grpc/grpc-js';
import { CredentialsRegistry } from '../../../src/security/credentials/credentials-registry';
import {
  ManagementCredentials,
  builtInChannelCredentials,
} from '../../../src/security/credentials/management-credentials';
import { GrpcTransportFactory } from '../../../src/transport/grpc-transport';
import { systemClock } from '../../../src/util/clock';
import type { XdsTransport } from '../../../src/xds-client/transport';
import { TestCertificates, type TestCertificate } from '../../support/test-certificates';
import { ByteServer, METHOD } from '../../transport/byte-server';
import { StreamRecorder } from '../../transport/stream-recorder';
import { listen } from '../../support/listen';

const fixture = (name: string) => join(__dirname, 'certificates', name);
const read = (name: string) => readFileSync(fixture(name));

describe('a management server with TLS', () => {
  let server: ByteServer;
  const transports: XdsTransport[] = [];

  beforeAll(async () => {
    const pairs = [{ cert_chain: read('server.pem'), private_key: read('server.key') }];
    const credentials = ServerCredentials.createSsl(read('ca.pem'), pairs, true);
    server = await new ByteServer(
      (call) => call.write('hello'),
      'localhost:0',
      credentials,
    ).start();
  });

  afterAll(() => {
    for (const transport of transports) transport.close();
    server.stop();
  });

  function open(
    config: object,
    { address }: { readonly address: string } = server,
  ): StreamRecorder {
    const factory = new GrpcTransportFactory({
      credentials: new ManagementCredentials({
        channel: new CredentialsRegistry('channel', builtInChannelCredentials()),
        call: new CredentialsRegistry('call', []),
      }),
      clock: systemClock,
    });
    const transport = factory.create({
      serverUri: address,
      channelCreds: { type: 'tls', config },
      callCreds: [],
      features: new Set(),
      key: '',
    });
    if (!transport.ok) throw new Error(transport.error);
    transports.push(transport.value);
    const recorder = new StreamRecorder();
    transport.value.openStream(METHOD, recorder).read();
    return recorder;
  }

  const identity = {
    certificate_file: fixture('client.pem'),
    private_key_file: fixture('client.key'),
  };

  it('is reached with the certificates of the configuration (gRFC A65)', async () => {
    const recorder = open({ ...identity, ca_certificate_file: fixture('ca.pem') });
    await recorder.untilMessage();
    expect(recorder.messages).toEqual(['hello']);
  });

  it('is not trusted if another authority is configured', async () => {
    const recorder = open({ ...identity, ca_certificate_file: fixture('other-ca.pem') });
    expect((await recorder.untilClosed()).details).toMatch(
      /^(unable to verify the first certificate|self-signed certificate in certificate chain|UNABLE_TO_VERIFY_LEAF_SIGNATURE|SELF_SIGNED_CERT_IN_CHAIN)/,
    );
  });

  it('is not trusted with the root certificates of the system', async () => {
    const recorder = open({});
    expect((await recorder.untilClosed()).code).toBe(14);
  });

  it('rejects a client without a certificate', async () => {
    const recorder = open({ ca_certificate_file: fixture('ca.pem') });
    expect((await recorder.untilClosed()).code).toBe(14);
  });

  // RFC 6066, 3: Node.js warns of an address (DEP0123), and refuses it from version 26 on.
  it('is not sent its address as a name', async () => {
    const asked = createServer();
    const port = await listen(asked);
    const received = new Promise((resolve) =>
      asked.once('connection', (socket) => {
        socket
          .on('error', () => {})
          .once('data', (bytes) => {
            resolve(bytes);
            socket.destroy();
          });
      }),
    );
    open({ ca_certificate_file: fixture('ca.pem') }, { address: `127.0.0.1:${port}` });
    // The ClientHello has names as text.
    expect(String(await received)).not.toContain('127.0.0.1');
    asked.close();
  });

  describe('with a trust bundle map (gRFC A87)', () => {
    const certificates = new TestCertificates();
    const authorities = { a: certificates.authority('a'), b: certificates.authority('b') };
    const servers: ByteServer[] = [];
    let folder: string;

    beforeEach(() => {
      folder = mkdtempSync(join(tmpdir(), 'bundles-'));
    });
    afterAll(() => certificates.close());
    afterEach(() => {
      for (const each of servers.splice(0)) each.stop();
      rmSync(folder, { recursive: true });
    });

    async function serve({ certificate, privateKey }: TestCertificate): Promise<ByteServer> {
      const pair = { cert_chain: Buffer.from(certificate), private_key: Buffer.from(privateKey) };
      const credentials = ServerCredentials.createSsl(null, [pair]);
      const started = await new ByteServer(
        (call) => call.write('hello'),
        'localhost:0',
        credentials,
      ).start();
      servers.push(started);
      return started;
    }

    /** A configuration with a bundle for each of these trust domains. */
    function bundlesOf(domains: Readonly<Record<string, TestCertificate>>): object {
      const entries = Object.entries(domains).map(([name, { certificate }]) => {
        const x5c = [new X509Certificate(certificate).raw.toString('base64')];
        return [name, { keys: [{ kty: 'EC', use: 'x509-svid', x5c }] }];
      });
      const path = join(folder, 'map.json');
      writeFileSync(path, JSON.stringify({ trust_domains: Object.fromEntries(entries) }));
      return { spiffe_trust_bundle_map_file: path, ca_certificate_file: fixture('ca.pem') };
    }

    it('is trusted by its SPIFFE ID under any host name', async () => {
      const own = await serve(
        authorities.a.sign('server', { names: ['URI:spiffe://a.test/server'] }),
      );
      const recorder = open(bundlesOf({ 'a.test': authorities.a }), own);
      await recorder.untilMessage();
      expect(recorder.messages).toEqual(['hello']);
    });

    it.each<[string, readonly string[], RegExp]>([
      [
        'a SPIFFE ID of another trust domain than that of its authority',
        ['URI:spiffe://b.test/server'],
        /the certificate is not signed by the trust bundle of the trust domain "b.test"/,
      ],
      [
        'a SPIFFE ID of an unknown trust domain',
        ['URI:spiffe://c.test/server'],
        /there is no trust bundle for the trust domain "c.test"/,
      ],
      ['only a host name', ['DNS:localhost'], /are not one SPIFFE ID/],
      [
        'two SPIFFE IDs',
        ['URI:spiffe://a.test/x', 'URI:spiffe://a.test/y'],
        /are not one SPIFFE ID/,
      ],
    ])('is not trusted with %s', async (_name, sans, reason) => {
      const own = await serve(authorities.a.sign('server', { names: sans }));
      const bundles = bundlesOf({ 'a.test': authorities.a, 'b.test': authorities.b });
      const { details } = await open(bundles, own).untilClosed();
      expect(details).toMatch(reason);
    });

    it('is not trusted by a map without trust domains', async () => {
      const own = await serve(
        authorities.a.sign('server', { names: ['URI:spiffe://a.test/server'] }),
      );
      expect((await open(bundlesOf({}), own).untilClosed()).code).toBe(14);
    });
  });
});
