import { connect, type Server, type Socket } from 'node:net';
import { createServer } from 'node:tls';
import { DEFAULT_LIMITS } from '../../../src/bootstrap/limits';
import { Re2Compiler } from '../../../src/resources/matching/re2-compiler';
import type { SanMatcher, UpstreamTls } from '../../../src/resources/tls/tls';
import { checkPeer } from '../../../src/security/peer/check-peer';
import { SanMatchers } from '../../../src/security/peer/san-matcher';
import { XdsSecureConnector } from '../../../src/security/client/secure-connector';
import { TlsPolicy } from '../../../src/security/client/tls-policy';
import { ok } from '../../../src/util/result';
import { Violations } from '../../../src/util/violations';
import { peerIdentity } from '../../../src';
import { countWork } from '../../support/count-work';
import {
  certificateKey,
  certificateWithNames,
  rsaChain,
  rsaPublicKey,
  type RawName,
} from '../../support/der-certificate';
import { type TestCertificate, TestCertificates } from '../../support/test-certificates';
import { listen } from '../../support/listen';

const certificates = new TestCertificates();
const ca = certificates.authority('CA');
const servers: Server[] = [];
afterAll(() => {
  for (const one of servers) one.close();
  certificates.close();
});

/** Short, so that the certificate is within the 100 kB that OpenSSL accepts. */
const dnsNames = (count: number) => Array.from({ length: count }, (_, index) => `DNS:n${index}.x`);
const exact = (text: string): SanMatcher => ({
  type: 'dns',
  matcher: { kind: 'exact', text, ignoreCase: false },
});
const contains = (text: string): SanMatcher => ({
  type: 'dns',
  matcher: { kind: 'contains', text, ignoreCase: false },
});
const list = (count: number, make: (text: string) => SanMatcher) =>
  Array.from({ length: count }, (_, index) => make(`m${index}.y`));

const plain: UpstreamTls = {
  sni: '',
  autoHostSni: false,
  autoSniSanValidation: false,
  identity: undefined,
  rootCertificates: { kind: 'instance', instanceName: 'i', certificateName: '' },
  sanMatchers: [],
};

/** Connects to a server with a certificate. @returns why there is no connection, or `secure`. */
async function attempt(
  { certificateChain, privateKey }: TestCertificate,
  sanMatchers: readonly SanMatcher[] = [],
  { bundles = false, copies = 0 } = {},
): Promise<string> {
  const cert = certificateChain + ca.certificate.repeat(copies);
  const server = createServer({ cert, key: privateKey, ALPNProtocols: ['h2'] });
  servers.push(server);
  server.on('tlsClientError', () => {});
  server.on('connection', (socket: Socket) => socket.unref());
  const port = await listen(server);
  const roots = {
    certificates: [ca.certificate],
    ...(bundles && {
      bundles: new Map([
        ['a.test', [ca.certificate]],
        ['b.test', [ca.certificate]],
      ]),
    }),
  };
  const source = {
    nodeId: 'n',
    watch: () => ({
      current: { roots: ok(roots), identity: undefined },
      release: () => undefined,
    }),
  };
  const policy = new TlsPolicy('c', { ...plain, sanMatchers }, source);
  const connector = new XdsSecureConnector(policy, {});
  try {
    const { socket } = await connector.connect(connect(port, '127.0.0.1'));
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.resume().end();
    await closed;
    return 'secure';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    connector.destroy();
  }
}

describe('a server whose certificate has 10,000 names', () => {
  const hostile = ca.sign('hostile', { names: [...dnsNames(9999), 'URI:spiffe://a.test/x'] });
  const problem =
    'cluster "c": certificate check failure: the certificate has more than 1000 subject alternative names';

  it('is refused with the bound, whatever it is compared with', async () => {
    expect(await attempt(hostile)).toBe(problem);
    expect(await attempt(hostile, [exact('n0.x')])).toBe(problem);
    expect(await attempt(hostile, list(1000, contains))).toBe(problem);
  });

  it('is refused with the bound when it is asked for its trust domain', async () => {
    expect(await attempt(hostile, [], { bundles: true })).toBe(problem);
  });
});

