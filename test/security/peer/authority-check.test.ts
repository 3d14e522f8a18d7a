import { X509Certificate } from 'node:crypto';
import { checkServerIdentity } from 'node:tls';
import { compareAuthority } from '../../../src/security/peer/authority-check';
import { TestCertificates } from '../../support/test-certificates';

const certificates = new TestCertificates();
const { certificate } = certificates.authority('root').sign('cn.example', {
  names: ['DNS:a.example', 'DNS:*.b.example', 'IP:10.0.0.1', 'IP:2001:db8::1'],
});
const presented = new X509Certificate(certificate).toLegacyObject();

/**
 * Whether Node.js knows IPv6 addresses when it compares names: 22.23.3 does not, and refuses every one of them, in
 * connections to begin with.
 */
const comparesIpv6 = checkServerIdentity('2001:db8::1', presented) === undefined;
const isComparable = (authority: string) => comparesIpv6 || !authority.includes('2001:');

const NAMES =
  'DNS:a.example, DNS:*.b.example, IP Address:10.0.0.1, IP Address:2001:DB8:0:0:0:0:0:1';
const host = (name: string) =>
  `Hostname/IP does not match certificate's altnames: Host: ${name}. is not in the cert's altnames: ${NAMES}`;
const ip = (name: string) =>
  `Hostname/IP does not match certificate's altnames: IP: ${name} is not in the cert's list: 10.0.0.1, 2001:db8::1`;

describe('the comparison of an authority with a certificate', () => {
  afterAll(() => certificates.close());

  const accepted = [
    'a.example',
    'A.Example',
    'a.example.',
    'a.example:443',
    'a.example:',
    'x.b.example:443',
    '10.0.0.1',
    '10.0.0.1:443',
    '[2001:db8::1]',
    '[2001:db8::1]:443',
    '2001:db8::1',
  ];
  it.each(accepted.filter(isComparable))('accepts %s', (authority) => {
    expect(compareAuthority(authority, presented, checkServerIdentity)).toBeUndefined();
  });

  const refused = [
    ['other.example:443', host('other.example')],
    ['cn.example', host('cn.example')],
    ['x.y.b.example', host('x.y.b.example')],
    ['a.example:443:443', host('a.example:443:443')],
    ['a.example@other.example', host('a.example@other.example')],
    [':443', host('')],
    ['10.0.0.2', ip('10.0.0.2')],
    ['[2001:db8::2]:443', ip('2001:db8::2')],
  ] as const;
  it.each(refused.filter(([authority]) => isComparable(authority)))(
    'refuses %s',
    (authority, reason) => {
      expect(compareAuthority(authority, presented, checkServerIdentity)).toBe(
        `the route changed the authority to "${authority}", which the certificate of the server is not for: ${reason}`,
      );
    },
  );

  it('refuses what a function of the application throws at, or has an error for', () => {
    const refuse = () => new Error('not this one\n');
    expect(compareAuthority('a.example', presented, refuse)).toMatch(/not for: not this one\\n$/);
    const fail = () => {
      throw new Error('broken');
    };
    expect(compareAuthority('a.example', presented, fail)).toMatch(/not for: broken$/);
  });
});
