/** The headers whose values are hidden by default. */
const DEFAULT: readonly string[] = ['authorization', 'proxy-authorization', 'cookie', 'set-cookie'];

let hidden: ReadonlySet<string> = new Set(DEFAULT);

/**
 * Sets, for this process, the headers whose values are hidden wherever configuration is shown: matchers of routes may have
 * credentials. Default: `authorization`, `proxy-authorization`, `cookie` and `set-cookie`.
 */
export function hideHeaders(names: readonly string[] = DEFAULT): void {
  hidden = new Set(names.map((name) => name.toLowerCase()));
}

/** Whether the values of a header are hidden. */
export function isHiddenHeader(name: string): boolean {
  return hidden.has(name.toLowerCase());
}

/** What a field, or a key of metadata, with a key, a password or the like is called, also as a part of its name. */
const SECRET_WORDS =
  'passwords?|passwd|passphrase|pwd|pw|secrets?|tokens?|credentials?|bearer|private[-_]?keys?|api[-_]?keys?|access[-_]?keys?|signing[-_]?keys?|inline[-_]?(?:bytes|string)';
/** The word is the end of the name, after the beginning, a separator or a small letter: `token`, `db_password`, `authToken`. */
const SECRET_NAME = new RegExp(`(?:^|[-_.])(?:${SECRET_WORDS})$`, 'i');
const CAMEL_CASE = /([a-z0-9])(?=[A-Z])/g;

/** Whether a field, or a key of metadata, may have a secret by its name. */
export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name.replace(CAMEL_CASE, '$1_'));
}

/** Whether a key of metadata may have a secret: also one that is called as a hidden header, as no field with a secret is. */
export function isSecretKey(name: string): boolean {
  return isHiddenHeader(name) || isSecretName(name);
}

/** What is in the bytes of a message with secrets, besides the names of hidden headers: keys of metadata, texts, and TLS. */
const MARKERS =
  /passw|passphrase|pwd|pw\b|secret|token|credential|bearer|basic |eyj|(?:private|api|access|signing)[-_]?key|:\/\/[^/\s]{0,512}@|extensions\.transport_sockets\.tls/i;

/** Whether an encoded message may have secrets. It is not decoded for that: most have none. */
export function mayHaveSecrets(bytes: Uint8Array): boolean {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
  if (MARKERS.test(text)) return true;
  const lower = text.toLowerCase();
  for (const name of hidden) if (lower.includes(name)) return true;
  return false;
}
