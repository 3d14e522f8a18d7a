/** The bounds of the number of entries of a ring. */
export interface RingLimits {
  readonly min: number;
  readonly max: number;
}

/**
 * Chooses the number of entries of each member, by the algorithm of Envoy that gRFC A42 prescribes: the ring is scaled so
 * that the lightest member has a whole number of entries, and each member gets as many as bring the total up to the
 * running sum of the shares. The arithmetic is that of grpc-go, operation by operation, because a rounding difference
 * moves entries.
 *
 * @param weights Of the members, in the order in which entries are assigned: see docs/decisions/resource-validation.md.
 * @param assign Receives the number of entries of each member, by its index.
 * @see https://github.com/grpc/grpc-go/blob/v1.75.0/balancer/ringhash/ring.go#L72
 */
export function chooseEntryCounts(
  weights: readonly number[],
  limits: RingLimits,
  assign: (index: number, count: number) => void,
): void {
  let total = 0;
  let lightest = Infinity;
  for (const weight of weights) {
    total += weight;
    if (weight < lightest) lightest = weight;
  }
  const leastShare = lightest / total;
  const scale = Math.min(Math.ceil(leastShare * limits.min) / leastShare, limits.max);
  // The sum of the shares so far, in entries.
  let target = 0;
  let assigned = 0;
  let index = 0;
  for (const weight of weights) {
    target += scale * (weight / total);
    const next = Math.max(assigned, Math.ceil(target));
    assign(index++, next - assigned);
    assigned = next;
  }
}
