import type { TLSSocket } from 'node:tls';
import { ClientInstruments, ClientLabel } from '../stats/client-instruments';
import { Label } from '../stats/instrument';
import type { ChannelStats } from '../stats/stats-plugin';
import type { Result } from '../util/result';
import { diagnostics, type TlsHandshakeResult } from '../xds-client/diagnostics';
import { codeOf } from './handshake-errors';
import type { TlsPolicy } from './tls-policy';

const RESULTS: ReadonlyMap<string, TlsHandshakeResult> = new Map<string, TlsHandshakeResult>([
  ['SAN', 'CERTIFICATE_HOSTNAME_MISMATCH'],
  ['CERT_HAS_EXPIRED', 'CERTIFICATE_EXPIRED'],
  ['CERT_NOT_YET_VALID', 'CERTIFICATE_VERIFICATION_FAILED'],
  ['UNABLE_TO_GET_ISSUER_CERT', 'CERTIFICATE_VERIFICATION_FAILED'],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'CERTIFICATE_VERIFICATION_FAILED'],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'CERTIFICATE_VERIFICATION_FAILED'],
  ['SELF_SIGNED_CERT_IN_CHAIN', 'CERTIFICATE_VERIFICATION_FAILED'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'CERTIFICATE_VERIFICATION_FAILED'],
  ['ALPN', 'NO_APPLICATION_PROTOCOL'],
  ['ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL', 'NO_APPLICATION_PROTOCOL'],
  ['TIMEOUT', 'HANDSHAKE_TIMEOUT'],
  ['ECONNRESET', 'CONNECTION_CLOSED'],
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
  const labels = {
    [Label.BACKEND_SERVICE]: cluster,
    [ClientLabel.HANDSHAKE_RESULT]: outcome,
    [ClientLabel.HANDSHAKE_RESUMED]: String(result.ok && result.value.isSessionReused()),
  };
  stats.series(ClientInstruments.TLS_HANDSHAKES, labels)?.add(1);
}
