import type { Metadata } from '../../src/grpc-js';
import type { SessionCookie } from '../../src/http-filters/stateful-session/session-parser';
import type { HashPolicy } from '../../src/resources/route-config/route-config';

/** Characters of a header that a rewrite reads, and those of its result: the default of `maxHashInputLength`. */
const MAX_REWRITTEN = 4096;
/** Headers that routing does not see (docs/decisions/resource-validation.md). */
const NOT_CUSTOM =
  'te grpc-timeout grpc-message-type grpc-encoding grpc-accept-encoding user-agent'.split(' ');
const MASK = (1n << 64n) - 1n;

/** What the hash of a call should be (gRFC A42); `undefined` if it is random. */
export function expectedHash(
  policies: readonly HashPolicy[],
  headers: Metadata,
  { channelId, hash }: { readonly channelId: number; readonly hash: (text: string) => bigint },
): bigint | undefined {
  let result: bigint | undefined;
  for (const policy of policies) {
    const text = policy.kind === 'channel-id' ? String(channelId) : hashedHeader(policy, headers);
    if (text !== undefined) {
      const rotated = result === undefined ? 0n : ((result << 1n) & MASK) | (result >> 63n);
      result = rotated ^ hash(text);
    }
    if (policy.terminal && result !== undefined) break;
  }
  return result;
}

function hashedHeader(
  { headerName, rewrite }: Extract<HashPolicy, { kind: 'header' }>,
  headers: Metadata,
): string | undefined {
  if (headerName.endsWith('-bin') || NOT_CUSTOM.includes(headerName)) return undefined;
  const values = headerName === 'content-type' ? ['application/grpc'] : headers.get(headerName);
  if (values.length === 0) return undefined;
  const value = values.join(',');
  if (rewrite === undefined) return value;
  const { regex, substitution } = rewrite;
  const replacement = substitution
    .replace(/\$/g, () => '$$')
    .replace(/\\(\d)/g, (_all, digit: string) => (digit === '0' ? '$&' : `$${digit}`));
  return value
    .slice(0, MAX_REWRITTEN)
    .replaceAll(new RegExp(regex.pattern, 'g'), replacement)
    .slice(0, MAX_REWRITTEN);
}

/** Where a session lives. */
interface Session {
  readonly addresses: readonly string[];
  readonly cluster: string;
}

/**
 * The session of a call (gRFC A60): `none` without a cookie, `foreign` if the call belongs to no session, and
 * `malformed` if it has a cookie that no client of this kind writes; what such a cookie comes to is not said.
 */
export function expectedSession(
  { name, path }: SessionCookie,
  method: string,
  headers: Metadata,
): Session | 'none' | 'foreign' | 'malformed' {
  const folder = path.endsWith('/') ? path : `${path}/`;
  if (method !== path && !method.startsWith(folder)) return 'foreign';
  const cookies = headers.get('cookie').flatMap((header) => String(header).split(';'));
  const own = cookies.find((cookie) => cookie.split('=')[0]?.trim() === name);
  if (own?.includes('=') !== true) return own === undefined ? 'none' : 'malformed';
  const value = own.slice(own.indexOf('=') + 1).trim();
  const text = Buffer.from(value, 'base64').toString('utf8');
  const isOurs = Buffer.from(text).toString('base64') === value;
  const parts = /^((?:\d+\.\d+\.\d+\.\d+:\d+,?)+);([a-z:]*)$/.exec(text);
  if (!isOurs || parts === null) return 'malformed';
  const [, addresses = '', cluster = ''] = parts;
  return addresses.endsWith(',') ? 'malformed' : { addresses: addresses.split(','), cluster };
}
