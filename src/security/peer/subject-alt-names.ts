import { isIPv4, SocketAddress } from 'node:net';
import type { SanType } from '../../resources/tls/tls';
import { sanitizeText } from '../../util/text';

/** A subject alternative name of a certificate. */
export interface SubjectAltName {
  readonly type: SanType;
  /** An address in the text of RFC 5952. */
  readonly value: string;
}

const MAX_SHOWN_NAMES = 10;
/** Characters of a name, or of a matcher, that are shown. */
export const MAX_SHOWN_LENGTH = 200;

/** Returns an address in the text of RFC 5952, such as `2001:db8::1`. OpenSSL writes every group of IPv6 in upper case. */
export function canonicalAddress(address: string): string {
  return isIPv4(address) ? address : new SocketAddress({ address, family: 'ipv6' }).address;
}

/** Describes the names of a certificate in an error text. */
export function describeNames(names: readonly SubjectAltName[]): string {
  if (names.length === 0) return 'the subject alternative names [] of the certificate';
  const shown = names
    .slice(0, MAX_SHOWN_NAMES)
    .map(({ type, value }) => `${type}:${sanitizeText(value, MAX_SHOWN_LENGTH)}`);
  const more = names.length > shown.length ? `, and ${names.length - shown.length} more` : '';
  return `the subject alternative names [${shown.join(', ')}${more}] of the certificate`;
}
