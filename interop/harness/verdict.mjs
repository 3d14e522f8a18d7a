import { status } from '@grpc/grpc-js';

/** What a case ends with. */
export const verdict = (passed, measured) => ({ passed, measured });

/** Several checks as one: all must hold. Ones that were not reached are missing. */
export const allOf = (...verdicts) =>
  verdict(
    verdicts.every(({ passed }) => passed),
    verdicts.map(({ measured }) => measured).join(' → '),
  );

/** The calls of some statistics in words. */
export const describeStats = ({ byPeer, failures }) => {
  const peers = [...byPeer].sort(([a], [b]) => a.localeCompare(b, 'en', { numeric: true }));
  const parts = peers.map(([peer, count]) => `${peer} ${count}`);
  if (failures > 0) parts.push(`failed ${failures}`);
  return parts.length === 0 ? 'no calls' : parts.join(', ');
};

/** The calls by status in words. */
export const describeCodes = (codes) =>
  [...codes]
    .sort(([a], [b]) => a - b)
    .map(([code, count]) => `${status[code] ?? code} ${count}`)
    .join(', ');

const namesOf = (servers) => servers.map(({ name }) => name).sort();

/** Whether these servers, all of them and no others, answered, and nothing failed. */
export const isOnly = (servers) => (stats) =>
  stats.failures === 0 && [...stats.byPeer.keys()].sort().join() === namesOf(servers).join();

/** The same, with each server's share differing from the mean by the tolerance at most (a fraction of the mean). */
export const isEven = (servers, tolerance) => (stats) => {
  const counts = [...stats.byPeer.values()];
  const mean = counts.reduce((sum, count) => sum + count, 0) / servers.length;
  const isNear = (count) => Math.abs(count - mean) <= mean * tolerance + 1e-9;
  return isOnly(servers)(stats) && counts.every(isNear);
};

/** Waits until these servers alone answer. */
export const untilOnly = async (client, servers, count) => {
  const stats = await client.statsUntil(isOnly(servers), count);
  return verdict(isOnly(servers)(stats), describeStats(stats));
};

/** Waits until these servers alone answer, evenly. */
export const untilEven = async (client, servers, { count = 100, tolerance = 0.05 } = {}) => {
  const isWanted = isEven(servers, tolerance);
  const stats = await client.statsUntil(isWanted, count);
  return verdict(isWanted(stats), describeStats(stats));
};

/** Whether a share of the calls ended with a status, within a tolerance (both fractions of all). */
export const shareOf = (codes, code, share, tolerance = 0.01) => {
  const all = [...codes.values()].reduce((sum, count) => sum + count, 0);
  const measured = all === 0 ? 0 : (codes.get(code) ?? 0) / all;
  return verdict(all > 0 && Math.abs(measured - share) <= tolerance + 1e-9, describeCodes(codes));
};

/** Whether no call of the client failed since it was started. */
export const noneFailed = async (client, method = 'UnaryCall') => {
  const { codes } = await client.totals(method);
  const failed = [...codes].filter(([code]) => code !== status.OK);
  return verdict(
    failed.length === 0,
    failed.length === 0 ? 'no failures' : describeCodes(new Map(failed)),
  );
};
