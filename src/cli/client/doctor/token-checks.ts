import type { ServerConfig } from '../../../bootstrap/bootstrap';
import { readJwtExpiry } from '../../../security/credentials/cached-token';
import type { Clock } from '../../../util/clock';
import { readRegularFile } from '../../../util/files/read-regular-file';
import type { Findings } from './finding';

const MAX_TOKEN_BYTES = 1024 * 1024;
/** Clocks may differ by as much. */
const LEEWAY_S = 60;

/** Checks the token files of a server (gRFC A97). @returns a few words about each token that can be used. */
export function checkTokens(
  subject: string,
  { callCreds }: ServerConfig,
  clock: Clock,
  findings: Findings,
): readonly string[] {
  return callCreds.flatMap(({ type, config }) => {
    const path = type === 'jwt_token_file' ? pathOf(config) : undefined;
    if (path === undefined) return [];
    return checkToken({ subject, path }, clock, findings) ?? [];
  });
}

function pathOf(config: unknown): string | undefined {
  if (typeof config !== 'object' || config === null || !('jwt_token_file' in config)) return;
  return typeof config.jwt_token_file === 'string' ? config.jwt_token_file : undefined;
}

function checkToken(
  { subject, path }: { subject: string; path: string },
  clock: Clock,
  findings: Findings,
): string | undefined {
  const fail = (check: string, text: string, remedy: string): undefined => {
    findings.fail(check, subject, `${path}: ${text}`, remedy);
  };
  const read = readRegularFile(path, { maxBytes: MAX_TOKEN_BYTES });
  if (!read.ok) return fail('token-file', read.error, 'check the path and its permissions');
  const token = read.value.toString('utf8').trim();
  const expiry = readJwtExpiry(token);
  if (!expiry.ok) return fail('token-file', expiry.error, 'write a JSON Web Token to the file');
  const nowMs = clock.now();
  const minutes = Math.round((expiry.value - nowMs) / 60_000);
  const { aud, notBefore } = readClaims(token);
  if (expiry.value <= nowMs) {
    const text = `the token has expired ${-minutes} min ago`;
    return fail('token-expired', text, 'find out why nothing renews it');
  }
  if (notBefore > nowMs / 1000 + LEEWAY_S) {
    const early = Math.round(notBefore - nowMs / 1000);
    const text = `the token is from ${early} s in the future`;
    return fail('clock-skew', text, 'set the clock of this machine');
  }
  return `token ${minutes} min left${aud === '' ? '' : ` for ${aud}`}`;
}

function readClaims(token: string): { readonly aud: string; readonly notBefore: number } {
  const [, payload = ''] = token.split('.');
  const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
  const fields = new Map<string, unknown>(Object.entries(claims ?? {}));
  const seconds = [fields.get('nbf'), fields.get('iat')].filter((each) => typeof each === 'number');
  const aud = fields.get('aud') ?? '';
  const audience = Array.isArray(aud) ? aud.join(', ') : aud;
  return {
    aud: typeof audience === 'string' ? audience : '',
    notBefore: seconds.reduce((latest, each) => Math.max(latest, each), 0),
  };
}
