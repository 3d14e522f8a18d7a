// The server name that is sent, and validated (gRFC A101).

import { SERVER_ID } from '../certificate-table';
import { fails, overTls, tls, WRONG_NAME } from '../contexts';
import type { Expectation, TlsCase } from '../tls-case';
import type { Json } from '../../support/xds-json';

const sends = (serverName: string): Expectation => overTls({ serverName });
const NOT_NAMED = 'do not include the server name';
const LONG = `${'a'.repeat(63)}.${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(63)}`;

type Row = readonly [
  name: string,
  extra: Json,
  hostname: string | undefined,
  names: readonly string[] | undefined,
  expected: Expectation,
];

const sent: readonly Row[] = [
  ['none by default', {}, undefined, undefined, overTls()],
  ['none by default, of an endpoint with a hostname', {}, 'host.test', undefined, overTls()],
  ['sni', { sni: 'sni.test' }, undefined, undefined, sends('sni.test')],
  [
    'sni, of an endpoint with a hostname',
    { sni: 'sni.test' },
    'host.test',
    undefined,
    sends('sni.test'),
  ],
  ['the hostname', { auto_host_sni: true }, 'host.test', undefined, sends('host.test')],
  ['the hostname in capitals', { auto_host_sni: true }, 'HOST.test', undefined, sends('HOST.test')],
  [
    'the hostname before sni',
    { auto_host_sni: true, sni: 'sni.test' },
    'host.test',
    undefined,
    sends('host.test'),
  ],
  [
    'sni where there is no hostname',
    { auto_host_sni: true, sni: 'sni.test' },
    undefined,
    undefined,
    sends('sni.test'),
  ],
  ['none where there is neither', { auto_host_sni: true }, undefined, undefined, overTls()],
  [
    'a hostname with a port',
    { auto_host_sni: true },
    'host.test:8443',
    undefined,
    sends('host.test'),
  ],
  [
    'a hostname with a final dot',
    { auto_host_sni: true },
    'host.test.',
    undefined,
    sends('host.test'),
  ],
  ['one label', { sni: 'localhost' }, undefined, undefined, sends('localhost')],
  ['an A-label', { sni: 'xn--bcher-kva.test' }, undefined, undefined, sends('xn--bcher-kva.test')],
  ['an address in sni', { sni: '127.0.0.1' }, undefined, undefined, overTls()],
  ['an IPv6 address in sni', { sni: '::1' }, undefined, undefined, overTls()],
  ['an address as hostname', { auto_host_sni: true }, '127.0.0.1', undefined, overTls()],
  ['an IPv6 address as hostname', { auto_host_sni: true }, '::1', undefined, overTls()],
  [
    'an address with a port as hostname',
    { auto_host_sni: true },
    '127.0.0.1:443',
    undefined,
    overTls(),
  ],
  ['255 characters', { sni: LONG }, undefined, undefined, sends(LONG)],
  ['256 characters', { sni: `${LONG}x` }, undefined, undefined, fails('sni')],
];

const named = ['DNS:host.test'];
const wild = ['DNS:*.wild.test'];
const address = ['IP:127.0.0.1', 'IP:::1'];
const validated = { auto_sni_san_validation: true };
const host = { auto_host_sni: true, ...validated };
const sni = (text: string): Json => ({ sni: text, ...validated });

