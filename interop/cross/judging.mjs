// What the answers of clients are judged by.
import { setTimeout as sleep } from 'node:timers/promises';

/** How long to wait for something that comes about by itself. Only a case that fails takes so long. */
const PATIENCE_MS = 60_000;
const CALL_TIMEOUT_MS = 20_000;

/** Makes calls. */
export const call = (
  client,
  target,
  count,
  { headers = {}, method = 'UnaryCall', secure = false, failFast = false } = {},
) => {
  const options = { headers, method, secure, failFast, timeoutMs: CALL_TIMEOUT_MS };
  return client.ask({ do: 'call', target, count, ...options });
};

/** The counts in words. */
const describe = ({ peers, codes, message }) => {
  const parts = Object.entries(peers).map(([peer, count]) => `${peer} ${count}`);
  for (const [code, count] of Object.entries(codes)) {
    if (code !== '0') parts.push(`status ${code} ${count} (${message.slice(0, 200)})`);
  }
  return parts.join(', ');
};

/** Throws what was measured instead. */
export const demand = (holds, what, counts) => {
  if (!holds) throw new Error(`expected ${what}, got ${describe(counts)}`);
};

const allSucceeded = ({ codes }) => Object.keys(codes).join() === '0';

/**
 * In grpc-go, calls have the new routes a moment before its policies have the clusters that those name. Its client alone counts
 * failures by their texts, each of which has to be of this kind.
 */
const areTooEarly = ({ failures = {} }) =>
  Object.keys(failures).length > 0 &&
  Object.keys(failures).every((text) => text.includes('unknown cluster selected for RPC'));

/** Whether no call failed that a change of the route may not fail. */
export const noneFailed = (counts) => allSucceeded(counts) || areTooEarly(counts);

/** Whether these servers, all of them and no others, answered, and nothing failed. */
export const isOnly = (names, counts) =>
  allSucceeded(counts) && Object.keys(counts.peers).sort().join() === [...names].sort().join();

/** Calls until these servers alone answer. */
export const untilOnly = async (client, target, names, options) => {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const counts = await call(client, target, Math.max(10, 4 * names.length), options);
    if (isOnly(names, counts)) return counts;
    const what = `only ${names.join(', ')} to answer`;
    if (performance.now() > deadline) demand(false, what, counts);
    await sleep(20);
  }
};

/** Asks until the answer is as wanted. */
export const until = async (ask, isWanted, what) => {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const answer = await ask();
    if (isWanted(answer)) return answer;
    if (performance.now() > deadline) {
      throw new Error(`expected ${what}, got ${JSON.stringify(answer)}`);
    }
    await sleep(20);
  }
};

/** Demands that a share of the calls is within six standard deviations: a right client is outside once in 10^9 runs. */
export const demandShare = (name, share, got, counts) => {
  const total = Object.values(counts.codes).reduce((sum, count) => sum + count, 0);
  const tolerance = 6 * Math.sqrt((share * (1 - share)) / total);
  const what = `${name} to get ${share} ± ${tolerance.toFixed(3)} of ${total}`;
  demand(Math.abs(got / total - share) <= tolerance, what, counts);
};

/** The same for the calls that servers answered. */
export const demandShares = (shares, counts) => {
  for (const [name, share] of Object.entries(shares)) {
    demandShare(name, share, counts.peers[name] ?? 0, counts);
  }
};
