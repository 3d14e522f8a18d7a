import { connect, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { createServer, type TlsOptions } from 'node:tls';
import { DEFAULT_LIMITS } from '../../../src/bootstrap/limits';
import { Re2Compiler } from '../../../src/resources/matching/re2-compiler';
import type { UpstreamTls } from '../../../src/resources/tls/tls';
import type {
  Certificates,
  TrustedRoots,
} from '../../../src/security/providers/certificate-provider';
import { XdsSecureConnector } from '../../../src/security/client/secure-connector';
import { ENDPOINT_HOSTNAME_ARG, TlsPolicy } from '../../../src/security/client/tls-policy';
import type { CertificateSource } from '../../../src/security/providers/certificate-provider';
import type { ChannelStats } from '../../../src/observe/stats/stats-plugin';
import { processStats } from '../../../src/observe/stats/stats-registry';
import { err, ok } from '../../../src/util/result';
import { Violations } from '../../../src/util/violations';
import { DiagnosticRecorder } from '../../support/diagnostic-recorder';
import { FakeClock } from '../../support/fake-clock';
import { MetricsReader, WAYS } from '../../support/metrics-reader';
import { TestCertificates, type TestCertificate } from '../../support/test-certificates';
import { listen } from '../../support/listen';

const certificates = new TestCertificates();
const ca = certificates.authority('CA');
const otherCa = certificates.authority('Other CA');
const intermediate = certificates
  .authority('Far CA')
  .sign('Intermediate CA', { isAuthority: true });
const server = ca.sign('server', {
  names: ['DNS:a.example', 'URI:spiffe://td/server', 'IP:127.0.0.1'],
});
const client = ca.sign('client', { names: ['URI:spiffe://td/client'] });

const servers: Server[] = [];
const sockets: Socket[] = [];
afterAll(() => {
  for (const socket of sockets) socket.destroy();
  for (const one of servers) one.close();
  certificates.close();
});

/** Connects to a server, until the end of the tests. */
function dial(port: number): Socket {
  const socket = connect(port, '127.0.0.1');
  sockets.push(socket);
  return socket;
}

/** Starts a server, until the end of the tests. @returns its port. */
function start(one: Server): Promise<number> {
  servers.push(one);
  one.on('connection', (socket: Socket) => socket.unref());
  return listen(one);
}

function tlsServer(certificate: TestCertificate, options: TlsOptions = {}): Promise<number> {
  const { certificateChain: cert, privateKey: key } = certificate;
  const one = createServer({ cert, key, ALPNProtocols: ['h2'], ...options });
  one.on('tlsClientError', () => {});
  return start(one);
}

const rootsOf = (...authorities: readonly TestCertificate[]): TrustedRoots => ({
  certificates: authorities.map(({ certificate }) => certificate),
});

const plain: UpstreamTls = {
  sni: '',
  autoHostSni: false,
  autoSniSanValidation: false,
  rootCertificates: { kind: 'instance', instanceName: 'i', certificateName: 'ROOTCA' },
  identity: undefined,
  sanMatchers: [],
};

/** The certificates of an instance, set by the test. */
class Instance implements CertificateSource {
  readonly nodeId = 'n1';
  stats: ChannelStats | undefined;
  watches = 0;
  private readonly watchers = new Set<() => void>();

  constructor(private material: Certificates) {}

  set(material: Certificates): void {
    this.material = material;
    for (const notify of this.watchers) notify();
  }

  watch(_instance: object, onChanged: () => void) {
    this.watches++;
    this.watchers.add(onChanged);
    const current = () => this.material;
    return {
      get current() {
        return current();
      },
      release: () => {
        this.watches--;
        this.watchers.delete(onChanged);
      },
    };
  }
}

const good: Certificates = { roots: ok(rootsOf(ca)), identity: ok(client) };

interface Attempt {
  readonly tls?: Partial<UpstreamTls>;
  readonly material?: Certificates;
  readonly hostname?: string;
}

function connectorOf({ tls, material = good, hostname }: Attempt, clock?: FakeClock) {
  const instance = new Instance(material);
  instance.stats = processStats.forChannel('xds:///shop');
  const policy = new TlsPolicy('c', { ...plain, ...tls }, instance);
  const options = hostname === undefined ? {} : { [ENDPOINT_HOSTNAME_ARG]: hostname };
  return { instance, connector: new XdsSecureConnector(policy, options, undefined, clock) };
}

/** Connects. @returns the protocol, or why there is no connection. */
async function attempt(port: number, options: Attempt = {}): Promise<string> {
  const { connector } = connectorOf(options);
  try {
    await connector.waitForReady();
    const socket = dial(port);
    const { socket: secured, secure } = await connector.connect(socket);
    const closed = new Promise((resolve) => secured.once('close', resolve));
    // Not destroyed at once: the server has yet to receive the end of the handshake.
    secured.resume().end();
    await closed;
    return secure ? 'secure' : 'insecure';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    connector.destroy();
  }
}

const exact = (type: 'dns' | 'uri' | 'any', text: string) =>
  ({ type, matcher: { kind: 'exact', text, ignoreCase: false } }) as const;

describe('a connection of a cluster that asks for TLS', () => {
  // The context of so many is made in steps, after which roots are no longer added all at once.
  it.each<[string, () => TestCertificate, string]>([
    ['one of the last of 300 authorities signed it', () => server, 'secure'],
    [
      'an intermediate signed it that is the last of 300, its own issuer not among them',
      () => intermediate.sign('s'),
      'secure',
    ],
    [
      'none of 300 authorities signed it',
      () => certificates.authority('Third CA').sign('s'),
      'is not signed by a trusted authority',
    ],
  ])('verifies a server by many authorities: %s', async (_, make, outcome) => {
    const port = await tlsServer(make());
    const many = Array.from({ length: 298 }, () => otherCa);
    const material = { ...good, roots: ok(rootsOf(...many, ca, intermediate)) };
    expect(await attempt(port, { material })).toContain(outcome);
  });

  it('fails with the issuer and the validity of a certificate whose chain is not good', async () => {
    const validity = ['20200101000000Z', '20210101000000Z'] as const;
    const facts = 'issued by "CN=CA", valid from 2020-01-01T00:00:00Z to 2021-01-01T00:00:00Z';
    expect(await attempt(await tlsServer(ca.sign('s', { validity })))).toBe(
      `cluster "c": TLS handshake failed: the certificate of the server, or of its issuer, has expired (CERT_HAS_EXPIRED): ${facts}`,
    );
    const stranger = await attempt(await tlsServer(otherCa.sign('s\u001b[2J')));
    expect(stranger).toContain(
      '(UNABLE_TO_GET_ISSUER_CERT_LOCALLY): issued by "CN=Other CA", valid',
    );
    expect(stranger).not.toContain('\u001b');
  });

  it('names the matchers that no name satisfies, up to five, in any case and as patterns', async () => {
    const regex = new Re2Compiler(DEFAULT_LIMITS).compile('b+', 1, Violations.root());
    if (regex === undefined) throw new Error('not a pattern');
    const sanMatchers: UpstreamTls['sanMatchers'] = [
      { type: 'any', matcher: { kind: 'prefix', text: 'x', ignoreCase: true } },
      { type: 'email', matcher: { kind: 'regex', regex } },
      ...Array.from({ length: 5 }, (_, i) => exact('any', `${i}${'y'.repeat(300)}`)),
    ];
    const text = await attempt(await tlsServer(server), { tls: { sanMatchers } });
    expect(text).toContain(
      'do not satisfy any of the 7 matchers of the cluster [prefix "x" in any case, email regex "b+", exact "0yyy',
    );
    expect(text).toMatch(/…", exact "2y+…", and 2 more\]$/);
    expect(text.length).toBeLessThan(1500);
  });
});

describe('the server name of a connection', () => {
  it.each<[string, string]>([
    ['a.example', 'secure'],
    [
      'b.example',
      'cluster "c" (server name "b.example"): certificate check failure: the subject alternative names [dns:a.example, uri:spiffe://td/server, ip:127.0.0.1] of the certificate do not include the server name "b.example"',
    ],
  ])(
    'is what the certificate must be for with auto_sni_san_validation: %s',
    async (sni, outcome) => {
      const port = await tlsServer(server);
      const tls = {
        sni,
        autoSniSanValidation: true,
        sanMatchers: [exact('uri', 'spiffe://td/none')],
      };
      expect(await attempt(port, { tls })).toBe(outcome);
    },
  );
});

describe('an address as the name of a server', () => {
  const auto = { autoSniSanValidation: true } as const;
  const byAddress = ca.sign('s', { names: ['IP:127.0.0.1', 'IP:2001:db8::1', 'DNS:a.example'] });
  const byText = ca.sign('s', { names: ['DNS:127.0.0.1', 'URI:spiffe://td/127.0.0.1'] });

  it.each<[string, Partial<UpstreamTls>, string | undefined]>([
    ['in sni', { ...auto, sni: '127.0.0.1' }, undefined],
    ['as the hostname of the endpoint', { ...auto, autoHostSni: true }, '127.0.0.1'],
    ['with a port', { ...auto, autoHostSni: true }, '127.0.0.1:443'],
    ['of IPv6', { ...auto, autoHostSni: true }, '2001:DB8:0::1'],
    ['of IPv6 in brackets', { ...auto, autoHostSni: true }, '[2001:db8::1]:443'],
  ])(
    '%s is compared with the addresses of the certificate, and not sent',
    async (_name, tls, hostname) => {
      const sent: unknown[] = [];
      const SNICallback = (name: string, done: (error: null) => void) => {
        sent.push(name);
        done(null);
      };
      const options = { tls, ...(hostname !== undefined && { hostname }) };
      expect(await attempt(await tlsServer(byAddress, { SNICallback }), options)).toBe('secure');
      expect(await attempt(await tlsServer(byText, { SNICallback }), options)).toContain(
        'do not include the server name',
      );
      expect(sent).toEqual([]);
    },
  );
});

describe('a server that renegotiates over TLS 1.2', () => {
  it('ends the connection: nothing would check its certificate again', async () => {
    const { certificateChain: cert, privateKey: key } = server;
    const one = createServer({ cert, key, ALPNProtocols: ['h2'], maxVersion: 'TLSv1.2' });
    const outcome = new Promise<string>((resolve) => {
      one.on('tlsClientError', () => {});
      one.on('secureConnection', (socket) => {
        socket.on('error', () => {});
        socket.renegotiate({}, (error) => resolve(error?.message ?? 'renegotiated'));
        socket.once('close', () => resolve('closed'));
      });
    });
    const { connector } = connectorOf({});
    const { socket } = await connector.connect(dial(await start(one)));
    socket.on('error', () => {});
    socket.resume();
    expect(await outcome).not.toBe('renegotiated');
    socket.destroy();
    connector.destroy();
  });
});

describe('the authorities of a trust domain', () => {
  const own = 'nameConstraints=critical,permitted;URI:td';
  const constrained = certificates.authority('constrained', { extensions: own });
  const twin = certificates.authority('constrained', { keyOf: constrained });
  const other = certificates.authority('other');
  const inside = constrained.sign('s', { names: ['URI:spiffe://td/a'] });
  const outside = constrained.sign('s', { names: ['URI:spiffe://td/a', 'DNS:x.example'] });
  const restricted = certificates.authority('restricted', {
    extensions: 'nameConstraints=critical,permitted;DNS:td.example',
  });
  const unrestricted = certificates.authority('restricted', { keyOf: restricted });
  const beyond = restricted.sign('s', { names: ['URI:spiffe://td/a', 'DNS:bank.example'] });

  const materialOf = (
    trusted: Readonly<Record<string, readonly TestCertificate[]>>,
  ): Certificates => {
    const entries = Object.entries(trusted).map(
      ([td, all]) => [td, all.map(({ certificate }) => certificate)] as const,
    );
    return { ...good, roots: ok({ certificates: [], bundles: new Map(entries) }) };
  };
  const anyOfTd = {
    sanMatchers: [
      { type: 'uri', matcher: { kind: 'prefix', text: 'spiffe://td/', ignoreCase: false } },
    ],
  } as const;
  const regex = { sanMatchers: [exact('uri', 'spiffe://td/a'), exact('uri', 'spiffe://b/a')] };

  it.each<[string, TestCertificate, Certificates, string]>([
    ['accept their own names', inside, materialOf({ b: [twin], td: [constrained] }), 'secure'],
    ['accept what nothing restricts', outside, materialOf({ b: [other], td: [twin] }), 'secure'],
    [
      'refuse a name outside their constraints, which the same authority in another bundle does not have',
      beyond,
      materialOf({ b: [unrestricted], td: [restricted] }),
      'permitted subtree violation',
    ],
    [
      'refuse it in another order of the bundles',
      beyond,
      materialOf({ td: [restricted], b: [unrestricted] }),
      'permitted subtree violation',
    ],
    [
      'refuse a certificate that only another bundle leads to',
      inside,
      materialOf({ b: [constrained], td: [other] }),
      'the certificate is not signed by the trust bundle of the trust domain "td"',
    ],
  ])('%s, whatever the cluster determines', async (_name, certificate, material, text) => {
    const port = await tlsServer(certificate);
    for (const tls of [{}, anyOfTd, regex])
      expect(await attempt(port, { material, tls })).toContain(text);
  });

  it('are chosen anew for a server that is of another domain than before', async () => {
    const { connector } = connectorOf({ material: materialOf({ td: [constrained], b: [other] }) });
    for (const one of [inside, other.sign('s', { names: ['URI:spiffe://b/a'] }), inside]) {
      const { socket } = await connector.connect(dial(await tlsServer(one)));
      socket.destroy();
    }
    connector.destroy();
  });

  it('are known after the first connection of a cluster: others need no connection to ask', async () => {
    let connections = 0;
    const { certificateChain: cert, privateKey: key } = inside;
    const one = createServer({ cert, key, ALPNProtocols: ['h2'] });
    one.on('tlsClientError', () => {});
    one.on('connection', () => connections++);
    const port = await start(one);
    const { connector } = connectorOf({ material: materialOf({ td: [constrained], b: [other] }) });
    for (const expected of [2, 3, 4]) {
      const { socket } = await connector.connect(dial(port));
      socket.destroy();
      expect(connections).toBe(expected);
    }
    connector.destroy();
  });
});

describe('the certificates of a connection', () => {
  it('are waited for, and those of the moment are used', async () => {
    const port = await tlsServer(server);
    const { instance, connector } = connectorOf({
      material: { roots: undefined, identity: undefined },
    });
    const ready = connector.waitForReady();
    instance.set({ roots: ok(rootsOf(otherCa)), identity: ok(client) });
    await ready;
    instance.set(good);
    const { socket } = await connector.connect(dial(port));
    socket.destroy();
    connector.destroy();
    expect(instance.watches).toBe(0);
  });

  it('are waited for at most 20 s', async () => {
    const clock = new FakeClock();
    const { connector } = connectorOf(
      { material: { roots: undefined, identity: undefined } },
      clock,
    );
    const ready = connector.waitForReady();
    clock.advance(20_000);
    await expect(ready).rejects.toThrow('cluster "c": certificates were not loaded within 20 s');
    connector.destroy();
  });

  it('fail the connection with the reason of the provider', async () => {
    const material = { ...good, roots: err('certificate provider instance "i": ca.pem: ENOENT') };
    const { connector } = connectorOf({ material });
    await expect(connector.waitForReady()).rejects.toThrow(
      'cluster "c": certificate provider instance "i": ca.pem: ENOENT',
    );
    connector.destroy();
  });

  it('are not waited for once the subchannel is closed', async () => {
    const { connector } = connectorOf({ material: { roots: undefined, identity: undefined } });
    const ready = connector.waitForReady();
    connector.destroy();
    connector.destroy();
    await expect(ready).rejects.toThrow('the subchannel was closed');
  });
});

describe('a handshake', () => {
  it('ends after 20 s with a server that says nothing', async () => {
    const port = await start(createTcpServer(() => {}));
    const clock = new FakeClock();
    const { connector } = connectorOf({}, clock);
    const socket = dial(port);
    const connected = connector.connect(socket);
    await new Promise((resolve) => socket.once('connect', resolve));
    clock.advance(20_000);
    await expect(connected).rejects.toThrow(
      'cluster "c": TLS handshake failed: timed out after 20 s',
    );
    expect(socket.destroyed).toBe(true);
    connector.destroy();
  });

  it('fails with the reason if the connection is reset before the SETTINGS of the server', async () => {
    const port = await tlsServer(server);
    const links: Socket[] = [];
    const link = createTcpServer((socket) => {
      const upstream = dial(port);
      upstream.on('error', () => {});
      links.push(socket);
      socket.pipe(upstream).pipe(socket);
    });
    const { connector } = connectorOf({});
    const { socket } = await connector.connect(dial(await start(link)));
    const failed = new Promise<Error>((resolve) => socket.once('error', resolve));
    socket.resume();
    for (const each of links) each.resetAndDestroy();
    expect((await failed).message).toBe(
      'cluster "c": the server closed the connection after the TLS handshake; it probably does not accept the client certificate',
    );
    connector.destroy();
  });

  it('is an event with its result', async () => {
    const recorder = new DiagnosticRecorder('grpc-xds:tls-handshake');
    await attempt(await tlsServer(server));
    await attempt(await tlsServer(otherCa.sign('s')));
    await attempt(await tlsServer(server), { tls: { sanMatchers: [exact('any', 'x')] } });
    expect(recorder.take().map(([, event]) => event)).toMatchObject([
      { nodeId: 'n1', cluster: 'c', result: 'SUCCESS', protocol: 'TLSv1.3', error: undefined },
      { cluster: 'c', result: 'CERTIFICATE_AUTHORITY_INVALID', protocol: undefined },
      { cluster: 'c', result: 'CERTIFICATE_HOSTNAME_MISMATCH', protocol: undefined },
    ]);
  });

  it('has the results that gRFC A118 names', async () => {
    const recorder = new DiagnosticRecorder('grpc-xds:tls-handshake');
    const nextYear = new Date().getUTCFullYear() + 1;
    const expired = ['20200101000000Z', '20210101000000Z'] as const;
    const future = [`${nextYear}1231000000Z`, '21200101000000Z'] as const;
    await attempt(await tlsServer(ca.sign('s', { validity: expired })));
    await attempt(await tlsServer(ca.sign('s', { validity: future })));
    await attempt(await start(createTcpServer((socket) => socket.destroy())));
    await attempt(await tlsServer(server, { minVersion: 'TLSv1', maxVersion: 'TLSv1.1' }));
    await attempt(await tlsServer(server, { ALPNProtocols: ['http/1.1'] }));
    expect(recorder.take().map(([, event]) => event)).toMatchObject([
      { result: 'CERTIFICATE_EXPIRED' },
      { result: 'CERTIFICATE_NOT_YET_VALID' },
      { result: 'PEER_CONNECTION_CLOSED' },
      { result: 'PROTOCOL_VERSION_UNSUPPORTED' },
      { result: 'NO_APPLICATION_PROTOCOL' },
    ]);
  });

  it.each(WAYS)('is counted with its result by a %s', async (way) => {
    const reader = new MetricsReader(way, {
      enableMetrics: ['grpc.client.tls.handshakes'],
      optionalLabels: ['grpc.tls.handshake.resumed', 'grpc.lb.backend_service'],
    });
    await attempt(await tlsServer(server));
    await attempt(await tlsServer(otherCa.sign('s')));
    await attempt(await tlsServer(server), { tls: { sanMatchers: [exact('any', 'x')] } });
    const labelsOf = (result: string) => {
      return {
        'grpc.target': 'xds:///shop',
        'grpc.lb.backend_service': 'c',
        'grpc.tls.handshake.result': result,
        'grpc.tls.handshake.resumed': 'FULL_HANDSHAKE',
      };
    };
    expect(await reader.series('grpc.client.tls.handshakes')).toEqual([
      { labels: labelsOf('CERTIFICATE_AUTHORITY_INVALID'), value: 1, sum: undefined },
      { labels: labelsOf('CERTIFICATE_HOSTNAME_MISMATCH'), value: 1, sum: undefined },
      { labels: labelsOf('SUCCESS'), value: 1, sum: undefined },
    ]);
    await reader.stop();
  });
});
