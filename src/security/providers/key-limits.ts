import type { KeyObject, X509Certificate } from 'node:crypto';

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