const validation: readonly Row[] = [
  ['sni', sni('host.test'), undefined, named, sends('host.test')],
  ['sni of another server', sni('other.test'), undefined, named, fails(NOT_NAMED)],
  ['the hostname', host, 'host.test', named, sends('host.test')],
  ['the hostname of another server', host, 'other.test', named, fails(NOT_NAMED)],
  ['the hostname in capitals', host, 'HOST.TEST', named, sends('HOST.TEST')],
  ['the hostname with a port', host, 'host.test:8443', named, sends('host.test')],
  [
    'the hostname before sni',
    { ...host, sni: 'other.test' },
    'host.test',
    named,
    sends('host.test'),
  ],
  [
    'sni where there is no hostname',
    { ...host, sni: 'other.test' },
    undefined,
    named,
    fails(NOT_NAMED),
  ],
  ['a wildcard', sni('a.wild.test'), undefined, wild, sends('a.wild.test')],
  ['a wildcard for two labels', sni('a.b.wild.test'), undefined, wild, fails(NOT_NAMED)],
  ['a wildcard for none', sni('wild.test'), undefined, wild, fails(NOT_NAMED)],
  ['a part of the name', sni('st.test'), undefined, named, fails(NOT_NAMED)],
  ['a name below', sni('a.host.test'), undefined, named, fails(NOT_NAMED)],
  ['a URI of the same text', sni('host.test'), undefined, ['URI:host.test'], fails(NOT_NAMED)],
  [
    'a mail address at that name',
    sni('host.test'),
    undefined,
    ['email:a@host.test'],
    fails(NOT_NAMED),
  ],
  ['no names', sni('server.test'), undefined, [], fails(NOT_NAMED)],
  [
    'a name that is forged by a comma',
    sni('host.test'),
    undefined,
    ['DNS:x.test, DNS:host.test'],
    fails(NOT_NAMED),
  ],
  ['none sent, no matchers', validated, undefined, named, overTls()],
  ['an address as hostname, in the certificate', host, '127.0.0.1', address, overTls()],
  ['an IPv6 address as hostname, in the certificate', host, '::1', address, overTls()],
  [
    'an address as hostname, another in the certificate',
    host,
    '127.0.0.2',
    address,
    fails('127.0.0.2'),
  ],
  ['an address as hostname, not in the certificate', host, '127.0.0.1', named, fails('127.0.0.1')],
  ['an address as hostname, as DNS name', host, '127.0.0.1', ['DNS:127.0.0.1'], fails('127.0.0.1')],
  [
    'an address in sni, not in the certificate',
    sni('127.0.0.1'),
    undefined,
    named,
    fails('127.0.0.1'),
  ],
];

const rowsOf = (group: string, rows: readonly Row[]): readonly TlsCase[] =>
  rows.map(([name, extra, hostname, names, expected]) => ({
    group,
    name,
    tls: tls({ extra }),
    expected,
    ...(hostname !== undefined && { hostname }),
    ...(names !== undefined && { server: { names } }),
  }));

const matchers = (exact: string, extra: Json) =>
  tls({ validation: { match_subject_alt_names: [{ exact }] }, extra });

const besideMatchers: readonly TlsCase[] = [
  {
    name: 'in place of matchers, satisfied',
    tls: matchers('x', sni('host.test')),
    server: { names: named },
    expected: sends('host.test'),
  },
  {
    name: 'in place of matchers, not satisfied',
    tls: matchers('host.test', sni('other.test')),
    server: { names: named },
    expected: fails(NOT_NAMED),
  },
  {
    name: 'none sent, a matcher that is not satisfied',
    tls: matchers('x', validated),
    expected: fails(WRONG_NAME),
  },
  {
    name: 'none sent, a matcher that is satisfied',
    tls: matchers(SERVER_ID, validated),
    expected: overTls(),
  },
  {
    name: 'switched off, a matcher that is satisfied',
    tls: matchers(SERVER_ID, { sni: 'other.test' }),
    expected: sends('other.test'),
  },
  {
    name: 'switched off, a matcher that is not',
    tls: matchers('x', { sni: 'server.test' }),
    expected: fails(WRONG_NAME),
  },
  {
    name: 'an expired server of the right name',
    tls: tls({ extra: sni('server.test') }),
    server: { certificate: 'expired' },
    expected: fails('has expired'),
  },
].map((row) => ({ group: 'server name: validated', ...row }));

export const serverNameCases: readonly TlsCase[] = [
  ...rowsOf('server name: sent', sent),
  ...rowsOf('server name: validated', validation),
  ...besideMatchers,
];