it('a server with 1,000 names is compared with 1,000 matchers', async () => {
  const many = ca.sign('many', { names: dnsNames(1000) });
  expect(await attempt(many, [...list(999, exact), exact('N999.x.')])).toBe('secure');
  expect(await attempt(many, list(1000, exact))).toContain(
    'and 995 more] of the certificate do not satisfy any of the 1000 matchers',
  );
});

it('a server may present a chain of 100 certificates', async () => {
  expect(await attempt(ca.sign('long'), [], { copies: 98 })).toBe('secure');
});

// OpenSSL checks every signature of a chain in one turn, also of one that leads to no trusted authority, and has no bound of its
// own but these. docs/limits.md has what that takes.
it.each<[string, () => string, string]>([
  [
    '100 certificates that do not verify',
    () => rsaChain(100, rsaPublicKey(2048), 2048),
    'certificate signature failure',
  ],
  ['more than 100 kB', () => rsaChain(26, rsaPublicKey(16_384), 16_384), 'excessive message size'],
])('a server is refused that presents a chain of %s', async (_what, chain, problem) => {
  const hostile = { ...ca, certificateChain: chain(), privateKey: certificateKey };
  expect(await attempt(hostile)).toContain(problem);
});

describe('matching the names of a certificate', () => {
  const names = dnsNames(1000).map((name) => ({ type: 'dns', value: name.slice(4) }) as const);
  const raw = (count: number, ...others: readonly RawName[]) =>
    certificateWithNames([
      ...others,
      ...dnsNames(count).map(
        (name) => ({ type: 'dns', bytes: Buffer.from(name.slice(4)) }) as const,
      ),
    ]).raw;

  it('looks exact matchers up, rather than trying each', () => {
    const matchers = SanMatchers.of(list(1000, exact));
    expect(countWork(() => matchers.match(names))).toBeLessThan(10 * names.length);
  });

  it('prepares the matchers of a cluster once', () => {
    const matchers = list(1000, exact);
    expect(SanMatchers.of(matchers)).toBe(SanMatchers.of(matchers));
  });

  it.each(['contains', 'regex'] as const)(
    'ends with a reason after 10,000,000 steps: %s',
    (kind) => {
      const regexes = new Re2Compiler(DEFAULT_LIMITS);
      const tried: string[] = [];
      const compile = (text: string): SanMatcher => {
        const regex = regexes.compile(`[a-m]{20}${text}`, 100, Violations.root());
        if (regex === undefined) throw new Error('not a pattern');
        const counted = {
          pattern: regex.pattern,
          size: regex.size,
          replaceAll: () => undefined,
          matches(name: string) {
            tried.push(name);
            return regex.matches(name);
          },
        };
        return { type: 'any', matcher: { kind: 'regex', regex: counted } };
      };
      const sanMatchers = list(1000, kind === 'regex' ? compile : contains);
      const problem = checkPeer(
        raw(1000),
        {
          ...plain,
          sanMatchers,
        },
        { serverName: '' },
      );
      expect(problem?.message).toBe(
        'certificate check failure: comparing the 1000 subject alternative names of the certificate with any of the 1000 matchers of the cluster takes more than 10000000 steps',
      );
      expect(tried.length).toBeLessThan(10_000_000 / 116);
    },
  );

  it('has no identity for a peer with more than 1,000 names', () => {
    const spiffeId = { type: 'uri', bytes: Buffer.from('spiffe://td/a') } as const;
    const certificate = { raw: raw(1000, spiffeId) };
    const call = { getAuthContext: () => ({ sslPeerCertificate: certificate }) };
    expect(peerIdentity(call)).toBeUndefined();
  });
});
