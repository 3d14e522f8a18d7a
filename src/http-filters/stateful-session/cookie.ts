import type { Metadata } from '../../grpc-js';
import type { SessionCookie } from './session-config';

/** Where a session lives, as its cookie says (gRFCs A55, A60, A61). */
export interface SessionHost {
  /** The addresses of the endpoint, such as `10.0.0.1:80` or `[::1]:80`, the one that was in use first. */
  readonly addresses: readonly string[];
  /** Such as `cluster:foo`; empty in cookies of clients that know nothing of clusters. */
  readonly cluster: string;
}

const SECOND_MS = 1000;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
const ADDRESS = /^(?:\d{1,3}(?:\.\d{1,3}){3}|\[[\dA-Fa-f:.]+\]):\d{1,5}$/;

/** Whether a cookie for this path goes with a call (RFC 6265, section 5.1.4). */
export function matchesCookiePath(method: string, path: string): boolean {
  if (!method.startsWith(path)) return false;
  return method.length === path.length || path.endsWith('/') || method[path.length] === '/';
}

/** The value of the first cookie of this name in the headers of a call; `undefined` if there is none. */
export function findCookie(headers: Metadata, name: string): string | undefined {
  for (const header of headers.get('cookie')) {
    for (const pair of String(header).split(';')) {
      const equals = pair.indexOf('=');
      if (equals >= 0 && pair.slice(0, equals).trim() === name)
        return unquote(pair.slice(equals + 1));
    }
  }
  return undefined;
}

/** What the value of a cookie says; `undefined` if it is not one of ours. */
export function decodeSessionHost(value: string): SessionHost | undefined {
  if (!BASE64.test(value)) return undefined;
  const text = Buffer.from(value, 'base64').toString('utf8');
  const semicolon = text.indexOf(';');
  const addresses = (semicolon < 0 ? text : text.slice(0, semicolon)).split(',');
  if (!addresses.every((address) => ADDRESS.test(address))) return undefined;
  return { addresses, cluster: semicolon < 0 ? '' : text.slice(semicolon + 1) };
}

/** The value of the cookie for a host: the addresses, a semicolon, the cluster, in base64 (gRFCs A60, A61). */
export function encodeSessionHost({ addresses, cluster }: SessionHost): string {
  return Buffer.from(`${addresses.join(',')};${cluster}`).toString('base64');
}

/** The `set-cookie` header that has the application keep the value. */
export function formatSetCookie({ name, path, ttlMs }: SessionCookie, value: string): string {
  // A lifetime of less than a second must not come out as 0, which would mean to forget the cookie at once.
  const maxAge = ttlMs > 0 ? `; Max-Age=${Math.ceil(ttlMs / SECOND_MS)}` : '';
  return `${name}=${value}; Path=${path}${maxAge}; HttpOnly`;
}

function unquote(text: string): string {
  const value = text.trim();
  return value.length > 1 && value.startsWith('"') && value.endsWith('"')
    ? value.slice(1, -1)
    : value;
}
