import type { KeyObject, X509Certificate } from 'node:crypto';
import { MAX_CERTIFICATE_LENGTH, MAX_MODULUS_BITS, MAX_PUBLIC_EXPONENT } from '../../util/limits';

/** Describes certificates that are too many. @param noun Such as `certificates`. */
export function describeExcess(count: number, noun: string, limit: number): string {
  return `${count} ${noun}, more than the limit of ${limit}: nothing of it is read`;
}

/** Describes a certificate that is too long to be parsed. @param length In characters, as in `MAX_CERTIFICATE_LENGTH`. */
export function describeLongCertificate(length: number): string {
  return `${length} characters, more than the limit of ${MAX_CERTIFICATE_LENGTH}`;
}

/** Describes why the key of a certificate takes too long to compute with; `undefined` if it does not. */
export function describeLargeKey(certificate: X509Certificate): string | undefined {
  const { modulusLength = 0, publicExponent = 0n } = detailsOf(certificate) ?? {};
  if (modulusLength > MAX_MODULUS_BITS) {
    return `a key of ${modulusLength} bits, more than the limit of ${MAX_MODULUS_BITS}`;
  }
  return publicExponent > MAX_PUBLIC_EXPONENT
    ? 'a public exponent of RSA of more than 31 bits'
    : undefined;
}

/** @returns `undefined` for a key of a kind that the runtime does not know. */
function detailsOf(certificate: X509Certificate): KeyObject['asymmetricKeyDetails'] {
  try {
    return certificate.publicKey.asymmetricKeyDetails;
  } catch {
    return undefined;
  }
}
