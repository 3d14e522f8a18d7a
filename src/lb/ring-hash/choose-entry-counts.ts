import { STEP_SIZE, type Steps } from '../../util/steps';
import type { ColumnPool } from './column-pool';

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
  columns: ColumnPool,
): Steps<Uint32Array<ArrayBuffer>> {
  const counts = columns.uint32(weights.length);
  const sums: WeightSums = { total: 0, lightest: Infinity };
  for (let start = 0; start < order.length; start += STEP_SIZE) {
    if (start > 0) yield;
    addWeights(sums, weights, order.subarray(start, start + STEP_SIZE));
  }
  const { total, lightest } = sums;
  if (total === 0) return counts;
  const leastShare = lightest / total;
  const scale = Math.min(Math.ceil(leastShare * limits.min) / leastShare, limits.max);
  const progress: Progress = { total, scale, target: 0, assigned: 0 };
  for (let start = 0; start < order.length; start += STEP_SIZE) {
    if (start > 0) yield;
    assign(progress, weights, order.subarray(start, start + STEP_SIZE), counts);
  }
  return counts;
}

interface WeightSums {
  total: number;
  lightest: number;
}

function addWeights(sums: WeightSums, weights: Float64Array, slots: Int32Array): void {
  let { total, lightest } = sums;
  for (let i = 0; i < slots.length; i++) {
    const weight = weights[slots[i] ?? 0] ?? 0;
    total += weight;
    if (weight < lightest) lightest = weight;
  }
  sums.total = total;
  sums.lightest = lightest;
}

interface Progress {
  readonly total: number;
  readonly scale: number;
  /** The sum of the shares up to here, in entries. */
  target: number;
  assigned: number;
}

function assign(
  progress: Progress,
  weights: Float64Array,
  slots: Int32Array,
  counts: Uint32Array,
): void {
  const { total, scale } = progress;
  let { target, assigned } = progress;
  for (let i = 0; i < slots.length; i++) {
    const slot = slots[i] ?? 0;
    target += scale * ((weights[slot] ?? 0) / total);
    const next = Math.max(assigned, Math.ceil(target));
    counts[slot] = next - assigned;
    assigned = next;
  }
  progress.target = target;
  progress.assigned = assigned;
}
