/** The headers whose values are hidden by default. */
const DEFAULT: readonly string[] = ['authorization', 'proxy-authorization', 'cookie', 'set-cookie'];

/** Where the hidden headers of the process are: the packages that accompany this one have copies of this module. */
const HIDDEN = Symbol.for('grpc-xds.hidden-headers');
const ofProcess: { [HIDDEN]?: ReadonlySet<string> | undefined } & object = globalThis;

/** The names of the headers whose values are hidden, in small letters. Another set once others are. */
export function hiddenHeaders(): ReadonlySet<string> {
  return (ofProcess[HIDDEN] ??= new Set(DEFAULT));
}

/**
 * Sets, for this process, the headers whose values are hidden wherever configuration is shown: matchers of routes may have
 * credentials. Default: `authorization`, `proxy-authorization`, `cookie` and `set-cookie`.
 */
export function hideHeaders(names: readonly string[] = DEFAULT): void {
  ofProcess[HIDDEN] = new Set(names.map((name) => name.toLowerCase()));
}

/** Whether the values of a header are hidden. */
export function isHiddenHeader(name: string): boolean {
  return hiddenHeaders().has(name.toLowerCase());
}

/**
 * What a password, a key or the like is called, also at the end of a longer name: of a field, a key of metadata, a parameter
 * of a query, a variable. Shorter words than these are only names of their own.
 */
export const SECRET_WORDS =
  'password|passwd|passphrase|pwd|secret|token|credential|bearer|signature|(?:private|api|access|signing)[-_]?key|inline[-_]?(?:bytes|string)';
export const SHORT_SECRET_WORDS = 'pw|sig|jwt';
/** The word is the end of the name, after the beginning, a separator or a small letter: `token`, `db_password`, `authToken`. */
const SECRET_NAME = new RegExp(`(?:^|[-_.])(?:(?:${SECRET_WORDS})s?|${SHORT_SECRET_WORDS})$`, 'i');
const CAMEL_CASE = /([a-z0-9])(?=[A-Z])/g;

/** Whether a field, or a key of metadata, may have a secret by its name. */
export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name.replace(CAMEL_CASE, '$1_'));
}

/** Whether a key of metadata may have a secret: also one that is called as a hidden header, as no field with a secret is. */
export function isSecretKey(name: string): boolean {
  return isHiddenHeader(name) || isSecretName(name);
}

/** What the name of a header has that identifies a caller, or may: also in the middle of a name, such as `x-session-id`. */
const CREDENTIAL_HEADER =
  /auth|session|cookie|csrf|xsrf|assertion|cert|saml|(?:^|[-_.])(?:otp|totp|mfa|pin|sid|sso|key|keys|code|ticket|nonce)(?:$|[-_.])/i;

/**
 * Whether the value of a header of a real call may be a credential, by its name. Of calls more is hidden than of configuration, whose
 * values are conditions that many calls fulfil.
 */
export function mayBeCredential(header: string): boolean {
  return isSecretKey(header) || CREDENTIAL_HEADER.test(header);
}

/** Members of JSON that say which header the others of their object are about. */
const SUBJECTS: ReadonlySet<string> = new Set([
  'name',
  'key',
  'header',
  'header_name',
  'headerName',
]);

/** Whether a member of JSON may be the name of a header that the others of its object are about. */
export function isSubjectName(name: string): boolean {
  return SUBJECTS.has(name);
}

/** What is in the bytes of a message with secrets, besides the names of hidden headers: keys of metadata, texts, and TLS. */
const MARKERS =
  /passw|passphrase|pwd|pw\b|secret|token|credential|bearer|basic |eyj|signature|sig=|jwt|(?:private|api|access|signing)[-_]?key|:\/\/[^/\s]{0,512}@|extensions\.transport_sockets\.tls/i;

/** The tags of fields 16 to 31 with a length, such as conditions of routes that this package has no schema for. */
// eslint-disable-next-line no-control-regex -- the bytes of a message
const LATER_FIELDS = /[\x82\x8a\x92\x9a\xa2\xaa\xb2\xba\xc2\xca\xd2\xda\xe2\xea\xf2\xfa]\x01/;

/** Whether an encoded message may have secrets. It is not decoded for that: most have none. */
export function mayHaveSecrets(bytes: Uint8Array): boolean {
  return hasSecretText(latin1Of(bytes));
}

/** The same for a message with routes: their conditions may be about a cookie without its name. */
export function mayHaveSecretConditions(bytes: Uint8Array): boolean {
  const text = latin1Of(bytes);
  return LATER_FIELDS.test(text) || hasSecretText(text);
}

function latin1Of(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
}

function hasSecretText(text: string): boolean {
  if (MARKERS.test(text)) return true;
  const lower = text.toLowerCase();
  for (const name of hiddenHeaders()) if (lower.includes(name)) return true;
  return false;
}
