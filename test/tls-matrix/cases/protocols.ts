// Versions of TLS, ALPN, servers that speak something else, and proxies of gRFC A86.

import { fails, inPlain, overTls, tls, tokenRefused } from '../contexts';
import type { Expectation, ServerSettings, TlsCase } from '../tls-case';

const good = overTls();
const OLD = /version|protocol/i;
const NO_HTTP2 = /does not serve (?:HTTP\/2|gRPC) over TLS/;
const NO_TLS = /does not speak TLS on this port|WRONG_VERSION_NUMBER|PACKET_LENGTH/;

const servers: Readonly<Record<string, readonly [ServerSettings, Expectation]>> = {
  'TLS 1.0': [{ versions: ['TLSv1', 'TLSv1'] }, fails(OLD)],
  'TLS 1.1': [{ versions: ['TLSv1.1', 'TLSv1.1'] }, fails(OLD)],
  'TLS 1.0 to 1.1': [{ versions: ['TLSv1', 'TLSv1.1'] }, fails(OLD)],
  'TLS 1.0 to 1.2': [{ versions: ['TLSv1', 'TLSv1.2'] }, overTls({ version: 'TLSv1.2' })],
  'TLS 1.0 to 1.3': [{ versions: ['TLSv1', 'TLSv1.3'] }, overTls({ version: 'TLSv1.3' })],
  'TLS 1.2': [{ versions: ['TLSv1.2', 'TLSv1.2'] }, overTls({ version: 'TLSv1.2' })],
  'TLS 1.2 to 1.3': [{}, overTls({ version: 'TLSv1.3' })],
  'TLS 1.3': [{ versions: ['TLSv1.3', 'TLSv1.3'] }, overTls({ version: 'TLSv1.3' })],
  'no ALPN': [{ protocols: [] }, fails(NO_HTTP2)],
  'no ALPN, TLS 1.2': [{ protocols: [], versions: ['TLSv1.2', 'TLSv1.2'] }, fails(NO_HTTP2)],
  'ALPN http/1.1': [{ protocols: ['http/1.1'] }, fails(NO_HTTP2)],
  'ALPN http/1.1, then h2': [{ protocols: ['http/1.1', 'h2'] }, good],
  'ALPN h2, then http/1.1': [{ protocols: ['h2', 'http/1.1'] }, good],
  'ALPN h2c': [{ protocols: ['h2c'] }, fails(NO_HTTP2)],
  'ALPN grpc-exp': [{ protocols: ['grpc-exp'] }, fails(NO_HTTP2)],
  'plain text': [{ manner: 'plain' }, fails(/TLS|disconnected|socket|ECONNRESET/)],
  'HTTP/1.1 in plain text': [{ manner: 'http/1.1' }, fails(NO_TLS)],
  'closes the connection': [{ manner: 'closing' }, fails(/disconnected|closed|ECONNRESET/)],
};

const stalls: Readonly<Record<string, readonly [Partial<TlsCase>, RegExp]>> = {
  'a server that does not answer': [{ server: { manner: 'silent' } }, /timed out after 20 s/],
  'a server without SETTINGS': [{ server: { manner: 'no settings' } }, /SETTINGS/],
  'a proxy that does not answer': [
    { server: { manner: 'silent proxy' }, isProxied: true },
    /no answer within 20 s/,
  ],
};

const proxied: Readonly<Record<string, readonly [Partial<TlsCase>, Expectation]>> = {
  TLS: [{ tls: tls() }, overTls({ isTunnelled: true })],
  'TLS and a server name': [
    { tls: tls({ extra: { sni: 'server.test' } }) },
    overTls({ isTunnelled: true, serverName: 'server.test' }),
  ],
  'TLS, an expired server': [
    { tls: tls(), server: { certificate: 'expired' } },
    fails('has expired'),
  ],
  'TLS, a token': [{ tls: tls(), token: 'call' }, overTls({ isTunnelled: true, hasToken: true })],
  'no TLS': [{}, { ...inPlain, isTunnelled: true } as Expectation],
  'no TLS, a token': [{ token: 'call' }, tokenRefused],
  'status 403, TLS': [
    { tls: tls(), server: { manner: 'refusing proxy' } },
    fails('the proxy answered with status 403'),
  ],
  'status 403, no TLS': [
    { server: { manner: 'refusing proxy' } },
    fails('the proxy answered with status 403'),
  ],
};

export const protocolCases: readonly TlsCase[] = [
  ...Object.entries(servers).map(([name, [server, expected]]) => ({
    group: 'protocols',
    name,
    tls: tls(),
    server,
    expected,
  })),
  ...Object.entries(proxied).map(([name, [extra, expected]]) => ({
    group: 'HTTP proxies (A86)',
    name,
    isProxied: true,
    ...extra,
    expected,
  })),
  ...Object.entries(stalls).map(([name, [extra, text]]) => ({
    group: 'time limits',
    name,
    tls: tls(),
    ...extra,
    isSlow: true,
    expected: fails(text),
  })),
];
