import type { AuthorizationRequest } from '../../http-filters/rbac/request';

/** Returns the first name of the certificate of a client, or why there is none. */
export function nameOfClient(tls: AuthorizationRequest['tls']): string {
  if (tls === undefined) return 'plain text';
  const { peer } = tls;
  if (peer === undefined) return 'no certificate';
  return peer.uriSans[0] ?? peer.dnsSans[0] ?? (peer.subject || 'a certificate without a name');
}
