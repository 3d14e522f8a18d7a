import { X509Certificate, type KeyObject } from 'node:crypto';
import { MAX_CERTIFICATE_LENGTH, MAX_MODULUS_BITS, MAX_PUBLIC_EXPONENT } from '../../util/limits';
import { err, ok, type Result } from '../../util/result';
import { findCurveOfItsOwn } from './encoded-keys';

/** Describes certificates that are too many. @param noun Such as `certificates`. */
export function describeExcess(count: number, noun: string, limit: number): string {
  return `${count} ${noun}, more than the limit of ${limit}: nothing of it is read`;
}

/** Describes a certificate that is too long to be parsed. @param length In characters, as in `MAX_CERTIFICATE_LENGTH`. */
export function describeLongCertificate(length: number): string {
  return `${length} characters, more than the limit of ${MAX_CERTIFICATE_LENGTH}`;
}

/**
 * Parses a certificate, unless its key takes too long to compute with, or to read.
 *
 * @param der Its bytes.
 * @returns why it must not be used, otherwise.
 * @throws Error if it is none.
 */
export function parseCertificate(
  der: Buffer,
  encoded: Buffer | string = der,
): Result<X509Certificate, string> {
  const curve = findCurveOfItsOwn(der);
  if (curve !== undefined) return err(curve);
  const certificate = new X509Certificate(encoded);
  const { modulusLength = 0, publicExponent = 0n } = detailsOf(certificate) ?? {};
  if (modulusLength > MAX_MODULUS_BITS) {
    return err(`a key of ${modulusLength} bits, more than the limit of ${MAX_MODULUS_BITS}`);
  }
  return publicExponent > MAX_PUBLIC_EXPONENT
    ? err('a public exponent of RSA of more than 31 bits')
    : ok(certificate);
}

/** @returns `undefined` for a key of a kind that the runtime does not know. */
function detailsOf(certificate: X509Certificate): KeyObject['asymmetricKeyDetails'] {
  try {
    return certificate.publicKey.asymmetricKeyDetails;
  } catch {
    return undefined;
  }
}
