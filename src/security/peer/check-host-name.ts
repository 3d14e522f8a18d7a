import { isIP } from 'node:net';
import { checkServerIdentity, type PeerCertificate } from 'node:tls';
import { containedCheck } from '../../grpc-js/host-callbacks';
import { readCertificateNames } from './certificate-names';
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
  if (!names.ok) return new Error(`certificate check failure: ${names.error}`);
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

function isAddressOf(names: readonly SubjectAltName[], address: string): boolean {
  const text = canonicalAddress(address);
  return names.some(({ type, value }) => type === 'ip' && value === text);
}
