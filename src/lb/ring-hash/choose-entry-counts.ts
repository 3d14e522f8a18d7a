import { STEP_SIZE, type Steps } from '../../util/steps';

/** The bounds of the number of entries of a ring. */
export interface RingLimits {
  readonly min: number;
  readonly max: number;
}

/** The owners of a ring, by slot. */
export interface RingOwners {
  readonly weights: Float64Array;
  /** The slots in the order in which entries are assigned. */
  readonly order: Int32Array;
}

/**
 * Returns the number of entries of each slot, by the algorithm of Envoy that gRFC A42 prescribes: the ring is scaled so
 * that the lightest owner has a whole number of entries, and each owner gets as many as bring the total up to the
 * running sum of the shares. The arithmetic is that of grpc-go, operation by operation, because a rounding difference
 * moves entries.
 *
 * @see https://github.com/grpc/grpc-go/blob/v1.75.0/balancer/ringhash/ring.go#L72
 * @see docs/decisions/0013-ring-order.md for the order.
 */
export function* chooseEntryCounts(
  { weights, order }: RingOwners,
  limits: RingLimits,
): Steps<Uint32Array> {
  const counts = new Uint32Array(weights.length);
  let total = 0;
  let lightest = Infinity;
  for (let start = 0; start < order.length; start += STEP_SIZE) {
    if (start > 0) yield;
    for (const slot of order.subarray(start, start + STEP_SIZE)) {
      const weight = weights[slot] ?? 0;
      total += weight;
      if (weight < lightest) lightest = weight;
    }
  }
  if (total === 0) return counts;
  const leastShare = lightest / total;
  const scale = Math.min(Math.ceil(leastShare * limits.min) / leastShare, limits.max);
  let assigned = 0;
  let target = 0;
  for (let start = 0; start < order.length; start += STEP_SIZE) {
    if (start > 0) yield;
    for (const slot of order.subarray(start, start + STEP_SIZE)) {
      target += scale * ((weights[slot] ?? 0) / total);
      const next = Math.max(assigned, Math.ceil(target));
      counts[slot] = next - assigned;
      assigned = next;
    }
  }
  return counts;
}
