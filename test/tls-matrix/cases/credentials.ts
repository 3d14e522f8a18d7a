// Credentials of applications: what a cluster with and without TLS leads to, with and without a bearer token.

import { SERVER_ID } from '../certificate-table';
import { fails, inPlain, matching, overTls, tls, tokenRefused, WRONG_NAME } from '../contexts';
import type { CredentialsKind, Expectation, TlsCase } from '../tls-case';

/** With a server name that is that of the target, as grpc-js sends it. */
const byTarget = overTls({ serverName: '{target}' });
const withToken = (expected: Expectation): Expectation =>
  expected.kind === 'tls' ? { ...expected, hasToken: true } : expected;

const policy = overTls();
const FOREIGN = /second copy|another copy|two copies|grpc-xds/;
const NOT_TRUSTED = /unable to|self.signed|certificate/;

/** What becomes of a call, by what the cluster has. */
interface Outcomes {
  readonly secured: Expectation;
  readonly unsecured: Expectation;
  /** With call credentials of the channel, to a cluster without TLS. Default: as without them. */
  readonly unsecuredToken?: Expectation;
}

const kinds: Readonly<Partial<Record<CredentialsKind, Outcomes>>> = {
  'xds+insecure': { secured: policy, unsecured: inPlain, unsecuredToken: tokenRefused },
  'xds+tls': { secured: policy, unsecured: byTarget },
  'xds+tls other': { secured: policy, unsecured: fails(NOT_TRUSTED) },
  'xds+xds+insecure': { secured: policy, unsecured: inPlain, unsecuredToken: tokenRefused },
  'subclass+insecure': { secured: policy, unsecured: inPlain, unsecuredToken: tokenRefused },
  tls: { secured: byTarget, unsecured: byTarget },
  'tls other': { secured: fails(NOT_TRUSTED), unsecured: fails(NOT_TRUSTED) },
};

/** Clusters without TLS are called in plain text by credentials that allow it. */
const product: readonly TlsCase[] = Object.entries(kinds).flatMap(([kind, outcomes]) => {
  const credentials = kind as CredentialsKind;
  const { secured, unsecured, unsecuredToken = unsecured } = outcomes;
  const rows: readonly Omit<TlsCase, 'group'>[] = [
    { name: 'a cluster with TLS', tls: tls(), expected: secured },
    { name: 'a cluster without TLS', expected: unsecured },
    {
      name: 'a cluster with TLS, a token of the channel',
      tls: tls(),
      token: 'channel',
      expected: withToken(secured),
    },
    {
      name: 'a cluster with TLS, a token of the call',
      tls: tls(),
      token: 'call',
      expected: withToken(secured),
    },
    {
      name: 'a cluster without TLS, a token of the channel',
      token: 'channel',
      expected: withToken(unsecuredToken),
    },
    {
      name: 'a cluster without TLS, a token of the call',
      token: 'call',
      expected: withToken(unsecuredToken),
    },
  ];
  return rows.map((row) => ({
    ...row,
    group: 'credentials',
    name: `${kind}: ${row.name}`,
    credentials,
  }));
});

const wrongServer = { certificate: 'of-other-root' };

