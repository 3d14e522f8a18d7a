import { parseBoundedJson } from './bounded-json';
import { MAX_TOKEN_BYTES } from './limits';
import { err, ok, type Result } from './result';

/**
 * Reads the expiry of a JSON Web Token, whose signature the server checks.
 * @returns milliseconds since the epoch, or an error text.
 */
export function readJwtExpiry(token: string): Result<number, string> {
  if (token.length > MAX_TOKEN_BYTES) return err(`longer than ${MAX_TOKEN_BYTES} bytes`);
  const [, payload] = /^[\w-]+\.([\w-]+)\.[\w-]*$/.exec(token) ?? [];
  if (payload === undefined) return err('not a JWT: not three parts in base64url');
  const claims = parseClaims(payload);
  if (claims === undefined) return err('not a JWT: the second part is not a JSON object');
  const { exp } = claims;
  if (typeof exp !== 'number' || !Number.isFinite(exp)) return err('a JWT without the claim "exp"');
  const expiryMs = exp * 1000;
  return Number.isFinite(expiryMs) ? ok(expiryMs) : err('a JWT whose claim "exp" is not a time');
}

function parseClaims(payload: string): { readonly exp?: unknown } | undefined {
  try {
    const text = Buffer.from(payload, 'base64url').toString('utf8');
    const claims = parseBoundedJson(text, { maxLength: MAX_TOKEN_BYTES, maxValues: Infinity });
    return typeof claims === 'object' && claims !== null ? claims : undefined;
  } catch {
    return undefined;
  }
}
