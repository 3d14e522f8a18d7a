import { isIPv4, SocketAddress } from 'node:net';
import type { SanType } from '../../resources/tls/tls';
import { listFirst, sanitizeText } from '../../util/text';

/** A subject alternative name of a certificate. */
export interface SubjectAltName {
  readonly type: SanType;
  /** An address in the text of RFC 5952. */
  readonly value: string;
}

/** Characters of a name, or of a matcher, that are shown. */
export const MAX_SHOWN_LENGTH = 200;

/** Returns an address in the text of RFC 5952, such as `2001:db8::1`. OpenSSL writes every group of IPv6 in upper case. */
export function canonicalAddress(address: string): string {
  return isIPv4(address) ? address : new SocketAddress({ address, family: 'ipv6' }).address;
}

/** Describes the names of a certificate in an error text. */
export function describeNames(names: readonly SubjectAltName[]): string {
  const shown = listFirst(
    names,
    ({ type, value }) => `${type}:${sanitizeText(value, MAX_SHOWN_LENGTH)}`,
  );
  return `the subject alternative names [${shown.join(', ')}] of the certificate`;
}
