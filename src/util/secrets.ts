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

/** Fields and keys of metadata that may have a key, a password or the like. */
const SECRET_NAME =
  /^(inline_?(bytes|string)|private_?key|password|passwd|token|secret|client_?secret|access_?token|api_?key)$/i;

/** Whether a field, or a key of metadata, may have a secret by its name. */
export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name);
}

/** What is in the bytes of a message with secrets, besides the names of hidden headers: keys of metadata, and TLS. */
const MARKERS =
  /private_?key|password|passwd|token|secret|api_?key|extensions\.transport_sockets\.tls/i;

/** Whether an encoded message may have secrets. It is not decoded for that: most have none. */
export function mayHaveSecrets(bytes: Uint8Array): boolean {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
  if (MARKERS.test(text)) return true;
  const lower = text.toLowerCase();
  for (const name of hidden) if (lower.includes(name)) return true;
  return false;
}
