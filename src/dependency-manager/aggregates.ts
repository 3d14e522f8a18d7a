import type { ClusterResource } from '../resources/cluster/cluster';
import { shareList } from '../util/share';
import { quoteName } from '../util/text';
import { shareCluster, shareError } from './build-cluster';
import { MAX_AGGREGATE_DEPTH, type ClusterTopology } from './cluster-topology';
import type { ClusterResult } from './xds-config';

/**
 * Steps through aggregates in one walk. A step takes about 0.1 µs, and each may add to a list of leaves.
 * Without a bound, n aggregates that share n leaves would take n² of both.
 */
const MAX_AGGREGATE_STEPS = 1_000_000;

/**
 * Leaf clusters of one aggregate. While they are down, each has policies and a connection attempt of its own: some 40 kB.
 */
export const MAX_LEAF_CLUSTERS = 1000;

/** The leaf clusters of an aggregate in order of priority, or why it has none. */
export type LeafClusters =
  | { readonly ok: true; readonly value: readonly string[] }
  | {
      readonly ok: false;
      readonly error: string;
      /** Whether a limit is exceeded. Otherwise there are no leaves. */
      readonly isLimit: boolean;
    };

/** Returns clusters with the aggregates that lead to one of them. */
export function withAggregates(
  { sources, aggregates }: ClusterTopology,
  clusters: readonly string[],
): ReadonlySet<string> {
  const parents = new Map<string, string[]>();
  for (const aggregate of aggregates) {
    const source = sources.get(aggregate);
    for (const child of source?.kind === 'aggregate' ? source.clusters : []) {
      const known = parents.get(child);
      if (known === undefined) parents.set(child, [aggregate]);
      else known.push(aggregate);
    }
  }
  const names = new Set(clusters);
  // A set is iterated together with what is added meanwhile.
  for (const name of names) for (const parent of parents.get(name) ?? []) names.add(parent);
  return names;
}

/** Builds an aggregate of the config. Pure. */
export function buildAggregate(
  resource: ClusterResource,
  leaves: LeafClusters,
  clientNote: string,
  previous: ClusterResult | undefined,
): ClusterResult {
  const before = previous?.ok === true ? previous.value.children : undefined;
  const known = before?.kind === 'aggregate' ? before.leafClusters : undefined;
  const rejection = leaves.ok ? undefined : `${leaves.error} (${clientNote})`;
  // An aggregate that exceeds a limit keeps its last leaves, as a resource that is rejected keeps its last value.
  const leafClusters = leaves.ok ? leaves.value : leaves.isLimit ? known : undefined;
  if (leafClusters === undefined) return shareError(previous, rejection ?? '');
  const children = { kind: 'aggregate', leafClusters: shareList(known, leafClusters) } as const;
  return shareCluster(previous, {
    resource,
    children: rejection === undefined ? children : { ...children, rejection },
  });
}

/** The leaf clusters of the aggregates of a target that are complete. Each list is made once, when it is first asked for. */
export class LeafLists {
  private readonly lists = new Map<string, LeafClusters>();
  /** The number of leaves of aggregates that calls may use: each has policies of its own for every leaf. */
  private leafCount = 0;
  private steps = 0;
  private readonly bounds: AggregateBounds;

  /** @param ready The names of the aggregates that are complete, on which the limits depend. */
  constructor(
    readonly topology: ClusterTopology,
    readonly ready: readonly string[],
  ) {
    this.bounds = {
      isReached: (name) => topology.sources.has(name),
      refusalOf: (aggregate) => this.refusalOf(aggregate),
      step: () => this.step(),
    };
  }

  of(aggregate: string): LeafClusters {
    const known = this.lists.get(aggregate);
    if (known !== undefined) return known;
    const { sources } = this.topology;
    const childrenOf = (name: string) => {
      const source = sources.get(name);
      return source?.kind === 'aggregate' ? source.clusters : undefined;
    };
    const leaves = leafClusters(aggregate, childrenOf, this.bounds);
    const admitted = leaves.ok ? this.admit(aggregate, leaves) : leaves;
    this.lists.set(aggregate, admitted);
    return admitted;
  }

  /** Counts the leaves of aggregates that calls may use. Those within others have no policies. */
  private admit(aggregate: string, leaves: Extract<LeafClusters, { ok: true }>): LeafClusters {
    const { roots, maxClusters } = this.topology;
    const { length } = leaves.value;
    const total = this.leafCount + (roots.has(aggregate) ? length : 0);
    let problem: string | undefined;
    if (length > MAX_LEAF_CLUSTERS) {
      problem = `it leads to ${length} clusters, more than ${MAX_LEAF_CLUSTERS}`;
    } else if (total > maxClusters) {
      problem = `the aggregates of the target lead to ${total} clusters, each counted once for each aggregate, more than the limit maxClustersPerTarget (${maxClusters})`;
    }
    if (problem !== undefined) {
      const error = `aggregate cluster ${quoteName(aggregate)} is rejected: ${problem}`;
      return { ok: false, error, isLimit: true };
    }
    this.leafCount = total;
    return leaves;
  }

  private refusalOf(aggregate: string): string | undefined {
    const { refused, maxClusters } = this.topology;
    if (!refused.has(aggregate)) return undefined;
    return `is rejected: the clusters that ${quoteName(aggregate)} names would exceed the limit maxClustersPerTarget (${maxClusters})`;
  }

  private step(): string | undefined {
    this.steps++;
    if (this.steps <= MAX_AGGREGATE_STEPS) return undefined;
    return `is rejected: the aggregate clusters of the target name more than ${MAX_AGGREGATE_STEPS} clusters, counted once per path`;
  }
}

/** Finds the clusters that an aggregate names; `undefined` for a cluster that is not a known aggregate: a leaf. */
type AggregateLookup = (name: string) => readonly string[] | undefined;

/** The bounds on the walks through the aggregates of one target. */
interface AggregateBounds {
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
  const subject = `aggregate cluster ${quoteName(root)}`;
  if (problem !== undefined) return { ok: false, error: `${subject} ${problem}`, isLimit: true };
  if (leaves.length > 0) return { ok: true, value: leaves };
  return { ok: false, error: `${subject} leads to no leaf cluster`, isLimit: false };
}