const others: readonly TlsCase[] = [
  {
    name: 'insecure: a cluster with TLS, which is ignored and logged',
    credentials: 'insecure' as const,
    tls: tls(),
    expected: inPlain,
  },
  { name: 'insecure: a cluster without TLS', credentials: 'insecure' as const, expected: inPlain },
  {
    name: 'insecure: a cluster with TLS, a token of the call',
    credentials: 'insecure' as const,
    tls: tls(),
    token: 'call' as const,
    expected: tokenRefused,
  },
  {
    name: 'insecure: a cluster without TLS, a token of the call',
    credentials: 'insecure' as const,
    token: 'call' as const,
    expected: tokenRefused,
  },
  {
    name: 'xds+insecure: a cluster with TLS, a server in plain text, a token of the call',
    tls: tls(),
    server: { manner: 'plain' as const },
    token: 'call' as const,
    expected: fails('cluster'),
  },
  {
    name: 'xds+insecure: a cluster with TLS, another server, a token of the channel',
    tls: tls(),
    server: wrongServer,
    token: 'channel' as const,
    expected: fails('trusted'),
  },
  {
    name: 'xds+tls: a cluster with TLS, a token of the fallback',
    credentials: 'xds+tls' as const,
    tls: tls(),
    token: 'fallback' as const,
    expected: policy,
  },
  {
    name: 'xds+tls: a cluster without TLS, a token of the fallback',
    credentials: 'xds+tls' as const,
    token: 'fallback' as const,
    expected: withToken(byTarget),
  },
  {
    name: 'xds+tls: a cluster without TLS, another server',
    credentials: 'xds+tls' as const,
    server: wrongServer,
    expected: fails(NOT_TRUSTED),
  },
  {
    name: 'xds+tls: a cluster without TLS, a server in plain text',
    credentials: 'xds+tls' as const,
    server: { manner: 'plain' as const },
    expected: fails(/./),
  },
  {
    name: 'xds+tls: a cluster with TLS whose authorities cannot be read, a server for the fallback',
    credentials: 'xds+tls' as const,
    tls: tls({ roots: 'no file' }),
    expected: fails('ENOENT'),
  },
  {
    name: 'tls: an expired server',
    credentials: 'tls' as const,
    server: { certificate: 'expired' },
    expected: fails('expired'),
  },
  {
    name: 'tls: a server of another name',
    credentials: 'tls' as const,
    server: { names: ['DNS:other.test'] },
    expected: fails(/altnames|Hostname/),
  },
].map((row) => ({ group: 'credentials', ...row }));

const tokens = [undefined, 'channel', 'call'] as const;
const foreignKinds = ['second copy+insecure', 'second copy+tls'] as const;
const ownKinds = ['wrapper+insecure', 'subclass+insecure', 'equal subclass+insecure'] as const;

/** Credentials of a second copy of the package, and such that hide those of this one. */
const foreign: readonly TlsCase[] = [
  ...foreignKinds.flatMap((credentials) =>
    tokens.map((token) => ({
      name: `${credentials}: a cluster with TLS, ${token === undefined ? 'no token' : `a token of the ${token}`}`,
      credentials,
      tls: tls(),
      ...(token && { token }),
      expected: fails(FOREIGN),
    })),
  ),
  ...foreignKinds.map((credentials) => ({
    name: `${credentials}: a cluster with TLS, an expired server`,
    credentials,
    tls: tls(),
    server: { certificate: 'expired' },
    expected: fails(FOREIGN),
  })),
  ...ownKinds.map((credentials) => ({
    name: `${credentials}: matchers that change`,
    credentials,
    tls: matching({ exact: SERVER_ID }),
    expected: policy,
    steps: [
      { do: 'cluster' as const, cluster: { tls: matching({ exact: 'x' }) } },
      { do: 'expect' as const, expected: fails(WRONG_NAME) },
    ],
  })),
  ...ownKinds.map((credentials) => ({
    name: `${credentials}: a matcher that is not satisfied`,
    credentials,
    tls: matching({ exact: 'x' }),
    expected: fails(WRONG_NAME),
  })),
  ...tokens.map((token) => ({
    name: `wrapper+insecure: a cluster with TLS, ${token === undefined ? 'no token' : `a token of the ${token}`}`,
    credentials: 'wrapper+insecure' as const,
    tls: tls(),
    ...(token && { token }),
    expected: token === undefined ? policy : withToken(policy),
  })),
  ...tokens.flatMap((token) =>
    token === undefined
      ? []
      : [
          {
            name: `wrapper+insecure: a cluster without TLS, a token of the ${token}`,
            credentials: 'wrapper+insecure' as const,
            token,
            expected: tokenRefused,
          },
        ],
  ),
].map((row) => ({ group: 'credentials: foreign', ...row }));

export const credentialsCases: readonly TlsCase[] = [...product, ...others, ...foreign];
