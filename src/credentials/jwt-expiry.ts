import { err, ok, type Result } from '../util/result';

/**
 * When a JSON Web Token expires. Its signature is for the server to check.
 * @returns milliseconds since the epoch, or why that cannot be told.
 */
export function readJwtExpiry(token: string): Result<number, string> {
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
    const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
    return typeof claims === 'object' && claims !== null ? claims : undefined;
  } catch {
    return undefined;
  }
}
