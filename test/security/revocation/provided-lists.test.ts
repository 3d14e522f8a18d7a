// Revocation lists of an application (gRFC A69), in handshakes of clients and servers.

import type { X509Certificate } from 'node:crypto';
import { connect } from 'node:net';
import { createServer, type Server, type TLSSocket } from 'node:tls';
import {
  registerCertificateProvider,
  type CertificateWatcher,
  type CrlProvider,
} from '../../../src';
import { XdsSecureConnector } from '../../../src/security/client/secure-connector';
import { TlsPolicy } from '../../../src/security/client/tls-policy';
import type {
  CertificateProvider,
  CertificateSource,
} from '../../../src/security/providers/certificate-provider';
import { defineCertificateProvider } from '../../../src/security/providers/define-certificate-provider';
import { createReloadingServerCredentials } from '../../../src/server';
import { systemClock } from '../../../src/util/clock';
import { MAX_REVOCATION_BYTES } from '../../../src/util/limits';
import { useIdentityWorld, whoAmI } from '../../support/identity-server';
import { listen } from '../../support/listen';
import { revocationList } from '../../support/revocation-lists';
import { TestCertificates, type TestCertificate } from '../../support/test-certificates';

const certificates = new TestCertificates();
const root = certificates.authority('root');
const middle = root.sign('middle', { isAuthority: true });
const web = middle.sign('web', { names: ['URI:spiffe://td.test/web'] });
const other = middle.sign('other', { names: ['URI:spiffe://td.test/other'] });
const serverIdentity = root.sign('server', { names: ['IP:127.0.0.1'] });
const revokesWeb = () => String(revocationList(middle, [web]));

const NODE = { id: 'n', cluster: '', locality: undefined, metadata: undefined };
const logged: string[] = [];
const logger = { trace() {}, info() {}, error: (text: () => string) => logged.push(text()) };

