// Clients with tokens that no API server has signed, each with a connection of its own. Arguments, as JSON: the port, the
// certificates, the audience, and how many connections are begun in a second. Says what became of them when it is asked to.
import { randomBytes } from 'node:crypto';
import { attemptAds } from '../workload/ads-attempt';
import { monotonicMs } from '../../support/monotonic';

/** What the program is started with. */
export interface BadClientsOptions {
  readonly port: number;
  readonly ca: string;
  readonly audience: string;
  readonly perSecond: number;
}

const { port, ca, audience, perSecond } = JSON.parse(process.argv[2] ?? '') as BadClientsOptions;
const TICK_MS = 10;
const WAIT_MS = 10_000;
/** More at once are only so many sockets of this process. */
const MAX_PENDING = 10_000;

const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

/** A token that claims what it should, so that it takes a review to refuse it. */
function forgedToken(): string {
  const claims = { aud: [audience], exp: Math.ceil(Date.now() / 1000) + 3600, iss: 'forged' };
  return `${encode({ alg: 'RS256' })}.${encode(claims)}.${randomBytes(256).toString('base64url')}`;
}

const outcomes = new Map<string, number>();
const startedMs = monotonicMs();
let begun = 0;
let pending = 0;

async function attempt(): Promise<void> {
  begun++;
  pending++;
  const [outcome = ''] = (await attemptAds({ port, ca, token: forgedToken() }, WAIT_MS)).split(' ');
  outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
  pending--;
}

setInterval(() => {
  const due = ((monotonicMs() - startedMs) * perSecond) / 1000;
  while (begun < due && pending < MAX_PENDING) void attempt();
}, TICK_MS);

process.on('message', () => {
  const perSecondMade = (1000 * begun) / (monotonicMs() - startedMs);
  process.send?.({ perSecond: perSecondMade, outcomes: Object.fromEntries(outcomes) });
});
process.on('disconnect', () => process.exit());
