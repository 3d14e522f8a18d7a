import { parseBoundedJson, type JsonLimits } from '../../../../src/util/bounded-json';
import { isArray, isObject } from '../../../../src/util/json-fields';
import { err, ok, type Result } from '../../../../src/util/result';
import { quoteText } from '../../../../src/util/text';
import { valueAt } from '../../../../src/util/value-at';
import { MAX_TOKEN_LENGTH } from './access-limits';

/** What a token says of itself. Nothing of it is proved: its signature is not checked. */
export interface TokenClaims {
  /** Milliseconds since the epoch. */
  readonly expiresAtMs: number;
}

const CLAIM_LIMITS: JsonLimits = { maxLength: MAX_TOKEN_LENGTH, maxValues: 1000 };
const JWT = /^[\w-]+\.([\w-]+)\.[\w-]+$/;
const NEXT_STEP = 'send a projected service account token';

/**
 * Reads what a token says of itself, so that one that cannot be valid is refused without a review.
 *
 * @param audience The one that it must have.
 * @returns an error text with the next step.
 */
export function readTokenClaims(
  token: string,
  audience: string,
  nowMs: number,
): Result<TokenClaims, string> {
  if (token.length > MAX_TOKEN_LENGTH) {
    const length = `${token.length} characters, more than ${MAX_TOKEN_LENGTH}`;
    return err(`the bearer token has ${length}: ${NEXT_STEP}`);
  }
  const [, payload] = JWT.exec(token) ?? [];
  const claims = payload === undefined ? undefined : parseClaims(payload);
  if (claims === undefined) return err(`the bearer token is no JWT: ${NEXT_STEP}`);
  const [aud, exp] = [valueAt(claims, 'aud'), valueAt(claims, 'exp')];
  if (typeof exp !== 'number' || !Number.isFinite(exp)) {
    return err(`the bearer token does not expire: ${NEXT_STEP}`);
  }
  const audiences = (isArray(aud) ? aud : [aud]).filter((each) => typeof each === 'string');
  if (!audiences.includes(audience)) {
    const own = audiences
      .slice(0, 3)
      .map((each) => quoteText(each))
      .join(', ');
    const [is, project] = [own === '' ? 'no audience' : `the audience ${own}`, quoteText(audience)];
    return err(`the bearer token is for ${is}: project one with the audience ${project}`);
  }
  const expiresAtMs = exp * 1000;
  if (expiresAtMs <= nowMs) {
    return err('the bearer token has expired: read its file again, which the kubelet renews');
  }
  return ok({ expiresAtMs });
}

function parseClaims(payload: string): object | undefined {
  try {
    const text = Buffer.from(payload, 'base64url').toString('utf8');
    const claims = parseBoundedJson(text, CLAIM_LIMITS);
    return isObject(claims) ? claims : undefined;
  } catch {
    return undefined;
  }
}
