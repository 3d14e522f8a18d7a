/** How many clusters a path through aggregates may have, leaf included (gRFC A37). */
export const MAX_AGGREGATE_DEPTH = 16;

/** The leaf clusters of an aggregate in order of priority, or why it has none. */
export type LeafClusters =
  | { readonly ok: true; readonly value: readonly string[] }
  | {
      readonly ok: false;
      readonly error: string;
      /** Whether a limit is exceeded. Otherwise there are no leaves. */
      readonly isLimit: boolean;
    };

/** Finds the clusters that an aggregate names; `undefined` for a cluster that is not a known aggregate: a leaf. */
export type AggregateLookup = (name: string) => readonly string[] | undefined;

/** The bounds on the walks through the aggregates of one target. */
export interface AggregateBounds {
  /** Whether a cluster is among those of the target. One that is not is the end of a path that is too long. */
  isReached(name: string): boolean;
  /** Why the clusters of an aggregate are not followed; `undefined` if they are. */
  refusalOf(aggregate: string): string | undefined;
  /** Counts one step from an aggregate to a cluster it names. @returns why there must be no more, if so. */
  step(): string | undefined;
}

const unbounded: AggregateBounds = {
  isReached: () => true,
  refusalOf: () => undefined,
  step: () => undefined,
};

/**
 * Returns the leaf clusters of an aggregate in order of priority: depth first, each once at its earliest place
 * (gRFC A37). A cycle contributes nothing, so a graph that is nothing but cycles is an error, as is one too deep.
 *
 * @param root The name under which the aggregate is watched. The name in its resource may be spelled differently.
 */
export function leafClusters(
  root: string,
  lookup: AggregateLookup,
  bounds: AggregateBounds = unbounded,
): LeafClusters {
  const leaves: string[] = [];
  const visited = new Set<string>();
  /** @returns what is wrong with the graph from here on. */
  const visit = (name: string, depth: number): string | undefined => {
    if (depth >= MAX_AGGREGATE_DEPTH || !bounds.isReached(name)) {
      return `is nested more than ${MAX_AGGREGATE_DEPTH} clusters deep`;
    }
    if (visited.has(name)) return undefined;
    visited.add(name);
    const children = lookup(name);
    if (children === undefined) {
      leaves.push(name);
      return undefined;
    }
    const refusal = bounds.refusalOf(name);
    if (refusal !== undefined) return refusal;
    for (const child of children) {
      const problem = bounds.step() ?? visit(child, depth + 1);
      if (problem !== undefined) return problem;
    }
    return undefined;
  };
  const problem = visit(root, 0);
  const subject = `aggregate cluster "${root}"`;
  if (problem !== undefined) return { ok: false, error: `${subject} ${problem}`, isLimit: true };
  if (leaves.length > 0) return { ok: true, value: leaves };
  return { ok: false, error: `${subject} leads to no leaf cluster`, isLimit: false };
}
