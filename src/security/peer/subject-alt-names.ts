import { isIP, isIPv4, SocketAddress } from 'node:net';
import type { SanType } from '../../resources/tls/tls';
import { err, ok, type Result } from '../../util/result';
import { sanitizeText } from '../../util/text';

/** A subject alternative name of a certificate. */
export interface SubjectAltName {
  readonly type: SanType;
  /** An address in the text of RFC 5952. */
  readonly value: string;
}

const TYPES: ReadonlyMap<string, SanType> = new Map([
  ['DNS', 'dns'],
  ['URI', 'uri'],
  ['email', 'email'],
  ['IP Address', 'ip'],
]);

/** Names of one certificate, of every type. Public authorities sign at most a few hundred. */
export const MAX_NAMES = 1000;

const MAX_SHOWN_NAMES = 10;
/** Characters of a name, or of a matcher, that are shown. */
export const MAX_SHOWN_LENGTH = 200;

/**
 * Parses the text in which Node.js gives the subject alternative names of a certificate: `DNS:a.example, IP Address:10.0.0.1`.
 * A value with special characters is a JSON string, in which a comma is escaped
 * (https://nodejs.org/api/crypto.html#x509subjectaltname). Names of other types are skipped.
 *
 * @returns why none is read, if there are too many: to read some would be to judge a certificate by a part of it.
 */
export function parseSubjectAltNames(
  text: string | null | undefined,
): Result<readonly SubjectAltName[], string> {
  const names: SubjectAltName[] = [];
  // Node.js gives null for all names if the text of one is not valid, such as a directory name that is not UTF-8.
  if (typeof text !== 'string') return ok(names);
  const parts = text.split(', ', MAX_NAMES + 1);
  if (parts.length > MAX_NAMES) {
    return err(`the certificate has more than ${MAX_NAMES} subject alternative names`);
  }
  for (const part of parts) {
    const colon = part.indexOf(':');
    const type = TYPES.get(part.slice(0, colon));
    const value = type && unquote(part.slice(colon + 1));
    if (type === undefined || value === undefined || value === '') continue;
    if (type !== 'ip') names.push({ type, value });
    else if (isIP(value) !== 0) names.push({ type, value: canonicalAddress(value) });
  }
  return ok(names);
}

function unquote(value: string): string | undefined {
  if (!value.startsWith('"')) return value;
  try {
    const parsed: unknown = JSON.parse(value);
    return typeof parsed === 'string' ? parsed : undefined;
  } catch {
    return undefined;
  }
}

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
