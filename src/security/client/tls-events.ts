import type { TLSSocket } from 'node:tls';
import { ClientInstruments, ClientLabel, Label } from '../../observe/stats/instruments';
import type { ChannelStats } from '../../observe/stats/stats-plugin';
import type { Result } from '../../util/result';
import { diagnostics, type TlsHandshakeResult } from '../../xds-client/diagnostics';
import { codeOf } from './handshake-errors';
import type { TlsPolicy } from './tls-policy';

/** The results of gRFC A118 by the codes of Node.js and OpenSSL. Those that are not here are `UNKNOWN_FAILURE`. */
const RESULTS: ReadonlyMap<string, TlsHandshakeResult> = new Map<string, TlsHandshakeResult>([
  ['SAN', 'CERTIFICATE_HOSTNAME_MISMATCH'],
  ['CERT_HAS_EXPIRED', 'CERTIFICATE_EXPIRED'],
  ['CERT_NOT_YET_VALID', 'CERTIFICATE_NOT_YET_VALID'],
  ['UNABLE_TO_GET_ISSUER_CERT', 'CERTIFICATE_AUTHORITY_INVALID'],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'CERTIFICATE_AUTHORITY_INVALID'],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'CERTIFICATE_AUTHORITY_INVALID'],
  ['SELF_SIGNED_CERT_IN_CHAIN', 'CERTIFICATE_AUTHORITY_INVALID'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'CERTIFICATE_AUTHORITY_INVALID'],
  ['INVALID_CA', 'CERTIFICATE_AUTHORITY_INVALID'],
  ['CERT_SIGNATURE_FAILURE', 'CERTIFICATE_VERIFICATION_FAILED'],
  ['CERT_CHAIN_TOO_LONG', 'CERTIFICATE_VERIFICATION_FAILED'],
  ['CERT_REJECTED', 'CERTIFICATE_VERIFICATION_FAILED'],
  ['CERT_UNTRUSTED', 'CERTIFICATE_VERIFICATION_FAILED'],
  ['INVALID_PURPOSE', 'CERTIFICATE_VERIFICATION_FAILED'],
  ['PATH_LENGTH_EXCEEDED', 'CERTIFICATE_VERIFICATION_FAILED'],
  ['ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION', 'PROTOCOL_VERSION_UNSUPPORTED'],
  ['ERR_SSL_UNSUPPORTED_PROTOCOL', 'PROTOCOL_VERSION_UNSUPPORTED'],
  ['ERR_SSL_WRONG_CIPHER_RETURNED', 'CIPHER_SUITE_MISMATCH'],
  ['ERR_SSL_UNKNOWN_CIPHER_RETURNED', 'CIPHER_SUITE_MISMATCH'],
  ['ALPN', 'NO_APPLICATION_PROTOCOL'],
  ['ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL', 'NO_APPLICATION_PROTOCOL'],
  ['ERR_SSL_NO_APPLICATION_PROTOCOL', 'NO_APPLICATION_PROTOCOL'],
  ['ERR_SSL_BAD_SIGNATURE', 'SIGNATURE_VERIFICATION_FAILED'],
  ['ERR_SSL_DECRYPTION_FAILED_OR_BAD_RECORD_MAC', 'DECRYPTION_FAILED'],
  ['ERR_SSL_BAD_KEY_SHARE', 'KEY_EXCHANGE_FAILURE'],
  ['ERR_SSL_UNEXPECTED_MESSAGE', 'UNEXPECTED_MESSAGE'],
  ['TIMEOUT', 'HANDSHAKE_TIMEOUT'],
  ['CLOSED', 'PEER_CONNECTION_CLOSED'],
  ['ECONNRESET', 'PEER_CONNECTION_CLOSED'],
  ['EPIPE', 'PEER_CONNECTION_CLOSED'],
]);

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
  const outcome = result.ok ? 'SUCCESS' : (RESULTS.get(codeOf(result.error)) ?? 'UNKNOWN_FAILURE');
  if (stats !== undefined) count(stats, cluster, outcome, result);
  if (!tlsHandshake.hasSubscribers) return;
  tlsHandshake.publish({
    ...{ nodeId, cluster, durationMs },
    result: outcome,
    protocol: result.ok ? (result.value.getProtocol() ?? undefined) : undefined,
    error: result.ok ? undefined : result.error.message,
  });
}

/** The locality of the endpoint is not known here: connections are pooled without it. */
function count(
  stats: ChannelStats,
  cluster: string,
  outcome: TlsHandshakeResult,
  result: Result<TLSSocket, Error>,
): void {
  const isResumed = result.ok && result.value.isSessionReused();
  const labels = {
    [Label.BACKEND_SERVICE]: cluster,
    [ClientLabel.HANDSHAKE_RESULT]: outcome,
    [ClientLabel.HANDSHAKE_RESUMED]: isResumed ? 'RESUMED_HANDSHAKE' : 'FULL_HANDSHAKE',
  };
  stats.series(ClientInstruments.TLS_HANDSHAKES, labels)?.add(1);
}
