import { checkServerIdentity, type PeerCertificate } from 'node:tls';
import type { Subchannel } from '../../grpc-js';
import {
  peerCertificateOf,
  serverIdentityCheckOf,
  type CheckServerIdentity,
} from '../../grpc-js/host-internals';
import { errorMessage } from '../../util/error-message';
import { sanitizeText } from '../../util/sanitize-text';
import { securityOf } from '../client/connection-security';

/** The outcome of a check; `undefined` if nothing is wrong. */
type Problem = string | undefined;

/** The last outcome of each connection, whose certificate is one object. Most connections have one authority. */
const outcomes = new WeakMap<PeerCertificate, { readonly authority: string; problem: Problem }>();

/**
 * Checks whether the server of a connected subchannel may be sent calls with an authority that a route chose
 * (gRFC A81): with TLS credentials of the application, its certificate must be for that name. Under the policy of the
 * cluster, names are not compared; an insecure connection has none.
 *
 * @returns What is wrong.
 */
export function checkAuthority(authority: string, subchannel: Subchannel): Problem {
  const security = securityOf(subchannel);
  if (security.kind === 'policy' || security.kind === 'insecure') return undefined;
  const certificate = peerCertificateOf(subchannel);
  if (certificate === undefined) {
    return `the route changed the authority to "${authority}", and the certificate of the server is not known`;
  }
  const known = outcomes.get(certificate);
  if (known?.authority === authority) return known.problem;
  const check =
    security.kind === 'application'
      ? serverIdentityCheckOf(security.credentials)
      : checkServerIdentity;
  const problem = compareAuthority(authority, certificate, check);
  outcomes.set(certificate, { authority, problem });
  return problem;
}

/** Compares an authority, without its port, with a certificate. @returns What is wrong. */
export function compareAuthority(
  authority: string,
  certificate: PeerCertificate,
  check: CheckServerIdentity,
): Problem {
  let error: unknown;
  try {
    error = check(hostOf(authority), certificate);
  } catch (thrown) {
    error = thrown;
  }
  if (error === undefined) return undefined;
  return `the route changed the authority to "${authority}", which the certificate of the server is not for: ${sanitizeText(errorMessage(error))}`;
}

/** Returns the host of an authority: without a port, and without the brackets of an IPv6 address. */
function hostOf(authority: string): string {
  const [, address = '', name = authority] =
    /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(authority) ?? [];
  return address === '' ? name : address;
}
