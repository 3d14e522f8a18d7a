/** How big a ring may be, in entries. */
export interface RingLimits {
  readonly min: number;
  readonly max: number;
}

/** What is known of the owners of a ring, by slot. A slot of weight 0 is empty. */
export interface RingOwners {
  readonly weights: Float64Array;
  /** For each owner, a number between 0 and 1 of its own that never changes. */
  readonly draws: Float64Array;
}

/** Weights are whole numbers rounded from fractions, so a quotient of theirs may miss what it should be. */
const ROUNDING = 1e-6;
/** Enough for the estimate to be exact, or so near that it does not matter who gets the last entries. */
const MAX_STEPS = 24;

/** How many entries there are, and who has them. */
export interface EntryCounts {
  /** In total; 0 without owners. */
  readonly size: number;
  /** By slot. */
  readonly counts: Uint32Array;
  /** The entries with a lower rank than this are in; `undefined` if there is no such rank, as with equal ranks. */
  readonly threshold: number | undefined;
}

/**
 * How many entries each owner has. The ring is as big as gRFC A42 has it: the least size from `min` on
 * with which the lightest owner has a whole number of entries, or `max`.
 *
 * Where shares are not whole numbers, something has to round them. The gRFC leaves open how; the customary
 * running sum would hand most entries to other owners whenever one comes or goes. Here, the n-th entry of an
 * owner has the rank `(n + draw) / weight`, and the entries of lowest rank are in. So a change among the owners
 * changes about as many entries as those that changed have.
 */
export function chooseEntryCounts(owners: RingOwners, limits: RingLimits): EntryCounts {
  const size = chooseRingSize(owners.weights, limits);
  const counts = new Uint32Array(owners.weights.length);
  if (size === 0) return { size, counts, threshold: undefined };
  const { low, high } = findThreshold(owners, size);
  let left = size;
  for (let slot = 0; slot < counts.length; slot++) {
    const count = countBelow(owners, slot, low);
    counts[slot] = count;
    left -= count;
  }
  const threshold = left === 0 ? low : undefined;
  // The thresholds are the same unless ranks are, or nearly.
  for (let slot = 0; left > 0 && slot < counts.length; slot++) {
    const count = counts[slot] ?? 0;
    const more = Math.min(left, countBelow(owners, slot, high) - count);
    counts[slot] = count + more;
    left -= more;
  }
  return { size, counts, threshold };
}

/** Another number of entries for an owner. */
export interface CountChange {
  readonly slot: number;
  readonly before: number;
  readonly count: number;
}

/**
 * The changes that {@link chooseEntryCounts} would come to, if only the given owners are others than before, and the
 * entries that they lose are as many as they gain, as is most often the case where a few of many are replaced.
 *
 * @returns `undefined` if that is not the case.
 */
export function chooseCountChanges(
  previous: EntryCounts,
  changedSlots: readonly number[],
  owners: RingOwners,
  limits: RingLimits,
): readonly CountChange[] | undefined {
  const { counts, size, threshold } = previous;
  const { weights } = owners;
  if (threshold === undefined || weights.length !== counts.length) return undefined;
  if (chooseRingSize(weights, limits) !== size) return undefined;
  let gained = 0;
  const changes = changedSlots.map((slot) => {
    const before = counts[slot] ?? 0;
    const count = countBelow(owners, slot, threshold);
    gained += count - before;
    return { slot, before, count };
  });
  return gained === 0 ? changes : undefined;
}

/** How many entries there are to be; 0 without owners. */
function chooseRingSize(weights: Float64Array, { min, max }: RingLimits): number {
  let total = 0;
  let lightest = Infinity;
  for (const weight of weights) {
    total += weight;
    if (weight > 0 && weight < lightest) lightest = weight;
  }
  if (total === 0) return 0;
  const entriesOfLightest = Math.ceil((lightest * min) / total - ROUNDING);
  return Math.min(Math.ceil((entriesOfLightest * total) / lightest - ROUNDING), max);
}

/** Ranks between which the entry number `size` is: below `low` are at most that many, below `high` at least. */
function findThreshold(owners: RingOwners, size: number): { low: number; high: number } {
  const { weights } = owners;
  let total = 0;
  for (const weight of weights) total += weight;
  // No owner is more than one entry away from its share.
  let low = Math.max(0, (size - weights.length) / total);
  let high = (size + weights.length) / total;
  let threshold = size / total;
  for (let step = 0; step < MAX_STEPS; step++) {
    const count = countAllBelow(owners, threshold);
    if (count === size) return { low: threshold, high: threshold };
    if (count < size) low = threshold;
    else high = threshold;
    // Entries are spread evenly over the ranks, so this is next to right after one or two steps.
    const estimate = threshold + (size - count) / total;
    threshold = estimate > low && estimate < high ? estimate : (low + high) / 2;
  }
  return { low, high };
}

function countAllBelow({ weights, draws }: RingOwners, threshold: number): number {
  let count = 0;
  for (let slot = 0; slot < weights.length; slot++) {
    const entries = Math.ceil(threshold * (weights[slot] ?? 0) - (draws[slot] ?? 0));
    if (entries > 0) count += entries;
  }
  return count;
}

function countBelow({ weights, draws }: RingOwners, slot: number, threshold: number): number {
  return Math.max(0, Math.ceil(threshold * (weights[slot] ?? 0) - (draws[slot] ?? 0)));
}
