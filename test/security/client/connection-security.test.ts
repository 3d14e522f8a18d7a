import { X509Certificate } from 'node:crypto';
import { checkServerIdentity } from 'node:tls';
import { CallCredentials, type ChannelCredentials, credentials } from '../../../src/grpc-js';
import {
  compareAuthority,
  connectionSecurity,
  type ConnectionSecurity,
} from '../../../src/security/client/connection-security';
import { TLS_POLICY_ARG, TlsPolicy } from '../../../src/security/client/tls-policy';
import { createXdsChannelCredentials } from '../../../src/security/client/xds-channel-credentials';
import { TestCertificates } from '../../support/test-certificates';

const ssl = credentials.createSsl();
const insecure = credentials.createInsecure();
const token = CallCredentials.createEmpty();

const tls = {
  sni: '',
  autoHostSni: false,
  autoSniSanValidation: false,
  sanMatchers: [],
  rootCertificates: { kind: 'system' } as const,
  identity: undefined,
};
const certificates = {
  nodeId: 'n',
  watch: () => ({ current: { roots: undefined, identity: undefined }, release: () => {} }),
};
const policy = { [TLS_POLICY_ARG]: new TlsPolicy('c', tls, certificates) };

const xds = createXdsChannelCredentials;

describe('the security of a connection', () => {
  it.each<[string, ChannelCredentials | undefined, object | undefined, ConnectionSecurity]>([
    ['insecure credentials', insecure, {}, { kind: 'insecure' }],
    ['insecure credentials, under a policy', insecure, policy, { kind: 'insecure' }],
    ['insecure credentials, without options', insecure, undefined, { kind: 'insecure' }],
    ['TLS credentials', ssl, {}, { kind: 'application', credentials: ssl }],
    ['TLS credentials, under a policy', ssl, policy, { kind: 'application', credentials: ssl }],
    ['xDS credentials under a policy', xds(insecure), policy, { kind: 'policy' }],
    ['an insecure fallback', xds(insecure), {}, { kind: 'insecure' }],
    ['an insecure fallback in another one', xds(xds(insecure)), {}, { kind: 'insecure' }],
    ['a TLS fallback', xds(ssl), {}, { kind: 'application', credentials: ssl }],
    [
      'a fallback with call credentials',
      xds(ssl.compose(token)),
      {},
      { kind: 'application', credentials: ssl },
    ],
    ['xDS credentials without options', xds(insecure), undefined, { kind: 'unknown' }],
    ['credentials that cannot be seen', undefined, policy, { kind: 'unknown' }],
  ])('with %s', (_name, channelCredentials, options, expected) => {
    expect(connectionSecurity(channelCredentials, options)).toEqual(expected);
  });
});

const issued = new TestCertificates();
const { certificate } = issued.authority('root').sign('cn.example', {
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
  afterAll(() => issued.close());

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
