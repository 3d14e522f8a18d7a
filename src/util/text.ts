import { hiddenHeaders, SECRET_WORDS, SHORT_SECRET_WORDS } from './secrets';

/** Characters of a text from outside that a message quotes by default. */
export const MAX_QUOTED_LENGTH = 256;

/**
 * Returns the text, or its beginning and `…` if it is longer. Texts from outside are cut before anything else is done to
 * them, because that takes time for every character.
 */
export function cutText(text: string, maxLength: number): string {
  return text.length > maxLength ? `${startOf(text, maxLength)}…` : text;
}

/** Quotes a text from outside as JSON, cut. */
export function quoteText(text: string, maxLength = MAX_QUOTED_LENGTH): string {
  return JSON.stringify(cutText(text, maxLength));
}

/** Characters that are shown of a longer name of a resource. */
export const MAX_SHOWN_NAME = 512;

/**
 * Quotes the name of a resource, cut. A `"` or a backslash in it has a backslash before it, so that no name can end its
 * quotes, and control characters are escaped as everywhere else.
 */
export function quoteName(name: string): string {
  return `"${escapeQuotes(cutText(name, MAX_SHOWN_NAME)).replace(UNPRINTABLE, escape)}"`;
}

/** Returns the name of a resource, or another text, as it is shown beside others: cut, and with control characters escaped. */
export function showName(name: string, maxLength = MAX_SHOWN_NAME): string {
  return cutText(name, maxLength).replace(UNPRINTABLE, escape);
}

/** Escapes the control characters and the invisible characters of a text that is shown, also those that reverse what follows. */
export function escapeUnprintable(text: string): string {
  return text.replace(UNPRINTABLE, escape);
}

