import { isIPv4, isIPv6 } from 'node:net';
import type { CidrRange as CidrRangeMessage } from '../../wire/generated/envoy/config/core/v3/address';
import { quoteText } from '../../util/text';
import type { Violations } from '../../util/violations';

/** A range of IP addresses: those that begin with the same bits. IPv4-mapped IPv6 addresses are IPv4 addresses. */
export interface CidrRange {
  /** 4 or 16 bytes, of which the bits after the prefix are 0. */
  readonly bytes: Uint8Array;
  /** Number of bits that are compared. */
  readonly prefixLength: number;
}

/** The first characters of an IPv6 address that stands for an IPv4 address, as Node.js writes it. */
const MAPPED_TEXT = '::ffff:';

/** The first bytes of an IPv6 address that stands for an IPv4 address. */
const MAPPED_PREFIX = Buffer.from('00000000000000000000ffff', 'hex');

/** Parses a range of addresses (gRFC A36). @returns `undefined` after adding a violation. */
export function parseCidrRange(
  { addressPrefix, prefixLen = 0 }: CidrRangeMessage,
  violations: Violations,
): CidrRange | undefined {
  const address = parseIp(addressPrefix);
  if (address === undefined) {
    return violations
      .at('address_prefix')
      .add(`must be a literal IP address, not ${quoteText(addressPrefix)}`);
  }
  const isMapped = isMappedAddress(address) && prefixLen >= 8 * MAPPED_PREFIX.length;
  const bytes = isMapped ? address.subarray(MAPPED_PREFIX.length) : address;
  const bits = 8 * bytes.length;
  const length = Math.min(prefixLen - (isMapped ? 8 * MAPPED_PREFIX.length : 0), bits);
  return { bytes: withPrefix(bytes, length), prefixLength: length };
}

/** Returns a text that is the same for equal ranges only. */
export function cidrText({ bytes, prefixLength }: CidrRange): string {
  return `${Buffer.from(bytes).toString('hex')}/${prefixLength}`;
}

/** Returns a range as people write it, such as `10.0.0.0/8`. */
export function cidrRangeText({ bytes, prefixLength }: CidrRange): string {
  if (bytes.length === 4) return `${bytes.join('.')}/${prefixLength}`;
  const groups = Buffer.from(bytes).toString('hex').match(/.{4}/g) ?? [];
  // In the normal form of a URL zeros are left out.
  return `${new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1)}/${prefixLength}`;
}

/**
 * Returns the bytes of the address of a connection: 4 of an IPv4 address, also of one that is mapped to IPv6, as a socket for both
 * families has it; 16 of another. A zone is left out.
 *
 * @returns `undefined` for another text, such as that of a unix socket.
 */
export function addressBytes(text: string): Uint8Array | undefined {
  // The form in which sockets of both families have addresses of IPv4.
  const mapped = text.startsWith(MAPPED_TEXT) ? text.slice(MAPPED_TEXT.length) : text;
  if (isIPv4(mapped)) return parseIp(mapped);
  const zone = text.indexOf('%');
  const bytes = parseIp(zone === -1 ? text : text.slice(0, zone));
  return bytes !== undefined && isMappedAddress(bytes)
    ? bytes.subarray(MAPPED_PREFIX.length)
    : bytes;
}

/** Whether an address, as {@link addressBytes} returns it, is in a range. No range has addresses of both families. */
export function isInRange({ bytes, prefixLength }: CidrRange, address: Uint8Array): boolean {
  if (address.length !== bytes.length) return false;
  const whole = prefixLength >> 3;
  for (let i = 0; i < whole; i++) if (address[i] !== bytes[i]) return false;
  const rest = prefixLength & 7;
  return rest === 0 || ((address[whole] ?? 0) & (0xff00 >> rest) & 0xff) === bytes[whole];
}

function isMappedAddress(bytes: Uint8Array): boolean {
  return bytes.length === 16 && MAPPED_PREFIX.equals(bytes.subarray(0, MAPPED_PREFIX.length));
}

/** Returns the bytes of an IP address; `undefined` for another text. */
function parseIp(text: string): Uint8Array | undefined {
  if (isIPv4(text)) return Uint8Array.from(text.split('.').map(Number));
  // A zone is not part of an address.
  if (!isIPv6(text) || text.includes('%')) return undefined;
  // In the normal form of a URL all groups are hexadecimal.
  const [head = '', tail] = new URL(`http://[${text}]`).hostname.slice(1, -1).split('::');
  const groupsOf = (part: string) => (part === '' ? [] : part.split(':'));
  const last = groupsOf(tail ?? '');
  const first = groupsOf(head);
  const zeros = Array.from({ length: 8 - first.length - last.length }, () => '0');
  const groups = [...first, ...zeros, ...last];
  return Buffer.from(groups.map((group) => group.padStart(4, '0')).join(''), 'hex');
}

/** Returns a copy of the bytes whose bits after the prefix are 0. */
function withPrefix(bytes: Uint8Array, length: number): Uint8Array {
  return bytes.map((byte, i) => {
    const kept = Math.min(Math.max(length - 8 * i, 0), 8);
    return byte & (0xff00 >> kept) & 0xff;
  });
}
