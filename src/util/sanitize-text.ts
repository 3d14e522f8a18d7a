/** Control characters, invisible format characters such as those that reverse text, lone surrogates, line separators. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** A JSON Web Token, perhaps cut short: its first part is base64url of an object. */
const JWT = /\beyJ[\w-]{8,}(?:\.[\w-]*){0,2}/g;
/** Credentials of an HTTP `Authorization` header. */
const AUTHORIZATION = /\b(Bearer|Basic) [\w.~+/=-]{16,}/gi;

/** What a message has in place of a secret. */
export const REDACTED = '[redacted]';

const shortEscapes: ReadonlyMap<string, string> = new Map([
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
]);

/**
 * Makes text from the network fit for a status or a log line: control characters are escaped, so that it can neither
 * forge a line nor command a terminal, and what looks like a token is redacted, because servers echo them. Text that
 * has neither is returned as it is; applying it twice changes nothing.
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
