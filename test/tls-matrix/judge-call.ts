import { status } from '@grpc/grpc-js';
import type { ConnectionRecord } from './recording-backend';
import type { Expectation } from './tls-case';

/** What became of a call. */
export interface CallOutcome {
  readonly code: status;
  readonly details: string;
  /** The number of the connection that it was answered by. */
  readonly connection: number | undefined;
  /** The connection of the call before it. */
  readonly connectionBefore: number | undefined;
  /** The connections that are new since the call before, or that had calls. */
  readonly records: readonly ConnectionRecord[];
}

/** What nothing excuses, whatever is about to change. */
export const TOKEN_IN_PLAIN = 'the bearer token was sent in plain text';

/** @returns what is not as expected; `undefined` if nothing is. */
export function judgeCall(expected: Expectation, outcome: CallOutcome): string | undefined {
  return judgeWire(expected, outcome) ?? judgeOutcome(expected, outcome);
}

/** What must hold whatever else is expected. */
function judgeWire(expected: Expectation, { records }: CallOutcome): string | undefined {
  for (const { kind, hasToken, isResumed } of records) {
    if (kind === 'plain' && hasToken) return TOKEN_IN_PLAIN;
    if (kind === 'plain' && !allowsPlain(expected)) return 'the connection was in plain text';
    if (kind === 'other') return 'the connection began with neither TLS nor HTTP/2';
    if (isResumed) return 'a session was resumed';
  }
  return undefined;
}

function allowsPlain(expected: Expectation): boolean {
  return expected.kind === 'plain' || (expected.kind === 'fails' && expected.isConnected === true);
}

function judgeOutcome(expected: Expectation, outcome: CallOutcome): string | undefined {
  const { code, details, records } = outcome;
  const called = records.filter(({ calls }) => calls > 0);
  const [used] = called;
  if (expected.kind === 'fails') {
    if (code === status.OK) return 'the call succeeded';
    if (used !== undefined) return 'a call that failed reached the server';
    if (code !== (expected.code ?? status.UNAVAILABLE)) return `status ${code}: ${details}`;
    const isAsExpected =
      typeof expected.text === 'string'
        ? details.includes(expected.text)
        : expected.text.test(details);
    return isAsExpected ? undefined : `another cause: ${details}`;
  }
  if (code !== status.OK) return `status ${code}: ${details}`;
  if (used === undefined || called.length > 1) return `answered over ${called.length} connections`;
  if (used.kind !== expected.kind) return `answered over a connection of kind ${used.kind}`;
  const isTunnelled = used.tunnelTo !== undefined;
  if (isTunnelled !== (expected.isTunnelled ?? false)) {
    return isTunnelled ? `through CONNECT ${used.tunnelTo}` : 'not through CONNECT';
  }
  return expected.kind === 'tls' ? judgeTls(expected, used, outcome) : undefined;
}

function judgeTls(
  expected: Expectation & { readonly kind: 'tls' },
  used: ConnectionRecord,
  { connection, connectionBefore }: CallOutcome,
): string | undefined {
  const { serverName = '', version, client, hasToken = false } = expected;
  if (used.serverName !== serverName) return `the server name "${used.serverName}" was sent`;
  if (version !== undefined && used.version !== version) return `by ${used.version}`;
  if (client !== undefined && used.client !== client) {
    return `the certificate of the client is of ${used.client ?? 'no one'}`;
  }
  if (used.hasToken !== hasToken) return hasToken ? 'no token was sent' : 'a token was sent';
  const isSame = connection === connectionBefore;
  if (expected.connection === 'same' && !isSame) return 'over another connection';
  if (expected.connection === 'new' && isSame) return 'over the same connection';
  return undefined;
}

/** An expectation in words. */
export function describeExpectation(expected: Expectation): string {
  if (expected.kind === 'fails') return `fails: ${String(expected.text)}`;
  if (expected.kind === 'plain') return 'succeeds in plain text';
  const facts = Object.entries(expected).filter(([name]) => name !== 'kind');
  const text = facts.map(([name, value]) => `${name} ${String(value)}`);
  return `succeeds over TLS${text.length === 0 ? '' : `: ${text.join(', ')}`}`;
}
