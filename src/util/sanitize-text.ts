/** Control characters, invisible format characters such as those that reverse text, lone surrogates, line separators. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** A JSON Web Token, possibly truncated: its first part is base64url of an object. */
const JWT = /\beyJ[\w-]{8,}(?:\.[\w-]*){0,2}/g;
/** Credentials of an HTTP `Authorization` header. */
const AUTHORIZATION = /\b(Bearer|Basic) [\w.~+/=-]{16,}/gi;

/** Replaces a secret in a message. */
export const REDACTED = '[redacted]';

const shortEscapes: ReadonlyMap<string, string> = new Map([
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
]);

/**
 * Sanitizes text from the network for a status or a log line: escapes control characters, which could forge a line or
 * control a terminal, and redacts tokens, because servers echo them. Idempotent; other text is unchanged.
 */
export function sanitizeText(text: string): string {
  return text
    .replace(JWT, REDACTED)
    .replace(AUTHORIZATION, `$1 ${REDACTED}`)
    .replace(UNPRINTABLE, escape);
}

function escape(character: string): string {
  const short = shortEscapes.get(character);
  if (short !== undefined) return short;
  const digits = (character.codePointAt(0) ?? 0).toString(16);
  return digits.length <= 2 ? `\\x${digits.padStart(2, '0')}` : `\\u{${digits}}`;
}
