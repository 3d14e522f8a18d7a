/**
 * The running sums of the weights. They are doubles: exact up to 2^53, where 32-bit arithmetic would wrap
 * around with a handful of targets.
 */
export function cumulativeWeights(weights: readonly number[]): readonly number[] {
  let sum = 0;
  return weights.map((weight) => (sum += weight));
}

/**
 * The index of the target whose share the point falls into: the first whose running sum exceeds it.
 *
 * @param point From 0 up to, not including, the last sum.
 */
export function chooseTarget(cumulative: readonly number[], point: number): number {
  let low = 0;
  let high = cumulative.length - 1;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((cumulative[middle] ?? 0) > point) high = middle;
    else low = middle + 1;
  }
  return low;
}
