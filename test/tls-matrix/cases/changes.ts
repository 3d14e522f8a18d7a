// What changes between calls: files, the policy of the cluster, the server.

import { SERVER_ID } from '../certificate-table';
import {
  fails,
  inPlain,
  matching,
  NOT_TRUSTED,
  overTls,
  tls,
  tokenRefused,
  WRONG_NAME,
} from '../contexts';
import { pair, trusting, trustingDomains } from '../provider-table';
import type { ClusterSettings, Expectation, OwnFiles, Step, TlsCase } from '../tls-case';

const own = tls({ roots: 'own', identity: 'own' });
const ownRoots = tls({ roots: 'own' });
const good = matching({ exact: SERVER_ID });
const files: OwnFiles = { ...pair('client'), ...trusting('root') };
const demanding = { demandsCertificate: true };

const expect = (expected: Expectation, service?: number): Step => ({
  do: 'expect',
  expected,
  ...(service !== undefined && { service }),
});
const cluster = (settings: ClusterSettings): Step => ({ do: 'cluster', cluster: settings });
const write = (content: OwnFiles): Step => ({ do: 'files', files: content });
const disconnect: Step = { do: 'disconnect' };
const sameConnection = overTls({ connection: 'same' });
const newConnection = overTls({ connection: 'new' });
const noRoots: OwnFiles = { 'ca.pem': { kind: 'absent' } };
const serves = (certificate: string): Step => ({ do: 'server', server: { certificate } });

const rotation: readonly Omit<TlsCase, 'group'>[] = [
  {
    name: 'another identity, on new connections',
    tls: own,
    files,
    server: demanding,
    expected: overTls({ client: 'client' }),
    steps: [
      write(pair('rsa-client')),
      expect(overTls({ client: 'client', connection: 'same' })),
      ...untilNew(overTls({ client: 'rsa-client' })),
    ],
  },
  {
    name: 'the key before the certificate',
    tls: own,
    files,
    server: demanding,
    expected: overTls({ client: 'client' }),
    steps: [
      write({ 'key.pem': { kind: 'key', name: 'rsa-client' } }),
      disconnect,
      expect(overTls({ client: 'client' })),
      write({ 'cert.pem': { kind: 'chain', name: 'rsa-client' } }),
      ...untilNew(overTls({ client: 'rsa-client' })),
    ],
  },
  {
    name: 'an identity that cannot be read keeps the last one',
    tls: own,
    files,
    server: demanding,
    expected: overTls({ client: 'client' }),
    steps: [
      write({ 'cert.pem': { kind: 'text', text: '' } }),
      disconnect,
      expect(overTls({ client: 'client' })),
      write(pair('rsa-client')),
      ...untilNew(overTls({ client: 'rsa-client' })),
    ],
  },
  {
    name: 'roots that do not include the server, on new connections',
    tls: ownRoots,
    files,
    expected: overTls(),
    steps: [write(trusting('other-root')), ...untilNew(fails(NOT_TRUSTED))],
  },
  {
    name: 'roots that include the server at last',
    tls: ownRoots,
    files: trusting('other-root'),
    expected: fails(NOT_TRUSTED),
    steps: [write(trusting('other-root', 'root')), expect(overTls())],
  },
  {
    name: 'roots and server, one after the other',
    tls: ownRoots,
    files,
    expected: overTls(),
    steps: [
      write(trusting('root', 'other-root')),
      serves('of-other-root'),
      ...untilNew(overTls()),
      write(trusting('other-root')),
      serves('good'),
      ...untilNew(fails(NOT_TRUSTED)),
    ],
  },
  {
    name: 'truncated roots keep the last ones',
    tls: ownRoots,
    files,
    expected: overTls(),
    steps: [
      write({ 'ca.pem': { kind: 'half', names: ['root', 'other-root'] } }),
      disconnect,
      expect(overTls()),
    ],
  },
  {
    name: 'roots whose second block is damaged keep the last ones',
    tls: ownRoots,
    files,
    expected: overTls(),
    steps: [
      write({ 'ca.pem': { kind: 'damaged', names: ['other-root', 'root'] } }),
      disconnect,
      expect(overTls()),
    ],
  },
  {
    name: 'empty roots keep the last ones',
    tls: ownRoots,
    files,
    expected: overTls(),
    steps: [write({ 'ca.pem': { kind: 'text', text: '' } }), disconnect, expect(overTls())],
  },
  {
    name: 'files that are deleted and created again',
    tls: ownRoots,
    files,
    expected: overTls(),
    steps: [
      write(noRoots),
      disconnect,
      expect(overTls()),
      write(trusting('other-root')),
      ...untilNew(fails(NOT_TRUSTED)),
    ],
  },
  {
    name: 'a file that is a directory at first',
    tls: ownRoots,
    files: { 'ca.pem': { kind: 'directory' } },
    expected: fails('a directory, not a regular file'),
    steps: [write(trusting('root')), expect(overTls())],
  },
  {
    name: 'a file that is absent at first',
    tls: ownRoots,
    files: noRoots,
    expected: fails('ENOENT'),
    steps: [write(trusting('root')), expect(overTls())],
  },
  {
    name: 'an identity that is absent at first',
    tls: own,
    files: { ...files, 'key.pem': { kind: 'absent' } },
    server: demanding,
    expected: fails('ENOENT'),
    steps: [write(pair('client')), expect(overTls({ client: 'client' }))],
  },
  {
    name: '..data is swapped',
    tls: own,
    files,
    isMounted: true,
    server: demanding,
    expected: overTls({ client: 'client' }),
    steps: [
      { do: 'swap', files: { ...pair('rsa-client'), ...trusting('root') } },
      ...untilNew(overTls({ client: 'rsa-client' })),
    ],
  },
  {
    name: '..data is swapped under load',
    tls: own,
    files,
    isMounted: true,
    isUnderLoad: true,
    server: demanding,
    expected: overTls({ client: 'client' }),
    steps: [
      { do: 'swap', files: { ...pair('rsa-client'), ...trusting('root') } },
      ...untilNew(overTls({ client: 'rsa-client' }), 'drain'),
    ],
  },
  {
    name: 'another trust bundle',
    tls: ownRoots,
    files: trustingDomains({ 'td.test': ['root'] }),
    expected: overTls(),
    steps: [
      write(trustingDomains({ 'td.test': ['other-root'] })),
      ...untilNew(fails(/trusted|trust bundle/)),
    ],
  },
  {
    name: 'a trust bundle map that is no JSON keeps the last one',
    tls: ownRoots,
    files: trustingDomains({ 'td.test': ['root'] }),
    expected: overTls(),
    steps: [write({ 'bundles.json': { kind: 'text', text: '{' } }), disconnect, expect(overTls())],
  },
  {
    name: 'a map without domains is valid, and trusts no one',
    tls: ownRoots,
    files: trustingDomains({ 'td.test': ['root'] }),
    expected: overTls(),
    steps: [write(trustingDomains({})), ...untilNew(fails(/trust/))],
  },
  {
    name: 'the certificate of the server, to one that has expired',
    tls: tls(),
    expected: overTls(),
    steps: [
      serves('expired'),
      disconnect,
      expect(fails('has expired')),
      serves('good'),
      expect(overTls()),
    ],
  },
  {
    name: 'a second connection resumes no session',
    tls: tls(),
    expected: overTls(),
    steps: [disconnect, expect(overTls()), disconnect, expect(overTls())],
  },
];

