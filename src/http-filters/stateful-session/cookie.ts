import type { HeaderValues } from '../client-filter';
import type { SessionCookie } from './session-parser';

/** The endpoint and cluster of a session, from its cookie (gRFCs A55, A60, A61). */
export interface SessionHost {
  /** The addresses of the endpoint, such as `10.0.0.1:80` or `[::1]:80`, starting with the one that was in use. */
  readonly addresses: readonly string[];
  /** Such as `cluster:foo`; empty in cookies of clients without support for clusters. */
  readonly cluster: string;
}

/** Characters of the value of a session cookie: a browser keeps a cookie of 4096 bytes (RFC 6265, section 6.1). */
export const MAX_VALUE_LENGTH = 4096;
/** Bytes of a host that fit in a value, as base64. */
const MAX_HOST_BYTES = (MAX_VALUE_LENGTH / 4) * 3;

const SECOND_MS = 1000;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
const ADDRESS = /^(?:\d{1,3}(?:\.\d{1,3}){3}|\[[\dA-Fa-f:.]+\]):\d{1,5}$/;

/** Whether a cookie with this path applies to a call (RFC 6265, section 5.1.4). */
export function matchesCookiePath(method: string, path: string): boolean {
  if (!method.startsWith(path)) return false;
  return method.length === path.length || path.endsWith('/') || method[path.length] === '/';
}

/** Finds the value of the first cookie of this name in the headers of a call. */
export function findCookie(headers: HeaderValues, name: string): string | undefined {
  for (const value of headers.get('cookie')) {
    const found = findInHeader(String(value), name);
    if (found !== undefined) return found;
  }
  return undefined;
}

function findInHeader(header: string, name: string): string | undefined {
  for (const pair of header.split(';')) {
    const equals = pair.indexOf('=');
    if (equals >= 0 && pair.slice(0, equals).trim() === name)
      return unquote(pair.slice(equals + 1));
  }
  return undefined;
}

/** Decodes the value of a cookie; `undefined` if {@link encodeSessionHost} could not have made it. */
export function decodeSessionHost(value: string): SessionHost | undefined {
  if (value.length > MAX_VALUE_LENGTH || !BASE64.test(value)) return undefined;
  const text = Buffer.from(value, 'base64').toString('utf8');
  const semicolon = text.indexOf(';');
  const addresses = (semicolon < 0 ? text : text.slice(0, semicolon)).split(',');
  if (!addresses.every((address) => ADDRESS.test(address))) return undefined;
  return { addresses, cluster: semicolon < 0 ? '' : text.slice(semicolon + 1) };
}

/** Describes why {@link decodeSessionHost} cannot decode a value, without the value: it may be a secret. */
export function describeUnusable(value: string): string {
  const { length } = value;
  if (length > MAX_VALUE_LENGTH)
    return `its ${length} characters are more than ${MAX_VALUE_LENGTH}`;
  const isBase64 = BASE64.test(value);
  return `its ${length} characters are ${isBase64 ? 'base64, but not of addresses' : 'not base64'}`;
}

/**
 * Encodes a host as the value of a cookie: addresses, semicolon, cluster, in base64 (gRFCs A60, A61). Addresses that do
 * not fit in it are left out, the first ones are kept.
 *
 * @returns `undefined` if not even one address fits.
 */
export function encodeSessionHost({ addresses, cluster }: SessionHost): string | undefined {
  let left = MAX_HOST_BYTES - Buffer.byteLength(cluster);
  const kept: string[] = [];
  for (const address of addresses) {
    // With the comma or semicolon after it.
    left -= address.length + 1;
    if (left < 0) break;
    kept.push(address);
  }
  if (kept.length === 0) return undefined;
  return Buffer.from(`${kept.join(',')};${cluster}`).toString('base64');
}

/** Formats the `set-cookie` header for a value. */
export function formatSetCookie({ name, path, ttlMs }: SessionCookie, value: string): string {
  // A lifetime of less than a second must not become 0, which deletes the cookie.
  const maxAge = ttlMs > 0 ? `; Max-Age=${Math.ceil(ttlMs / SECOND_MS)}` : '';
  return `${name}=${value}; Path=${path}${maxAge}; HttpOnly`;
}

function unquote(text: string): string {
  const value = text.trim();
  return value.length > 1 && value.startsWith('"') && value.endsWith('"')
    ? value.slice(1, -1)
    : value;
}