describe('the lists that an application supplies for the certificates of servers', () => {
  const servers: Server[] = [];
  let watcher: CertificateWatcher;
  let provider: CertificateProvider;

  beforeEach(() => {
    logged.length = 0;
    const type = defineCertificateProvider({
      name: 'vault',
      parseConfig: () => ({}),
      create: () => ({ watch: (_name, given) => ((watcher = given), () => {}) }),
    });
    const context = { instanceName: 'i', node: NODE, clock: systemClock, logger };
    provider = type.create({ value: {} }, context);
  });
  afterEach(() => servers.splice(0).forEach((server) => server.close()));

  /** Connects to a server with a certificate. @returns `connected`, or why not. */
  async function dial(
    identity: TestCertificate,
    crls: Parameters<CertificateWatcher['onRoots']>[0],
  ) {
    const { certificateChain: cert, privateKey: key } = identity;
    const server = createServer({ cert, key, ALPNProtocols: ['h2'] });
    server.on('tlsClientError', () => undefined);
    server.on('secureConnection', (socket: TLSSocket) =>
      socket.on('error', () => undefined).unref(),
    );
    servers.push(server);
    const tls = {
      sni: '',
      autoHostSni: false,
      autoSniSanValidation: false,
      rootCertificates: { kind: 'instance', instanceName: 'i', certificateName: '' },
      identity: undefined,
      sanMatchers: [],
    } as const;
    const source: CertificateSource = {
      nodeId: 'n',
      watch: ({ certificateName }, onChanged) => provider.watch(certificateName, onChanged),
    };
    const connector = new XdsSecureConnector(new TlsPolicy('shop', tls, source), {});
    const socket = connect(await listen(server), '127.0.0.1');
    try {
      watcher.onRoots(crls);
      await connector.waitForReady();
      (await connector.connect(socket)).socket.destroy();
      return 'connected';
    } catch (error) {
      return String(error);
    } finally {
      socket.destroy();
      connector.destroy();
    }
  }
  const rootsWith = (crl: CrlProvider['crl'], failRevocationUndetermined = false) => ({
    certificates: root.certificate,
    crlProvider: { crl },
    failRevocationUndetermined,
  });

  it('refuse the revoked ones, in PEM and DER', async () => {
    const der = revocationList(middle, [web], { form: 'DER' });
    for (const list of [revokesWeb(), der, new Uint8Array(der)]) {
      expect(
        await dial(
          web,
          rootsWith(() => list),
        ),
      ).toMatch(/"CN=web" .* of "CN=middle" is revoked$/);
      expect(
        await dial(
          other,
          rootsWith(() => list),
        ),
      ).toBe('connected');
    }
  });

  it('are asked for by each certificate below the trusted authority', async () => {
    const asked: string[] = [];
    const crl = ({ subject }: X509Certificate) => void asked.push(subject);
    expect(await dial(web, rootsWith(crl))).toBe('connected');
    expect(asked).toEqual(['CN=web', 'CN=middle']);
    const revokesMiddle = String(revocationList(root, [middle]));
    expect(
      await dial(
        web,
        rootsWith(() => revokesMiddle),
      ),
    ).toMatch(/"CN=middle" .* is revoked$/);
  });

  it('refuse certificates that none covers, where that is configured', async () => {
    expect(
      await dial(
        web,
        rootsWith(() => undefined, true),
      ),
    ).toMatch(/no certificate revocation list/);
    const lists = new Map([
      ['CN=middle', String(revocationList(middle))],
      ['CN=root', String(revocationList(root))],
    ]);
    expect(
      await dial(
        web,
        rootsWith(({ issuer }) => lists.get(issuer), true),
      ),
    ).toBe('connected');
  });

  it('are asked for once in a handshake, so that an answer that changes does not hide another', async () => {
    const lists = new Map([
      ['CN=middle', revokesWeb()],
      ['CN=root', String(revocationList(root))],
    ]);
    const seen = new Set<string>();
    const crl = ({ subject, issuer }: X509Certificate) => {
      if (seen.has(subject)) return lists.get(issuer);
      seen.add(subject);
      throw new Error('first');
    };
    expect(await dial(web, rootsWith(crl, true))).toMatch(/no certificate revocation list/);
    expect(await dial(web, rootsWith(crl, true))).toMatch(/is revoked$/);
  });

  it('belong to the last roots, also if these have the same certificates', async () => {
    const held = provider.watch('', () => {});
    const none = { certificates: root.certificate };
    expect(await dial(web, none)).toBe('connected');
    expect(await dial(web, rootsWith(revokesWeb))).toMatch(/is revoked$/);
    expect(
      await dial(
        web,
        rootsWith(() => undefined),
      ),
    ).toBe('connected');
    expect(await dial(web, rootsWith(revokesWeb))).toMatch(/is revoked$/);
    expect(await dial(web, { ...none, certificates: 'bad' })).toMatch(/is revoked$/);
    expect(await dial(web, none)).toBe('connected');
    held.release();
  });

  it.each<[string, unknown, RegExp]>([
    [
      'throws',
      () => {
        throw new Error('vault sealed');
      },
      /crlProvider: vault sealed$/,
    ],
    ['returns a promise', () => Promise.resolve(''), /must not return a promise$/],
    ['returns no list', () => 'x', /no certificate revocation list in PEM or DER found$/],
    ['returns no bytes', () => 7, /a list must be a string or a Uint8Array$/],
    ['returns what could be copied', () => ({ length: 3e8 }), /must be a string or a Uint8Array$/],
    ['returns too much', () => Buffer.alloc(MAX_REVOCATION_BYTES + 1), /a list has more than/],
    ['is none', undefined, /crlProvider: .*not a function$/],
  ])('say nothing if the provider %s, which is logged once', async (_case, crl, expected) => {
    const roots = rootsWith(crl as CrlProvider['crl']);
    expect(await dial(web, roots)).toBe('connected');
    expect(logged).toEqual([expect.stringMatching(expected)]);
    expect(logged[0]).toMatch(/^certificate provider instance "i": crlProvider: /);
    expect(await dial(web, { ...roots, failRevocationUndetermined: true })).toMatch(
      /no certificate revocation list/,
    );
  });
});

describe('the lists that an application supplies for the certificates of clients', () => {
  const world = useIdentityWorld(certificates);

  it('refuse the revoked ones', async () => {
    registerCertificateProvider({
      name: 'vault',
      parseConfig: () => ({}),
      create: () => ({
        watch(_name, given) {
          given.onIdentity(serverIdentity);
          given.onRoots({ certificates: root.certificate, crlProvider: { crl: revokesWeb } });
          return () => {};
        },
      }),
    });
    const certificateProvider = { pluginName: 'vault' };
    await world.server.bind(createReloadingServerCredentials({ certificateProvider }));
    await expect(whoAmI(world.client(root, web), 1500)).rejects.toThrow(/UNAVAILABLE|DEADLINE/);
    expect((await whoAmI(world.client(root, other)))?.spiffeId).toBe('spiffe://td.test/other');
  });
});
