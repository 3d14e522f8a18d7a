/**
 * Certificates of one CA file, trust bundle map or secret, of all trust domains together. They are counted before any is parsed:
 * to parse one, and to put it into a TLS context, takes a tenth of a millisecond or two each. A bundle of all public
 * certificate authorities has some 150.
 */
export const MAX_AUTHORITIES = 500;

/** PEM blocks of one certificate chain, counted before any is parsed. OpenSSL follows no longer one. */
export const MAX_CHAIN_LENGTH = 100;

/** Characters of one private key in PEM. One of RSA with 16,384 bits has 13,000. */
export const MAX_PRIVATE_KEY_LENGTH = 65_536;

/** Describes certificates that are too many. @param noun Such as `certificates`. */
export function describeExcess(count: number, noun: string, limit: number): string {
  return `${count} ${noun}, more than the limit of ${limit}: nothing of it is read`;
}
