/** Buckets for each doubling of a latency: what is read from them is at most 13 % off. */
const PER_DOUBLING = 3;
/** The upper bound of the first bucket, in milliseconds. */
const FIRST_MS = 0.1;

/** The number of buckets: the last one is for more than 84 s. */
export const BUCKETS = 60;

/** Returns the index of the bucket of a latency. */
export function bucketOf(latencyMs: number): number {
  if (!(latencyMs > FIRST_MS)) return 0;
  return Math.min(Math.ceil(Math.log2(latencyMs / FIRST_MS) * PER_DOUBLING), BUCKETS - 1);
}

/**
 * Returns the latency that a share of the calls did not exceed: the middle of the bucket that it is in.
 *
 * @param share Such as 0.99.
 * @returns `undefined` without calls.
 */
export function percentile(counts: ArrayLike<number>, share: number): number | undefined {
  let total = 0;
  for (let index = 0; index < BUCKETS; index++) total += counts[index] ?? 0;
  if (total === 0) return undefined;
  let left = share * total;
  for (let index = 0; index < BUCKETS; index++) {
    left -= counts[index] ?? 0;
    if (left <= 0) return FIRST_MS * 2 ** ((index - 0.5) / PER_DOUBLING);
  }
  return undefined;
}
