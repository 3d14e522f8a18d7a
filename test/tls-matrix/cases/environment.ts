// Variables of the process that switch TLS off, or lead it elsewhere.

import { fails, overTls, tls } from '../contexts';
import type { Expectation, TlsCase } from '../tls-case';

const UNCHECKED = { NODE_TLS_REJECT_UNAUTHORIZED: '0' };
/** The control plane is reached without the proxy. */
const proxyIn = (variable: string, exempt = '127.0.0.1') => ({
  [variable]: 'http://127.0.0.1:{port}',
  no_proxy: exempt,
});

const servers: Readonly<Record<string, Expectation>> = {
  good: overTls(),
  expired: fails('has expired'),
  'not-yet-valid': fails('is not valid yet'),
  'of-other-root': fails('trusted'),
  'self-signed': fails('signed by itself'),
  'usage-client': fails('is not for servers'),
};

const unchecked: readonly TlsCase[] = [
  ...Object.entries(servers).map(([certificate, expected]) => ({
    name: certificate,
    tls: tls(),
    server: { certificate },
    expected,
  })),
  {
    name: 'a matcher that is not satisfied',
    tls: tls({ validation: { match_subject_alt_names: [{ exact: 'x' }] } }),
    expected: fails('do not satisfy'),
  },
  {
    name: 'a trust domain that another one minted',
    tls: tls({ roots: 'two domains' }),
    server: { certificate: 'td-by-other' },
    expected: fails(/not signed|trust/),
  },
  {
    name: 'a root of the system that is not',
    tls: { common_tls_context: { validation_context: { system_root_certs: {} } } },
    expected: fails('trusted'),
  },
  {
    name: 'a cluster without TLS, a server whose certificate the fallback does not trust',
    credentials: 'xds+tls other' as const,
    expected: fails('UNABLE_TO_VERIFY_LEAF_SIGNATURE'),
  },
].map((row) => ({
  ...row,
  group: 'environment: NODE_TLS_REJECT_UNAUTHORIZED=0',
  environment: UNCHECKED,
}));

const REFUSED = fails('no_proxy');
const variables = ['http_proxy', 'https_proxy', 'grpc_proxy'];
const throughProxy = overTls({ serverName: '{target}', isTunnelled: true });

const proxies: readonly TlsCase[] = [
  ...variables.flatMap((variable) => [
    {
      name: `${variable}: a cluster with TLS`,
      environment: proxyIn(variable),
      tls: tls(),
      expected: REFUSED,
    },
    {
      name: `${variable}: a cluster with TLS, a token of the channel`,
      environment: proxyIn(variable),
      tls: tls(),
      token: 'channel' as const,
      expected: REFUSED,
    },
    {
      name: `${variable}: a cluster without TLS`,
      environment: proxyIn(variable),
      expected: REFUSED,
    },
    {
      name: `${variable}: the host is exempt`,
      environment: proxyIn(variable, '127.0.0.1,matrix.test'),
      tls: tls(),
      token: 'channel' as const,
      expected: overTls({ hasToken: true }),
    },
  ]),
  {
    name: 'http_proxy: a cluster with TLS, a token of the call',
    environment: proxyIn('http_proxy'),
    tls: tls(),
    token: 'call' as const,
    expected: REFUSED,
  },
  ...['good', 'of-other-root'].map((certificate) => ({
    name: `http_proxy: a fallback with TLS, a server that is ${certificate}`,
    environment: proxyIn('http_proxy'),
    credentials: 'xds+tls' as const,
    tls: tls(),
    server: { certificate },
    // Its cluster is not known, so neither is whether it configures TLS of another kind.
    expected: REFUSED,
  })),
  {
    name: 'http_proxy: TLS of the application, which checks the name of the target',
    environment: proxyIn('http_proxy'),
    credentials: 'tls' as const,
    expected: throughProxy,
  },
  {
    name: 'http_proxy: an address that is no URL',
    environment: { http_proxy: '::' },
    tls: tls(),
    expected: overTls(),
  },
].map((row) => ({ group: 'environment: proxies', ...row }));

export const environmentCases: readonly TlsCase[] = [...unchecked, ...proxies];