const otherName = matching({ exact: 'x' });
const sni = (name: string) => tls({ extra: { sni: name } });
const byHost = (hostname: string, extra = {}): ClusterSettings => ({
  tls: tls({ extra: { auto_host_sni: true, ...extra } }),
  hostname,
});
const validated = { auto_sni_san_validation: true };

const policies: readonly Omit<TlsCase, 'group'>[] = [
  {
    name: 'none to TLS',
    expected: inPlain,
    steps: [cluster({ tls: good }), expect(overTls())],
  },
  {
    name: 'none to TLS of another name',
    expected: inPlain,
    steps: [cluster({ tls: otherName }), expect(fails(WRONG_NAME))],
  },
  {
    name: 'TLS to none, logged',
    tls: good,
    expected: overTls(),
    steps: [cluster({}), expect(inPlain)],
    logged: 'the control plane no longer configures TLS',
  },
  {
    name: 'TLS to none, with a token',
    tls: good,
    token: 'channel',
    expected: overTls({ hasToken: true }),
    steps: [cluster({}), expect(tokenRefused)],
  },
  {
    name: 'none to TLS, with a token',
    token: 'channel',
    expected: tokenRefused,
    steps: [cluster({ tls: good }), expect(overTls({ hasToken: true }))],
  },
  {
    name: 'TLS to none, under a fallback with TLS',
    credentials: 'xds+tls',
    tls: good,
    expected: overTls(),
    steps: [cluster({}), expect(overTls({ serverName: '{target}' }))],
  },
  {
    name: 'matchers are tightened',
    tls: good,
    expected: overTls(),
    steps: [cluster({ tls: otherName }), expect(fails(WRONG_NAME))],
  },
  {
    name: 'matchers are added',
    tls: tls(),
    expected: overTls(),
    steps: [cluster({ tls: otherName }), expect(fails(WRONG_NAME))],
  },
  {
    name: 'matchers are loosened',
    tls: otherName,
    expected: fails(WRONG_NAME),
    steps: [cluster({ tls: good }), expect(overTls())],
  },
  {
    name: 'matchers change, and the server satisfies both',
    tls: good,
    expected: overTls(),
    steps: [cluster({ tls: matching({ prefix: 'spiffe://td.test/' }) }), expect(newConnection)],
  },
  {
    name: 'the roots become other ones',
    tls: tls(),
    expected: overTls(),
    steps: [cluster({ tls: tls({ roots: 'other-root' }) }), expect(fails(NOT_TRUSTED))],
  },
  {
    name: 'an identity is added',
    tls: tls(),
    server: demanding,
    expected: fails(/./),
    steps: [cluster({ tls: tls({ identity: 'root' }) }), expect(overTls({ client: 'client' }))],
  },
  {
    name: 'sni changes',
    tls: sni('a.test'),
    expected: overTls({ serverName: 'a.test' }),
    steps: [cluster({ tls: sni('b.test') }), expect(overTls({ serverName: 'b.test' }))],
  },
  {
    name: 'the hostname of the endpoint changes, which is sent',
    ...byHost('a.test'),
    expected: overTls({ serverName: 'a.test' }),
    steps: [cluster(byHost('b.test')), expect(overTls({ serverName: 'b.test' }))],
  },
  {
    name: 'the hostname of the endpoint changes, which is validated',
    ...byHost('server.test', validated),
    expected: overTls({ serverName: 'server.test' }),
    steps: [cluster(byHost('b.test', validated)), expect(fails('b.test'))],
  },
  {
    name: 'the hostname of the endpoint is right at last',
    ...byHost('b.test', validated),
    expected: fails('b.test'),
    steps: [
      cluster(byHost('server.test', validated)),
      expect(overTls({ serverName: 'server.test' })),
    ],
  },
  {
    name: 'the hostname of the endpoint is removed, sni remains',
    ...byHost('a.test', { sni: 'sni.test' }),
    expected: overTls({ serverName: 'a.test' }),
    steps: [
      cluster({ tls: tls({ extra: { auto_host_sni: true, sni: 'sni.test' } }) }),
      expect(overTls({ serverName: 'sni.test' })),
    ],
  },
  {
    name: 'the hostname of the endpoint changes, which is not used',
    tls: sni('a.test'),
    hostname: 'a.test',
    expected: overTls({ serverName: 'a.test' }),
    steps: [
      cluster({ tls: sni('a.test'), hostname: 'b.test' }),
      expect(overTls({ serverName: 'a.test', connection: 'same' })),
    ],
  },
  {
    name: 'a configuration that is rejected keeps the last one',
    tls: good,
    expected: overTls(),
    steps: [
      cluster({ tls: tls({ common: { tls_params: {} } }) }),
      expect(sameConnection),
      disconnect,
      expect(overTls()),
    ],
  },
  {
    name: 'the same again keeps the connection',
    tls: good,
    expected: overTls(),
    steps: [cluster({ tls: good }), expect(sameConnection), expect(sameConnection)],
  },
];

