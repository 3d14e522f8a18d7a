import { lazy } from './lazy';
import type * as UnixSocket from './unix-socket';

const loadSockets = lazy<typeof UnixSocket>(() => require('./unix-socket'));

/** An error of a connection to the socket of a path. */
const OF_SOCKET = /\bconnect (E[A-Z]+) \//;

/** What to check after an error of Node.js or of grpc-js, by a part of its text. The first that matches is used. */
const ADVICE: readonly (readonly [error: RegExp, advice: string])[] = [
  // Those of proxies are before the errors that they wrap.
  [
    /^HTTP proxy \S+ the proxy answered with status 403$/,
    'its rules do not allow a connection to this endpoint',
  ],
  [
    /^HTTP proxy \S+ the proxy answered with status 407$/,
    'it demands credentials, which this client does not have: allow this host at the proxy',
  ],
  [
    /^HTTP proxy \S+ the proxy answered with status 50\d$/,
    'it cannot connect to the endpoint: see its log, and that the endpoint runs',
  ],
  [/^HTTP proxy \S+ (?:the proxy|no answer) /, 'check the proxy, and see its log'],
  [/^HTTP proxy \S+ the answer is /, 'check that this is an HTTP proxy'],
  [/^HTTP proxy \S+ connect ECONNREFUSED\b/, 'check that the proxy runs and listens there'],
  [/\bECONNREFUSED\b/, 'check that a server listens there'],
  // grpc-js takes a scheme that it does not know for a part of a name in DNS.
  [/\bdns:[a-z][\w+.-]*:\/\//i, 'this scheme is not known: write host:port or dns:///host:port'],
  [/^Failed to parse DNS address/, 'this is no host:port with a port from 1 to 65535'],
  [/\b(?:ENOTFOUND|EAI_AGAIN)\b|Name resolution failed/, 'check the host name and DNS'],
  [
    /\b(?:ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EHOSTDOWN|ENETDOWN)\b|^no connection within /,
    'check the address, firewalls and the network',
  ],
  [
    /sent no HTTP\/2 SETTINGS within /,
    'check that it serves gRPC on this port, and that its process is not blocked',
  ],
  [
    /TLS handshake failed: .*timed out after /,
    'check that it serves TLS on this port, and that its process is not blocked',
  ],
  [/\b(?:EMFILE|ENFILE)\b/, 'this process has too many open files: raise its limit (ulimit -n)'],
  [
    /\b(?:EADDRNOTAVAIL|EADDRINUSE)\b/,
    'this host has no free port for the address: check its range of ports, and connections that are not closed',
  ],
  [/\b(?:ENOBUFS|ENOMEM)\b/, 'this host is out of memory for connections'],
  [/\b(?:EACCES|EPERM)\b/, 'a firewall or a policy of this host forbids the connection'],
  [
    /certificate has expired|\bCERT_HAS_EXPIRED\b/,
    'renew the certificate of the server, and check the clock of this host',
  ],
  [
    /\bCERT_NOT_YET_VALID\b|certificate is not yet valid/,
    'check the clocks of the server and of this host',
  ],
  [
    /unable to (?:verify|get)\b.*certificate|self.signed certificate|\b(?:UNABLE_TO_\w+|(?:SELF_SIGNED|DEPTH_ZERO)_\w+)\b/,
    'compare the issuer of its certificate with the trusted CA certificates',
  ],
  [
    /altnames|\bERR_TLS_CERT_ALTNAME_INVALID\b/,
    'connect by a name that the certificate has, or issue one that has this name',
  ],
  [
    /(?:^|: )certificate check failure: /,
    'compare the names of the certificate with the security configuration of the cluster',
  ],
  [
    /wrong version number|packet length too long|does not speak TLS/,
    'this port is not TLS: use its TLS port, or plaintext (insecure) credentials',
  ],
  // Node.js 26 throws this for the name that grpc-js gives it.
  [
    /ServerName to an IP address is not permitted/,
    'this version of Node.js refuses TLS to an IP address: name the server by a host name',
  ],
  // A server of HTTP/1 answers the preface of HTTP/2 with an error, and one of TLS with an alert.
  [/^Protocol error$/, 'this is not a gRPC port, or it requires TLS'],
  [
    /\bECONNRESET\b|^Failed to connect$|^socket hang up$|socket disconnected before/,
    'check that this is a gRPC port, and whether it requires TLS',
  ],
  [
    /^Parse Error: Expected HTTP\//,
    'this is not an HTTP/1 port: if it is for gRPC, remove http:// from server_uri',
  ],
];

/**
 * Returns what to check after a connection has failed, to follow the text of the error: `: check that …`; empty if the
 * error is not a known one. Texts about certificates say what is wrong with them.
 */
export function connectionAdvice(error: string): string {
  const code = OF_SOCKET.exec(error)?.[1];
  const ofSocket = code === undefined ? undefined : loadSockets().connectAdvice(code);
  const advice = ofSocket ?? ADVICE.find(([pattern]) => pattern.test(error))?.[1];
  return advice === undefined ? '' : `: ${advice}`;
}
