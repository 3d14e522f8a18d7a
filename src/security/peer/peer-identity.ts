import { checkArgument, withMethods } from '../../util/check-arguments';
import { late } from '../../util/late';
import type * as CertificateNames from './certificate-names';
import type * as SpiffeIds from './spiffe-id';

import type { SubjectAltName } from './subject-alt-names';

/** Loaded late, because few processes read the names of a peer before there is a channel. */
const loadSpiffeIds = late<typeof SpiffeIds>(() => require('./spiffe-id'));
const loadCertificateNames = late<typeof CertificateNames>(() => require('./certificate-names'));

const CALL = withMethods('a call of @grpc/grpc-js 1.14 or later', 'getAuthContext');

/** A call of a client or of a server of `@grpc/grpc-js`, as far as its peer is concerned. */
export interface AuthenticatedCall {
  getAuthContext(): {
    readonly sslPeerCertificate?: { readonly subject?: object; readonly raw?: Buffer };
  } | null;
}

/** The identity of the other side of a call, as its certificate states it. */
export interface PeerIdentity {
  /** The SPIFFE id, such as `spiffe://example.org/ns/default/sa/web`; `undefined` unless there is exactly one. */
  readonly spiffeId: string | undefined;
  /** Addresses in the text of RFC 5952. Names of other types are left out. None if the certificate has more than 1,000 names, or one that is not valid. */
  readonly subjectAltNames: readonly SubjectAltName[];
  /** The attributes of the subject, such as `{ CN: 'web' }`. */
  readonly subject: Readonly<Record<string, string | readonly string[]>>;
}

/**
 * Returns the identity that the peer of a call has proved by its certificate. To be called once the call has a
 * connection: for clients, from the first response metadata on.
 *
 * @returns `undefined` if the connection is not secured by TLS, or the peer presented no certificate.
 *
 * @example
 * ```ts
 * import { peerIdentity } from 'grpc-xds';
 *
 * const call = client.say({ text: 'hello' }, callback);
 * call.on('metadata', () => console.log(peerIdentity(call)?.spiffeId));
 * ```
 */
export function peerIdentity(call: AuthenticatedCall): PeerIdentity | undefined {
  checkArgument('peerIdentity()', 'call', call, CALL);
  const certificate = call.getAuthContext()?.sslPeerCertificate;
  // Node.js gives an empty object for a peer without a certificate.
  if (certificate?.subject === undefined) return undefined;
  const { raw, subject } = certificate;
  const names = raw && loadCertificateNames().readCertificateNames(raw);
  const subjectAltNames = names?.ok === true ? names.value.subjectAltNames : [];
  return {
    spiffeId: loadSpiffeIds().spiffeIdOf(subjectAltNames)?.id,
    subjectAltNames,
    subject: Object.fromEntries(Object.entries(subject)),
  };
}
