import { err, ok, type Result } from '../util/result';
import type { Bootstrap } from './bootstrap';

/**
 * Returns the name of the Listener resource for a target (gRFC A47).
 *
 * @param target The authority of an `xds:` target, empty if it has none, and its path without a leading slash.
 * @returns the name, or an error text.
 */
export function listenerResourceName(
  bootstrap: Bootstrap,
  target: { readonly authority: string; readonly path: string },
): Result<string, string> {
  if (target.path === '') return err(describeMissingName(target.authority));
  const template = findTemplate(bootstrap, target);
  if (!template.ok) return template;
  const name = template.value.startsWith('xdstp:') ? percentEncodePath(target.path) : target.path;
  // A function, because `$&` is special in a string.
  return ok(template.value.replaceAll('%s', () => name));
}

/** Suggests three slashes, since two are the usual mistake. */
function describeMissingName(authority: string): string {
  return authority === ''
    ? 'the xds: target has no name: use xds:///<name>'
    : `the xds: target has the authority ${JSON.stringify(authority)} and no name: did you mean xds:///${authority}?`;
}

function findTemplate(
  bootstrap: Bootstrap,
  { authority, path }: { readonly authority: string; readonly path: string },
): Result<string, string> {
  if (authority === '') return ok(bootstrap.clientDefaultListenerResourceNameTemplate);
  const entry = bootstrap.authorities.get(authority);
  if (entry !== undefined) return ok(entry.clientListenerResourceNameTemplate);
  const known = [...bootstrap.authorities.keys()].map((name) => JSON.stringify(name));
  const there = known.length === 0 ? 'it has none' : `it has ${known.join(', ')}`;
  return err(
    `authority ${JSON.stringify(authority)} is not among the authorities of the bootstrap ${bootstrap.source} (${there}): add it there, or use xds:///${path}`,
  );
}

/** Encodes the characters that are invalid in the path of a URI (RFC 3986, section 3.3), except `/`. */
export function percentEncodePath(text: string): string {
  return text.replace(/[^A-Za-z0-9\-._~!$&'()*+,;=:@/]/gu, percentEncode);
}

/** Encodes the characters that are invalid in the authority of a URI (RFC 3986, section 3.2). */
export function percentEncodeAuthority(text: string): string {
  return text.replace(/[^A-Za-z0-9\-._~!$&'()*+,;=:@[\]]/gu, percentEncode);
}

/**
 * Converts a name to an authority by encoding invalid characters (gRFC A47). Percent-encoded ones stay.
 */
export function toAuthority(name: string): string {
  return name
    .split(/(%[\dA-Fa-f]{2})/)
    .map((part, i) => (i % 2 === 1 ? part : percentEncodeAuthority(part)))
    .join('');
}

// Not encodeURIComponent: it throws at half a surrogate pair, which a target may contain.
function percentEncode(character: string): string {
  let encoded = '';
  for (const byte of Buffer.from(character, 'utf8')) {
    encoded += `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }
  return encoded;
}
