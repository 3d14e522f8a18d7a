import { shareList, shareSet } from '../util/share';
import type { ClusterSource, LeafClusters } from './build-cluster';
import { quoteName } from '../util/text';

/** How many clusters a path through aggregates may have, leaf included (gRFC A37). */
export const MAX_AGGREGATE_DEPTH = 16;

/**
 * Steps through aggregates in one walk. A step takes about 0.1 µs, and each may add to a list of leaves.
 * Without a bound, n aggregates that share n leaves would take n² of both.
 */
const MAX_AGGREGATE_STEPS = 1_000_000;

/**
 * Leaf clusters of one aggregate. While they are down, each has policies and a connection attempt of its own: some 40 kB.
 */
export const MAX_LEAF_CLUSTERS = 1000;

/** The clusters that a walk starts from. */
export interface TopologyRoots {
  /** The clusters that the routes name, not more than the limit. */
  readonly fromRoutes: ReadonlySet<string>;
  /** Clusters that are subscribed to besides. They were admitted when a route named them. */
  readonly subscribed: readonly string[];
}

/**
 * The clusters of a target and where each gets its endpoints from. The walk is breadth first. It goes no deeper than
 * gRFC A37 allows an aggregate to be nested and no further than the limit allows, so that no cluster is watched only to
 * be rejected.
 */
export class ClusterTopology {
  /** Every cluster, in the order of the walk. */
  readonly sources: ReadonlyMap<string, ClusterSource>;
  /** The names of the aggregates among them. */
  readonly aggregates: readonly string[];
  /** The clusters that no aggregate has to name. */
  readonly roots: ReadonlySet<string>;
  private readonly admission: Admission;
  /** The aggregates that name a cluster. */
  private parents: ReadonlyMap<string, readonly string[]> | undefined;

  /**
   * @param maxClusters `Limits.maxClustersPerTarget`.
   * @param sourceOf Called once for each cluster, in the order of the walk.
   */
  constructor(
    private readonly start: TopologyRoots,
    readonly maxClusters: number,
    sourceOf: (cluster: string) => ClusterSource,
  ) {
    const { fromRoutes, subscribed } = start;
    this.admission = new Admission(fromRoutes, subscribed, maxClusters);
    this.roots = new Set([...fromRoutes, ...subscribed]);
    const sources = new Map<string, ClusterSource>();
    const aggregates: string[] = [];
    let level: Iterable<string> = this.roots;
    for (let depth = 0; depth < MAX_AGGREGATE_DEPTH; depth++) {
      const next: string[] = [];
      for (const name of level) {
        const source = sourceOf(name);
        sources.set(name, source);
        if (source.kind !== 'aggregate') continue;
        aggregates.push(name);
        for (const child of this.admission.admit(name, source.clusters)) next.push(child);
      }
      level = next;
    }
    this.sources = sources;
    this.aggregates = aggregates;
  }

  /** Whether the walk started from the same clusters. */
  startsAt({ fromRoutes, subscribed }: TopologyRoots): boolean {
    const { start } = this;
    return (
      shareSet(start.fromRoutes, fromRoutes) === start.fromRoutes &&
      shareList(start.subscribed, subscribed) === start.subscribed
    );
  }

  /** Why the clusters of an aggregate are not followed; `undefined` if they are. */
  refusalOf(aggregate: string): string | undefined {
    return this.admission.refusalOf(aggregate);
  }

  /** Returns clusters with the aggregates that lead to one of them. */
  withAggregates(clusters: readonly string[]): ReadonlySet<string> {
    const names = new Set(clusters);
    if (names.size === 0) return names;
    const parents = (this.parents ??= parentsIn(this.sources));
    // A set is iterated together with what is added meanwhile.
    for (const name of names) for (const parent of parents.get(name) ?? []) names.add(parent);
    return names;
  }
}

function parentsIn(sources: ReadonlyMap<string, ClusterSource>): ReadonlyMap<string, string[]> {
  const parents = new Map<string, string[]>();
  for (const [name, source] of sources) {
    if (source.kind !== 'aggregate') continue;
    for (const child of source.clusters) {
      const known = parents.get(child);
      if (known === undefined) parents.set(child, [name]);
      else known.push(name);
    }
  }
  return parents;
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
      refusalOf: (aggregate) => topology.refusalOf(aggregate),
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

  private step(): string | undefined {
    this.steps++;
    if (this.steps <= MAX_AGGREGATE_STEPS) return undefined;
    return `is rejected: the aggregate clusters of the target name more than ${MAX_AGGREGATE_STEPS} clusters, counted once per path`;
  }
}

/** Describes what is wrong with routes that name more clusters than a target may have; `undefined` if nothing is. */
export function checkClusterCount(
  routeConfigName: string,
  { size }: ReadonlySet<string>,
  limit: number,
): string | undefined {
  if (size <= limit) return undefined;
  return `RouteConfiguration ${quoteName(routeConfigName)} is rejected: its virtual host names ${size} clusters, more than the limit maxClustersPerTarget (${limit})`;
}

/**
 * Decides which clusters of a target are watched: those that its routes or subscribers name, and those that
 * aggregates name for as long as the target has no more than its limit.
 */
class Admission {
  private readonly admitted: Set<string>;
  private readonly refused = new Set<string>();
  private room: number;

  constructor(
    counted: ReadonlySet<string>,
    subscribed: readonly string[],
    private readonly limit: number,
  ) {
    this.admitted = new Set(counted);
    this.room = limit - counted.size;
    for (const name of subscribed) this.admitted.add(name);
  }

  /**
   * Admits the clusters that an aggregate names: all of them, or none if they are too many.
   * @returns those that were not admitted before.
   */
  admit(aggregate: string, clusters: readonly string[]): ReadonlySet<string> {
    const fresh = new Set<string>();
    for (const name of clusters) {
      if (this.admitted.has(name)) continue;
      fresh.add(name);
      if (fresh.size <= this.room) continue;
      this.refused.add(aggregate);
      return new Set();
    }
    this.room -= fresh.size;
    for (const name of fresh) this.admitted.add(name);
    return fresh;
  }

  /** Returns why the clusters of an aggregate are not followed; `undefined` if they are. */
  refusalOf(aggregate: string): string | undefined {
    if (!this.refused.has(aggregate)) return undefined;
    return `is rejected: the clusters that ${quoteName(aggregate)} names would exceed the limit maxClustersPerTarget (${this.limit})`;
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
