import type { MergedEndpoint } from './merged-endpoints';

/** What is distributed: the weights of all endpoints of a priority add up to about as much. */
const WHOLE = 1_000_000;

/**
 * Returns the part of each endpoint in the calls of a zone whose own endpoints are too few; `undefined` if they suffice.
 *
 * How many calls a zone makes is not known here: each of the Z zones that have endpoints is taken to make as many as the others. So
 * the E endpoints have E/Z callers' shares each, and a zone with e of them can serve the part e·Z/E of its own calls without
 * more load than the average, or f = (1 + overload)·e·Z/E with as much overload as is allowed. If f is at least 1, its callers use
 * its own endpoints only. Otherwise these have the part f, and the zones with more than E/Z endpoints have the rest in proportion
 * to how many they have more.
 *
 * @param maxOverloadPercent By how many percent an endpoint may have more calls than the average.
 */
export function findZoneShares(
  zone: string,
  endpoints: readonly MergedEndpoint[],
  zonesOf: (endpoint: MergedEndpoint) => readonly string[],
  maxOverloadPercent: number,
): ((endpoint: MergedEndpoint) => number) | undefined {
  const counts = new Map<string, number>();
  let total = 0;
  for (const endpoint of endpoints) {
    const zones = zonesOf(endpoint);
    for (const each of zones) counts.set(each, (counts.get(each) ?? 0) + 1 / zones.length);
    if (zones.length > 0) total++;
  }
  const own = counts.get(zone);
  if (own === undefined) return undefined;
  const average = total / counts.size;
  const kept = ((1 + maxOverloadPercent / 100) * own) / average;
  if (kept >= 1) return undefined;
  const spare = Array.from(counts.values()).reduce((sum, n) => sum + Math.max(0, n - average), 0);
  const shareOf = (each: string, count: number) =>
    each === zone ? kept : ((1 - kept) * Math.max(0, count - average)) / spare;
  return (endpoint) => {
    const zones = zonesOf(endpoint);
    let share = 0;
    for (const each of zones) {
      const count = counts.get(each) ?? 1;
      share += shareOf(each, count) / count / zones.length;
    }
    return WHOLE * share;
  };
}
