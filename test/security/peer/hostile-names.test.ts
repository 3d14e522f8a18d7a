// Before any certificate: see test/support/der-certificate.ts.
import type { PeerCertificate } from 'node:tls';
import 'node:tls';
import type { SanMatcher, SanType, UpstreamTls } from '../../../src/resources/tls/tls';
import { checkHostName } from '../../../src/security/peer/check-host-name';
import { checkPeer } from '../../../src/security/peer/check-peer';
import { tlsConnectionOf } from '../../../src/security/peer/tls-connections';
import { peerIdentity } from '../../../src';
import { certificateWithNames, type RawName } from '../../support/der-certificate';

const text = (type: RawName['type'], value: string): RawName => ({
  type,
  bytes: Buffer.from(value, 'latin1'),
});
const address = (...bytes: readonly number[]): RawName => ({
  type: 'ip',
  bytes: Buffer.from(bytes),
});

const exact = (type: SanType, value: string): SanMatcher => ({
  type,
  matcher: { kind: 'exact', text: value, ignoreCase: false },
});

const policy: UpstreamTls = {
  sni: '',
  autoHostSni: false,
  autoSniSanValidation: false,
  identity: undefined,
  rootCertificates: { kind: 'instance', instanceName: 'i', certificateName: '' },
  sanMatchers: [],
};

/** Names that a policy, a matcher or a target may have, none of which a hostile certificate below has. */
const GOOD = {
  dns: 'admin.example',
  uri: 'spiffe://td/admin',
  email: 'admin@b.example',
  ip: '10.0.0.1',
} as const;

/** Every way in which the two ends compare the names of a certificate. @returns those by which it is accepted. */
function acceptedBy(names: readonly RawName[]): readonly string[] {
  const certificate = certificateWithNames(names);
  // Node.js 20 throws for what it cannot write.
  const legacy = { subject: { CN: 'cn.example' }, raw: certificate.raw } as PeerCertificate;
  const clientChecks = (['dns', 'uri', 'email', 'ip'] as const).filter(
    (type) =>
      checkPeer(
        certificate.raw,
        { ...policy, sanMatchers: [exact(type, GOOD[type])] },
        { serverName: '' },
      ) === undefined,
  );
  const serverNames = [GOOD.dns, GOOD.ip].filter((serverName) => {
    const tls = { ...policy, autoSniSanValidation: true };
    return checkPeer(certificate.raw, tls, { serverName }) === undefined;
  });
  const hosts = [GOOD.dns, GOOD.ip].filter((host) => checkHostName(host, legacy) === undefined);
  const call = { getAuthContext: () => ({ sslPeerCertificate: legacy }) };
  const tls = tlsConnectionOf({
    getAuthContext: () => ({ transportSecurityType: 'ssl', sslPeerCertificate: legacy }),
  });
  const peer = tls.ok ? tls.value?.peer : undefined;
  const isClient = peer?.uriSans.includes(GOOD.uri) === true || peer?.dnsSans.includes(GOOD.dns);
  return [
    ...clientChecks.map((type) => `matcher ${type}`),
    ...serverNames.map((name) => `server name ${name}`),
    ...hosts.map((name) => `host ${name}`),
    ...(peerIdentity(call)?.spiffeId === GOOD.uri ? ['identity of a server'] : []),
    ...(isClient === true ? ['identity of a client'] : []),
  ];
}

