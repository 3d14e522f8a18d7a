import type { PeerCertificate, TLSSocket } from 'node:tls';
import { LATE_CODE } from '../../grpc-js/connect-time';
import { sanitizeText } from '../../util/text';
import {
  handshakeKind,
  ClientInstruments,
  ClientLabel,
  Label,
} from '../../observe/stats/instruments';
import type { Result } from '../../util/result';
import { handshakeResultOf } from '../peer/handshake-results';
import { diagnostics } from '../../xds-client/diagnostics';
import type { TlsPolicy } from './tls-policy';

const REFUSED =
  'the server refused it, as one that requires a client certificate does, or one that has only finite-field Diffie-Hellman, which is not offered';
const CLIENT_CERTIFICATE = 'the server does not accept the client certificate';

/** Explanations of the errors of Node.js and OpenSSL that a wrong configuration leads to, by code. */
const CAUSES: ReadonlyMap<string, string> = new Map([
  ['CERT_HAS_EXPIRED', 'the certificate of the server, or of its issuer, has expired'],
  ['CERT_NOT_YET_VALID', 'the certificate of the server, or of its issuer, is not valid yet'],
  [
    'UNABLE_TO_GET_ISSUER_CERT',
    'the certificate of the server is not signed by a trusted authority',
  ],
  [
    'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
    'the certificate of the server is not signed by a trusted authority, or an intermediate certificate is missing',
  ],
  [
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    'the certificate of the server is not signed by a trusted authority, or an intermediate certificate is missing',
  ],
  [
    'SELF_SIGNED_CERT_IN_CHAIN',
    'the certificate of the server is signed by an authority that is not trusted',
  ],
  [
    'DEPTH_ZERO_SELF_SIGNED_CERT',
    'the certificate of the server is signed by itself and not trusted',
  ],
  ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', 'the server requires a client certificate'],
  ['INVALID_PURPOSE', 'the certificate of the server is not for servers'],
  // OpenSSL changed the name of some alerts from "sslv3" to "ssl/tls".
  ['ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE', REFUSED],
  ['ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE', REFUSED],
  ['ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE', CLIENT_CERTIFICATE],
  ['ERR_SSL_SSL/TLS_ALERT_BAD_CERTIFICATE', CLIENT_CERTIFICATE],
  ['ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED', CLIENT_CERTIFICATE],
  ['ERR_SSL_SSL/TLS_ALERT_CERTIFICATE_EXPIRED', CLIENT_CERTIFICATE],
  ['ERR_SSL_TLSV1_ALERT_UNKNOWN_CA', CLIENT_CERTIFICATE],
  ['ERR_SSL_NO_APPLICATION_PROTOCOL', 'the server does not serve HTTP/2 over TLS'],
  ['ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL', 'the server does not serve HTTP/2 over TLS'],
  ['ERR_SSL_WRONG_VERSION_NUMBER', 'the server does not speak TLS on this port'],
  ['ERR_SSL_PACKET_LENGTH_TOO_LONG', 'the server does not speak TLS on this port'],
]);

/** Returns the code of an error; empty if it has none. */
export function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : '';
}

/** Returns an error with a code, by which the result of a handshake is counted. */
export function codedError(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}

/** Codes of errors of this package, which say everything. */
const OWN_CODES: ReadonlySet<string> = new Set(['SAN', 'REVOKED', LATE_CODE]);
/** Codes for which the issuer and the validity of the certificate say more. */
const OF_CHAIN = /^(?:CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|INVALID_PURPOSE)/;
/** Characters of an issuer that are shown. */
const MAX_ISSUER_LENGTH = 200;

/**
 * Describes why a handshake failed, with the words of Node.js where they say more. Never key material.
 * @param certificate That of the server, if it was received: its issuer and validity are named where that is the cause.
 */
export function describeHandshakeError(error: Error, certificate?: PeerCertificate): string {
  const code = codeOf(error);
  const cause = CAUSES.get(code);
  const facts =
    certificate !== undefined && 'issuer' in certificate && OF_CHAIN.test(code)
      ? `: ${describeIssue(certificate)}`
      : '';
  if (cause !== undefined) return `TLS handshake failed: ${cause} (${code})${facts}`;
  return OWN_CODES.has(code) ? error.message : `TLS handshake failed: ${error.message}${facts}`;
}

function describeIssue({ issuer, valid_from, valid_to }: PeerCertificate): string {
  const attributes = Object.entries(issuer).map(([name, value]) => `${name}=${String(value)}`);
  const name = sanitizeText(attributes.join(', ').slice(0, MAX_ISSUER_LENGTH));
  return `issued by "${name}", valid from ${toIso(valid_from)} to ${toIso(valid_to)}`;
}

/** @param time Such as `Jan  1 00:00:00 2020 GMT`. */
function toIso(time: string): string {
  const timeMs = Date.parse(time);
  return Number.isNaN(timeMs)
    ? 'an unknown time'
    : new Date(timeMs).toISOString().replace('.000', '');
}

/**
 * Publishes the end of a handshake to the subscribers of `grpc-xds:tls-handshake`, and counts it for the plugins that
 * observe the channel (gRFC A118).
 */
export function publishHandshake(
  policy: TlsPolicy,
  result: Result<TLSSocket, Error>,
  durationMs: number,
): void {
  const { cluster, certificates } = policy;
  const { tlsHandshake } = diagnostics;
  const { nodeId, stats } = certificates;
  if (!tlsHandshake.hasSubscribers && stats === undefined) return;
  const outcome = result.ok ? 'SUCCESS' : handshakeResultOf(codeOf(result.error));
  // The locality of the endpoint is not known here: connections are pooled without it.
  const labels = {
    [Label.BACKEND_SERVICE]: cluster,
    [ClientLabel.HANDSHAKE_RESULT]: outcome,
    [ClientLabel.HANDSHAKE_RESUMED]: handshakeKind(result.ok && result.value.isSessionReused()),
  };
  stats?.series(ClientInstruments.TLS_HANDSHAKES, labels)?.add(1);
  if (!tlsHandshake.hasSubscribers) return;
  tlsHandshake.publish({
    nodeId,
    cluster,
    durationMs,
    result: outcome,
    protocol: result.ok ? (result.value.getProtocol() ?? undefined) : undefined,
    error: result.ok ? undefined : result.error.message,
  });
}
