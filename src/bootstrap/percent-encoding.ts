/** Encodes the characters that are invalid in the path of a URI (RFC 3986, section 3.3), except `/`. */
export function percentEncodePath(text: string): string {
  return text.replace(/[^A-Za-z0-9\-._~!$&'()*+,;=:@/]/gu, percentEncode);
}

/** Encodes the characters that are invalid in the authority of a URI (RFC 3986, section 3.2). */
export function percentEncodeAuthority(text: string): string {
  return text.replace(/[^A-Za-z0-9\-._~!$&'()*+,;=:@[\]]/gu, percentEncode);
}

/**
 * Converts a name to an authority by encoding invalid characters (gRFC A47). Percent-encoded ones stay, because grpc-js
 * does not decode targets.
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
