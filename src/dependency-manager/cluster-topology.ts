import { inSteps, type Steps } from '../util/steps';
import type { ClusterSource, LeafClusters } from './build-cluster';
import type { DnsTarget } from './observations';
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

export interface TopologyInputs {
  /** The clusters that the routes name, not more than the limit. */
  readonly fromRoutes: ReadonlySet<string>;
  /** Clusters that are subscribed to besides. They were admitted when a route named them. */
  readonly subscribed: Iterable<string>;
  /** `Limits.maxClustersPerTarget`. */
  readonly maxClusters: number;
  readonly sourceOf: (cluster: string) => ClusterSource;
}

/**
 * The clusters of a target and where each gets its endpoints from. The walk is breadth first. It goes no deeper than
 * gRFC A37 allows an aggregate to be nested and no further than the limit allows, so that no cluster is watched only to
 * be rejected.
 */
export class ClusterTopology {
  /** Every cluster, in the order of the walk. */
  readonly sources = new Map<string, ClusterSource>();
  readonly dns = new Map<string, DnsTarget>();
  /** The clusters that use an assignment, by the name of the EDS resource. */
  readonly endpointsUsers = new Map<string, string[]>();
  /** The clusters that use a DNS name, by `dnsTargetKey`. */
  readonly dnsUsers = new Map<string, string[]>();
  private readonly admission: Admission;
  private readonly bounds: AggregateBounds;
  private readonly leaves = new Map<string, LeafClusters>();
  /** The clusters that no aggregate has to name. */
  private readonly roots: ReadonlySet<string>;
  /** The number of leaves of aggregates among them. */
  private leafCount = 0;

  private constructor({ fromRoutes, subscribed, maxClusters }: TopologyInputs) {
    this.admission = new Admission(fromRoutes, subscribed, maxClusters);
    this.roots = new Set(this.admission.roots());
    this.bounds = {
      isReached: (name) => this.sources.has(name),
      refusalOf: (aggregate) => this.admission.refusalOf(aggregate),
      step: () => this.admission.step(),
    };
  }

  /** Walks through the clusters, in steps. */
  static *create(inputs: TopologyInputs): Steps<ClusterTopology> {
    const topology = new ClusterTopology(inputs);
    let level: Iterable<string> = topology.roots;
    for (let depth = 0; depth < MAX_AGGREGATE_DEPTH; depth++) {
      level = yield* topology.visitLevel(level, inputs.sourceOf);
    }
    return topology;
  }

  /** Returns the leaf clusters of an aggregate of this topology, determined once. */
  leavesOf(aggregate: string): LeafClusters {
    const known = this.leaves.get(aggregate);
    if (known !== undefined) return known;
    const childrenOf = (name: string) => {
      const source = this.sources.get(name);
      return source?.kind === 'aggregate' ? source.clusters : undefined;
    };
    const leaves = leafClusters(aggregate, childrenOf, this.bounds);
    const admitted = leaves.ok ? this.admitLeaves(aggregate, leaves) : leaves;
    this.leaves.set(aggregate, admitted);
    return admitted;
  }

  /**
   * Counts the leaves of aggregates that calls may use: each has policies of its own for every leaf. Those within others have
   * none.
   */
  private admitLeaves(
    aggregate: string,
    leaves: Extract<LeafClusters, { ok: true }>,
  ): LeafClusters {
    const { length } = leaves.value;
    const total = this.leafCount + (this.roots.has(aggregate) ? length : 0);
    const problem =
      length > MAX_LEAF_CLUSTERS
        ? `it leads to ${length} clusters, more than ${MAX_LEAF_CLUSTERS}`
        : this.admission.checkLeaves(total);
    if (problem !== undefined) {
      const error = `aggregate cluster ${quoteName(aggregate)} is rejected: ${problem}`;
      return { ok: false, error, isLimit: true };
    }
    this.leafCount = total;
    return leaves;
  }

  /** Adds a cluster that the walk did not reach. Those that it names, if it is an aggregate, are not followed. */
  add(name: string, source: ClusterSource): void {
    this.sources.set(name, source);
    if (source.kind === 'eds') {
      addTo(this.endpointsUsers, source.name, name);
    } else if (source.kind === 'dns') {
      this.dns.set(source.key, source.target);
      addTo(this.dnsUsers, source.key, name);
    }
  }

  /** @returns the clusters of the next level. */
  private *visitLevel(
    level: Iterable<string>,
    sourceOf: TopologyInputs['sourceOf'],
  ): Steps<readonly string[]> {
    const next: string[] = [];
    yield* inSteps(level, (name) => {
      const source = sourceOf(name);
      this.add(name, source);
      if (source.kind !== 'aggregate') return;
      for (const child of this.admission.admit(name, source.clusters)) next.push(child);
    });
    return next;
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
  private steps = 0;

  constructor(
    counted: ReadonlySet<string>,
    subscribed: Iterable<string>,
    private readonly limit: number,
  ) {
    this.admitted = new Set(counted);
    this.room = limit - counted.size;
    for (const name of subscribed) this.admitted.add(name);
  }

  /** Returns the clusters that no aggregate has to name. */
  roots(): readonly string[] {
    return [...this.admitted];
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

  /** Describes how the leaves of all aggregates exceed the limit; `undefined` if they do not. */
  checkLeaves(total: number): string | undefined {
    if (total <= this.limit) return undefined;
    return `the aggregates of the target lead to ${total} clusters, each counted once for each aggregate, more than the limit maxClustersPerTarget (${this.limit})`;
  }

  /** Counts one step from an aggregate to a cluster it names. @returns why there must be no more, if so. */
  step(): string | undefined {
    this.steps++;
    if (this.steps <= MAX_AGGREGATE_STEPS) return undefined;
    return `is rejected: the aggregate clusters of the target name more than ${MAX_AGGREGATE_STEPS} clusters, counted once per path`;
  }
}

function addTo(lists: Map<string, string[]>, key: string, value: string): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
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