/** Puts a backslash before each `"` and backslash of a text beside which names are quoted, such as a target. */
export function escapeQuotes(text: string): string {
  return text.replace(/["\\]/g, '\\$&');
}

/** Returns the beginning of a text, without half of a character that two code units make up. */
function startOf(text: string, length: number): string {
  const last = text.charCodeAt(length - 1);
  const isHalf = last >= 0xd800 && last < 0xdc00;
  return text.slice(0, isHalf ? length - 1 : length);
}

/** Characters of a text from outside that a status or a log line shows. */
export const MAX_TEXT_LENGTH = 16_384;

/** Control characters, invisible format characters such as those that reverse text, lone surrogates, line separators. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** A JSON Web Token, possibly truncated: its first part is base64url of an object. */
const JWT = /\beyJ[\w-]{8,}(?:\.[\w-]*){0,2}/g;
/** Credentials of an HTTP `Authorization` header; a word of letters alone may be one of a sentence. */
const AUTHORIZATION = /\b(Bearer|Basic) (?:[\w.~+/=-]{16,}|(?=[\w.~+/-]*[\d=])[\w.~+/=-]{6,})/gi;

/** The user name and the password of a URL, which is cut if it is at the end of a text that was. */
const USER_INFO = /:\/\/[^/\s"'<>]+@/g;
const CUT_USER_INFO = /:\/\/[^/\s"'<>]+(?:@|$)/g;
/** The same, with a password that has an unescaped `/`: what follows the first colon is no port. */
const SLASHED_PASSWORD = /:\/\/[^/@:\s"'<>]*:(?!\d+\/)[^@\s"'<>]{1,256}@/g;
/** Between quotes, which a text in a text has with a backslash. */
const QUOTED = String.raw`(?<=\\["'])[^"'\\]*|(?<=["'])(?:\\.|[^"'\\])*`;
const WORD = String.raw`[^\s&;,"')\]\\]+`;
/** What is no word of a sentence, such as `token: not found`, and no path of fields, such as `token: inline_string: empty`. */
const NO_PROSE = String.raw`(?=[a-z]*[^a-z\s&;,"')\]}.:\\])(?!\S*:(?:\s|$))`;
/**
 * A password or a key, with its name before it, in a query, an environment, a connection string, JSON or YAML; the name may
 * have a beginning.
 */
const NAMED = new RegExp(
  String.raw`(${SECRET_WORDS}|(?<![a-z])(?:${SHORT_SECRET_WORDS}))` +
    String.raw`(?:(=\\*["']?|\\*["']?\s*:\s*\\*["']|%3D)(?:${QUOTED}|${WORD})|(?<!\bno token)(:\s+)${NO_PROSE}[^\s&;,"')\]\\]{6,})\]?`,
  'gi',
);

/** Finds a hidden header and its value, as in a request, in JSON, in YAML and as Node.js shows objects. */
let headerPattern: { readonly names: ReadonlySet<string>; readonly pattern: RegExp } | undefined;

/** The rest of a line, whose end may be escaped. */
const REST = String.raw`(?:(?!\\[rn])[^\r\n])*`;
/** At least three words of small letters, which end the line, such as `authorization: any is refused`. */
const SENTENCE = String.raw`[a-z]{1,15}(?:[,.:;]? [a-z]{1,15}){2,}\.?(?=$|[\r\n"')\]}]|\\[rn])`;

/**
 * Whatever the scheme is, everything after the colon is hidden that is no sentence and no path of fields. Between quotes it ends with
 * them, and after `=` with the word.
 */
function createHeaderPattern(headers: ReadonlySet<string>): RegExp {
  const escaped = Array.from(headers, (name) => name.replace(/[$()*+.?[\\\]^{|}]/g, '\\$&'));
  const before = String.raw`\\*["']?\s*`;
  const after = String.raw`\s*(?:\[\s*)?\\*["']?`;
  const scheme = inAnyCase('bearer|basic|digest|negotiate');
  const unquoted = String.raw`(?!\s|$|redacted\])(?!${SENTENCE})(?!\S*:(?:\s|$))`;
  const line = String.raw`(${before}:${after})(?:${QUOTED}|((?:${scheme})\s+)${REST}|${unquoted}${REST})`;
  const word = String.raw`(${before}=>?${after})(?:${QUOTED}|${NO_PROSE}${WORD})\]?`;
  return new RegExp(
    String.raw`(?<![\w-])(${inAnyCase(escaped.join('|'))})(?:${line}|${word})`,
    'g',
  );
}

/** Returns the source of a regular expression for names in small and capital letters. */
function inAnyCase(names: string): string {
  return names.replace(/[a-z]/g, (letter) => `[${letter}${letter.toUpperCase()}]`);
}

/** A private key in PEM, of which the end may be missing. */
const PRIVATE_KEY = /-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*(?:-----END [A-Z ]*PRIVATE KEY-----)?/g;

/** Replaces a secret in a message. */
export const REDACTED = '[redacted]';

const shortEscapes: ReadonlyMap<string, string> = new Map([
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
]);

/** A secret is recognised by its first characters, this many: fewer of it may be left at the end of a cut text. */
const MIN_SECRET_LENGTH = 16;

/** What every secret has in it or before it: a text without it, such as the name of most resources, needs no closer look. */
const NEAR_SECRET = /[:=]|%3D|eyJ|(?:bearer|basic) |PRIVATE KEY/i;

/**
 * Redacts the secrets of a text that is shown or logged: tokens, the values of hidden headers, user names and passwords of
 * URLs, and what is named as a password, a key or a signature. Idempotent.
 *
 * @param isCut Whether the text goes on, so that its end may be the beginning of a secret.
 */
export function redactSecrets(text: string, isCut = false): string {
  if (!NEAR_SECRET.test(text)) return text;
  const shown = text
    .replace(JWT, REDACTED)
    .replace(AUTHORIZATION, `$1 ${REDACTED}`)
    .replace(isCut ? CUT_USER_INFO : USER_INFO, `://${REDACTED}@`)
    .replace(SLASHED_PASSWORD, `://${REDACTED}@`)
    .replace(PRIVATE_KEY, REDACTED)
    .replace(NAMED, `$1$2$3${REDACTED}`);
  const names = hiddenHeaders();
  if (names.size === 0) return shown;
  if (names !== headerPattern?.names)
    headerPattern = { names, pattern: createHeaderPattern(names) };
  return shown.replace(headerPattern.pattern, `$1$2$3$4${REDACTED}`);
}

/**
 * Sanitizes text from the network for a status or a log line: cuts it, escapes control characters, which could forge a line
 * or control a terminal, and redacts tokens, because servers echo them. Idempotent; other text is unchanged.
 *
 * It is cut before anything else is done to it: each character that is replaced takes 0.1 to 0.7 µs.
 *
 * @param maxLength Characters of the result, besides `…`.
 */
export function sanitizeText(text: string, maxLength = MAX_TEXT_LENGTH): string {
  const isCut = text.length > maxLength + 1;
  const clean = redactCut(text, maxLength, (read) => redactSecrets(read, isCut)).replace(
    UNPRINTABLE,
    escape,
  );
  return cutText(clean, maxLength);
}

/** Items that a message names of a longer list. */
const LISTED = 5;

/** Returns the texts of the first items and, as the last one, how many more there are: `a`, `b`, `and 3 more`. */
export function listFirst<T>(
  items: readonly T[],
  toText: (item: T) => string = String,
): readonly string[] {
  const texts = items.slice(0, LISTED).map((item) => toText(item));
  return items.length > LISTED ? [...texts, `and ${items.length - LISTED} more`] : texts;
}

/** Joins the texts of the first items, and says how many more there are: `a, b and 3 more`. */
export function joinFirst<T>(
  items: readonly T[],
  toText?: (item: T) => string,
  separator = ', ',
): string {
  const shown = listFirst(items.slice(0, LISTED), toText).join(separator);
  return items.length > LISTED ? `${shown} and ${items.length - LISTED} more` : shown;
}

/** Joins lines to one text, each sanitized, so that none can forge another. */
export function joinLines(lines: readonly string[]): string {
  return lines.map((line) => sanitizeText(line)).join('\n');
}

/**
 * Cuts a text and redacts what is left, without the beginning of a secret at the end.
 * @param redact Redacts secrets of at least 16 characters.
 */
export function redactCut(
  text: string,
  maxLength: number,
  redact: (text: string) => string,
): string {
  // One more for the mark of a text that was cut before.
  if (text.length <= maxLength + 1) return redact(text);
  return `${redact(text.slice(0, maxLength)).slice(0, 1 - MIN_SECRET_LENGTH)}…`;
}

function escape(character: string): string {
  const short = shortEscapes.get(character);
  if (short !== undefined) return short;
  const digits = (character.codePointAt(0) ?? 0).toString(16);
  return digits.length <= 2 ? `\\x${digits.padStart(2, '0')}` : `\\u{${digits}}`;
}

/** Returns how often a text or its bytes have a part; stops after the limit. Occurrences do not overlap. */
export function countOccurrences(
  text: { indexOf(part: string, from: number): number },
  part: string,
  limit = Infinity,
): number {
  let count = 0;
  let at = text.indexOf(part, 0);
  while (at >= 0 && count <= limit) {
    count++;
    at = text.indexOf(part, at + part.length);
  }
  return count;
}

/** Returns `host:port`, with brackets around an IPv6 address. */
export function joinHostPort(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Removes every such character from the end of a text, which a regular expression would look for at each of its places. */
export function withoutTrailing(text: string, character: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === character) end--;
  return text.slice(0, end);
}

/** Returns the name of a type without its package. */
export function shortName(typeUrl: string): string {
  return typeUrl.slice(typeUrl.lastIndexOf('.') + 1);
}
