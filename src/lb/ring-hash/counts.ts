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
 * @param members In the order in which entries are assigned: see docs/decisions/resource-validation.md.
 * @param assign Receives the number of entries of each member.
 * @see https://github.com/grpc/grpc-go/blob/v1.75.0/balancer/ringhash/ring.go#L72
 */
export function chooseEntryCounts<M extends { readonly weight: number }>(
  members: readonly M[],
  limits: RingLimits,
  assign: (member: M, count: number) => void,
): void {
  let total = 0;
  let lightest = Infinity;
  for (const { weight } of members) {
    total += weight;
    if (weight < lightest) lightest = weight;
  }
  const leastShare = lightest / total;
  const scale = Math.min(Math.ceil(leastShare * limits.min) / leastShare, limits.max);
  // The sum of the shares so far, in entries.
  let target = 0;
  let assigned = 0;
  for (const member of members) {
    target += scale * (member.weight / total);
    const next = Math.max(assigned, Math.ceil(target));
    assign(member, next - assigned);
    assigned = next;
  }
}
