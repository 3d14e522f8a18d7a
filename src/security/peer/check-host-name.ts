import { isIP } from 'node:net';
import { checkServerIdentity, type PeerCertificate } from 'node:tls';
import { containedCheck } from '../../grpc-js/host-callbacks';
import type { CheckServerIdentity } from '../../grpc-js/host-internals';
import type { TrustedRoots } from '../providers/certificate-provider';
import { readCertificateNames } from './certificate-names';
import { checkFailure } from './check-failure';
import { canonicalAddress, type SubjectAltName } from './subject-alt-names';

/** DNS names with these characters alone stand for hosts, and Node.js reads them as they are. */
const HOST_CHARACTERS = /^[\w.*-]+$/;

/** For exceptions. */
const PLACE = 'the check of a certificate';

/**
 * Compares the name of a server with its certificate by the rules of Node.js (`tls.checkServerIdentity`), but with the names that are
 * read from the bytes of the certificate: Node.js has no names at all if it cannot write one of them, and then compares the common
 * name.
 *
 * @returns why the certificate is not for that name; `undefined` if it is.
 */
export const checkHostName = containedCheck(PLACE, (host: string, certificate: PeerCertificate) => {
  const names = readCertificateNames(certificate.raw);
  if (!names.ok) return checkFailure(names.error);
  const { subjectAltNames, dnsSans } = names.value;
  // Node.js 22.23.3 finds no address of IPv6.
  if (isIP(host) !== 0 && isAddressOf(subjectAltNames, host)) return undefined;
  const texts = subjectAltNames.map(({ type, value }) => {
    if (type === 'ip') return `IP Address:${value}`;
    return type === 'dns' && HOST_CHARACTERS.test(value) ? `DNS:${value}` : undefined;
  });
  const subjectaltname = texts.filter((text) => text !== undefined).join(', ');
  // The common name stands for a host only where there are no DNS names, not even such that stand for none.
  const { subject } = certificate;
  const known = dnsSans.length === 0 ? subject : { ...subject, CN: '' };
  return checkServerIdentity(host, { ...certificate, subject: known, subjectaltname });
});

/** Returns the check of servers whose chains were verified by these roots: that they are not revoked (gRFC A69), and their name. */
export function serverCheckOf({ certificates, revocation }: TrustedRoots): CheckServerIdentity {
  if (revocation === undefined) return checkHostName;
  return containedCheck(PLACE, (host: string, certificate: PeerCertificate) => {
    const problem = revocation.check(certificate, certificates);
    return problem === undefined
      ? checkHostName(host, certificate)
      : checkFailure(problem, 'REVOKED');
  });
}

function isAddressOf(names: readonly SubjectAltName[], address: string): boolean {
  const text = canonicalAddress(address);
  return names.some(({ type, value }) => type === 'ip' && value === text);
}
