import { X509Certificate } from 'node:crypto';
import { parseSubjectAltNames } from '../../security/peer/subject-alt-names';
import type { AuthorizationRequest, PeerNames } from './request';

/** A call of a server of `@grpc/grpc-js` 1.14 or later, as far as its connection is concerned. */
export interface SecuredCall {
  getAuthContext(): {
    readonly transportSecurityType?: string;
    readonly sslPeerCertificate?: { readonly raw: Buffer };
  };
}

/**
 * Returns what secures the connection of a call. The host shows nothing of a TLS connection whose client presented no certificate: it
 * counts as plain text.
 *
 * @throws Error if the names of the certificate cannot be read: a request must not be judged by a part of them.
 */
export function tlsOf(call: SecuredCall): AuthorizationRequest['tls'] {
  const { transportSecurityType, sslPeerCertificate } = call.getAuthContext();
  if (sslPeerCertificate !== undefined) return { peer: namesOf(sslPeerCertificate.raw) };
  return transportSecurityType === undefined ? undefined : { peer: undefined };
}

/** The object identifier of subject alternative names (RFC 5280, 4.2.1.6), with tag and length. */
const SUBJECT_ALT_NAME = Buffer.from('0603551d11', 'hex');

function namesOf(raw: Buffer): PeerNames {
  const { subject, subjectAltName } = new X509Certificate(raw);
  // Node.js has no text for names of which one is not valid.
  const names = parseSubjectAltNames(subjectAltName);
  if (!names.ok) throw new Error(names.error);
  if (typeof subjectAltName !== 'string' && raw.includes(SUBJECT_ALT_NAME)) {
    throw new Error('the subject alternative names of the certificate cannot be read');
  }
  const ofType = (type: string) =>
    names.value.filter((name) => name.type === type).map(({ value }) => value);
  return { uriSans: ofType('uri'), dnsSans: ofType('dns'), subject: toRfc2253(subject) };
}

/** Node.js gives the attributes one a line, in the order of the certificate, escaped as RFC 2253 says; there the last is first. */
function toRfc2253(subject: string): string {
  return subject.split('\n').reverse().join(',');
}