const services: readonly Omit<TlsCase, 'group'>[] = [
  {
    name: 'one policy, and one that the server does not satisfy',
    tls: good,
    others: [otherName],
    expected: overTls(),
    steps: [expect(fails(WRONG_NAME), 1), expect(sameConnection, 0)],
  },
  {
    name: 'the same policy: a connection for each cluster',
    tls: good,
    others: [good],
    expected: overTls(),
    steps: [expect(newConnection, 1)],
  },
  {
    name: 'TLS, and none',
    tls: good,
    others: [undefined],
    expected: overTls(),
    steps: [expect(inPlain, 1), expect(overTls(), 0)],
  },
  {
    name: 'none, and TLS',
    others: [good],
    expected: inPlain,
    steps: [expect(overTls(), 1), expect(inPlain, 0)],
  },
  {
    name: 'TLS, and none, with a token',
    tls: good,
    others: [undefined],
    token: 'channel',
    expected: overTls({ hasToken: true }),
    steps: [expect(tokenRefused, 1), expect(overTls({ hasToken: true }), 0)],
  },
  {
    name: 'two server names',
    tls: sni('a.test'),
    others: [sni('b.test')],
    expected: overTls({ serverName: 'a.test' }),
    steps: [
      expect(overTls({ serverName: 'b.test' }), 1),
      expect(overTls({ serverName: 'a.test' }), 0),
    ],
  },
];

/** Ends connections until a new one has what is expected: files are read when their change is noticed. */
function untilNew(
  expected: Expectation,
  by: 'disconnect' | 'drain' = 'disconnect',
): readonly Step[] {
  return [{ do: 'expect', expected, reconnect: by }];
}

const inGroup = (group: string, rows: readonly Omit<TlsCase, 'group'>[]): readonly TlsCase[] =>
  rows.map((row) => ({ ...row, group }));

export const changeCases: readonly TlsCase[] = [
  ...inGroup('changes: rotation', rotation),
  ...inGroup('changes: policy', policies),
  ...inGroup('changes: two clusters, one endpoint', services),
];
