import type { AuthorizationRequest } from '../../http-filters/rbac/request';
import { cutText } from '../../util/text';

/** Characters of the name of a client. */
const MAX_NAME = 512;

/** Returns the first name of the certificate of a client, at most 512 characters, or why there is none. */
export function nameOfClient(tls: AuthorizationRequest['tls']): string {
  if (tls === undefined) return 'plain text';
  const { peer } = tls;
  if (peer === undefined) return 'no certificate';
  const name = peer.uriSans[0] ?? peer.dnsSans[0] ?? peer.subject;
  return cutText(name, MAX_NAME) || 'a certificate without a name';
}