describe('a hostile name', () => {
  it.each<[string, readonly RawName[]]>([
    ['a comma and another name', [text('dns', `x.example, DNS:${GOOD.dns}, URI:${GOOD.uri}`)]],
    ['a comma in a URI', [text('uri', `https://x, URI:${GOOD.uri}, IP Address:${GOOD.ip}`)]],
    ['quotes', [text('dns', `"${GOOD.dns}"`), text('uri', `"${GOOD.uri}"`)]],
    ['a quote that is not closed', [text('dns', `a", DNS:${GOOD.dns}, DNS:"`)]],
    ['an escape of JSON', [text('dns', `x\\u002c DNS:${GOOD.dns}`), text('dns', 'a\\"')]],
    ['a NUL after the name', [text('dns', `${GOOD.dns}\0.evil.example`)]],
    ['a NUL before the name', [text('dns', `\0${GOOD.dns}`)]],
    ['a NUL in another name', [text('dns', GOOD.dns), text('uri', 'a\0')]],
    ['a line break', [text('uri', `${GOOD.uri}\n`)]],
    ['bytes that are not ASCII', [text('dns', GOOD.dns), text('dns', 'caf\u00e9.example')]],
    ['an address as a DNS name', [text('dns', GOOD.ip)]],
    ['an address as a URI', [text('uri', GOOD.ip)]],
    ['a DNS name as a URI', [text('uri', GOOD.dns)]],
    ['a URI as a DNS name', [text('dns', GOOD.uri)]],
    ['a DNS name as an email address', [text('email', GOOD.dns)]],
    ['an email address as a DNS name', [text('dns', GOOD.email)]],
    ['names in a directory name', [text('dns', 'x'), text('directory', `URI:${GOOD.uri}`)]],
    ['names in an otherName', [text('dns', 'x'), text('other', `a, URI:${GOOD.uri}`)]],
    ['the text of an address as its bytes', [text('ip', GOOD.ip)]],
    ['an address with a mask', [address(10, 0, 0, 1, 255, 255, 255, 255)]],
    ['an address of IPv4 in IPv6', [address(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 10, 0, 0, 1)]],
    ['an address of five bytes', [text('dns', GOOD.dns), address(10, 0, 0, 1, 0)]],
    ['an address of 17 bytes', [text('dns', GOOD.dns), address(...Array<number>(17).fill(1))]],
    ['an empty name', [text('dns', ''), text('uri', ''), text('email', '')]],
    [
      'its place among 10,000',
      [
        ...Object.entries(GOOD).flatMap(([type, value]) =>
          type === 'ip' ? [address(10, 0, 0, 1)] : [text(type as RawName['type'], value)],
        ),
        ...Array.from({ length: 10_000 }, (_, index) => text('dns', `n${index}.x`)),
      ],
    ],
  ])('is accepted nowhere: %s', (_, names) => {
    expect(acceptedBy(names)).toEqual([]);
  });

  it('is what the others differ from: good names are accepted everywhere', () => {
    const dns = text('dns', GOOD.dns);
    const good = [dns, text('uri', GOOD.uri), text('email', GOOD.email), address(10, 0, 0, 1)];
    expect(acceptedBy(good)).toEqual([
      'matcher dns',
      'matcher uri',
      'matcher email',
      'matcher ip',
      'server name admin.example',
      'server name 10.0.0.1',
      'host admin.example',
      'host 10.0.0.1',
      'identity of a server',
      'identity of a client',
    ]);
  });
});

describe('the host name of a management server', () => {
  const of = (...names: readonly RawName[]) =>
    ({ subject: { CN: 'cn.example' }, raw: certificateWithNames(names).raw }) as PeerCertificate;
  const v6 = address(0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1);

  it.each<[string, string, PeerCertificate]>([
    ['a DNS name', 'A.example.', of(text('dns', 'a.example'))],
    ['a wildcard', 'x.b.example', of(text('dns', '*.b.example'))],
    ['an address of IPv6, however it is written', '2001:0db8:0::1', of(v6)],
    ['the common name, if there are no DNS names', 'cn.example', of(text('uri', 'spiffe://td/a'))],
  ])('may be %s', (_, host, certificate) => {
    expect(checkHostName(host, certificate)).toBeUndefined();
  });

  it.each<[string, string, PeerCertificate, RegExp]>([
    ['another name', 'b.example', of(text('dns', 'a.example')), /altnames: DNS:a\.example$/],
    ['another address', '10.0.0.2', of(address(10, 0, 0, 1)), /cert's list: 10\.0\.0\.1$/],
    ['the common name beside DNS names', 'cn.example', of(text('dns', 'a, b')), /DNS name|CN/],
    [
      // Node.js has no text of any name then.
      'the common name beside a name that Node.js cannot write',
      'cn.example',
      of(text('dns', 'a.example'), { type: 'directory', bytes: Buffer.from([0xff]) }),
      /altnames: DNS:a\.example$/,
    ],
    [
      'that of a peer without a certificate',
      'a.example',
      {} as PeerCertificate,
      /unexpected error/,
    ],
    ['of a certificate with an invalid name', 'a.example', of(text('dns', 'a\0')), /not valid/],
  ])('must not be %s', (_, host, certificate, problem) => {
    expect(checkHostName(host, certificate)?.message).toMatch(problem);
  });
});
