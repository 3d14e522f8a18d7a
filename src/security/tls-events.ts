import type { TLSSocket } from 'node:tls';
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

/** Publishes the end of a handshake to the subscribers of `grpc-xds:tls-handshake` (gRFC A118). */
export function publishHandshake(
  { cluster, certificates: { nodeId } }: TlsPolicy,
  result: Result<TLSSocket, Error>,
  durationMs: number,
): void {
  const { tlsHandshake } = diagnostics;
  if (!tlsHandshake.hasSubscribers) return;
  tlsHandshake.publish({
    ...{ nodeId, cluster, durationMs },
    result: result.ok ? 'SUCCESS' : (RESULTS.get(codeOf(result.error)) ?? 'UNKNOWN_FAILURE'),
    protocol: result.ok ? (result.value.getProtocol() ?? undefined) : undefined,
    error: result.ok ? undefined : result.error.message,
  });
}
