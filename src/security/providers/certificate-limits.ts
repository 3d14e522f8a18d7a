import type { KeyObject, X509Certificate } from 'node:crypto';

/**
 * Certificates of one CA file, trust bundle map or secret, of all trust domains together. They are counted before any is parsed:
 * to parse one, and to put it into a TLS context, takes a tenth of a millisecond or two each. A bundle of all public
 * certificate authorities has some 150.
 */
export const MAX_AUTHORITIES = 500;

/** Characters in PEM of one certificate, which is parsed in one turn of the event loop: twice those of 1,000 names. */
export const MAX_CERTIFICATE_LENGTH = 65_536;

/**
 * Bytes of a CA file or trust bundle map, or characters of the roots of a provider of the application. A bundle of all public
 * certificate authorities has a quarter of a megabyte.
 */
export const MAX_BUNDLE_BYTES = 4 * 1024 * 1024;

/** Characters of one certificate chain, which OpenSSL parses in one turn. */
export const MAX_CHAIN_CHARACTERS = 262_144;

/** PEM blocks of one certificate chain, counted before any is parsed. OpenSSL follows no longer one. */
export const MAX_CHAIN_LENGTH = 100;

/** Characters of one private key in PEM. One of RSA with 8,192 bits has 6,400. */
export const MAX_PRIVATE_KEY_LENGTH = 16_384;

/** Describes certificates that are too many. @param noun Such as `certificates`. */
export function describeExcess(count: number, noun: string, limit: number): string {
  return `${count} ${noun}, more than the limit of ${limit}: nothing of it is read`;
}

/** Describes a certificate that is too long to be parsed. @param length In characters, as in `MAX_CERTIFICATE_LENGTH`. */
export function describeLongCertificate(length: number): string {
  return `${length} characters, more than the limit of ${MAX_CERTIFICATE_LENGTH}`;
}

/** Bits of the modulus of a key. A signature takes 0.7 ms to check with 8,192 bits, 3 ms with 16,384. */
const MAX_MODULUS_BITS = 8192;

/** The greatest public exponent of RSA, as in Go: 65,537 is the usual one. To check a signature takes in proportion to its length. */
const MAX_PUBLIC_EXPONENT = 2n ** 31n - 1n;

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
