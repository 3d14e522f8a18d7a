import type { ClusterResource } from '../resources/cluster/cluster';
import { MAX_AGGREGATE_STEPS, MAX_LEAF_CLUSTERS } from '../util/limits';
import { shareList } from '../util/share';
import { quoteName } from '../util/text';
import { shareCluster, shareError, unusableError } from './build-cluster';
import { MAX_AGGREGATE_DEPTH, type ClusterTopology } from './cluster-topology';
import type { ClusterResult } from './xds-config';

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
  if (leafClusters === undefined) return shareError(previous, unusableError(rejection ?? ''));
  const children = { kind: 'aggregate', leafClusters: shareList(known, leafClusters) } as const;
  return shareCluster(previous, {
    resource,
    children: rejection === undefined ? children : { ...children, rejection },
  });
}

/** The aggregate whose leaf clusters are looked for. */
interface Search {
  readonly leaves: string[];
  readonly visited: Set<string>;
}

/** The leaf clusters of the aggregates of a target that are complete. Each list is made once, when it is first asked for. */
export class LeafLists {
  private readonly lists = new Map<string, LeafClusters>();
  /** The number of leaves of aggregates that calls may use: each has policies of its own for every leaf. */
  private leafCount = 0;
  private steps = 0;

  /** @param ready The names of the aggregates that are complete, on which the limits depend. */
  constructor(
    readonly topology: ClusterTopology,
    readonly ready: readonly string[],
  ) {}

  /**
   * Returns the leaf clusters of an aggregate in order of priority: depth first, each once at its earliest place
   * (gRFC A37). A cycle contributes nothing, so a graph that is nothing but cycles is an error, as is one too deep.
   *
   * @param aggregate The name under which it is watched. The name in its resource may be spelled differently.
   */
  of(aggregate: string): LeafClusters {
    const known = this.lists.get(aggregate);
    if (known !== undefined) return known;
    const leaves: string[] = [];
    const problem =
      this.visit(aggregate, 0, { leaves, visited: new Set() }) ?? this.admit(aggregate, leaves);
    const subject = `aggregate cluster ${quoteName(aggregate)}`;
    let list: LeafClusters = { ok: true, value: leaves };
    if (problem !== undefined) {
      list = { ok: false, error: `${subject} ${problem}`, isLimit: true };
    } else if (leaves.length === 0) {
      list = { ok: false, error: `${subject} leads to no leaf cluster`, isLimit: false };
    }
    this.lists.set(aggregate, list);
    return list;
  }

  /** @returns what is wrong with the graph from here on. */
  private visit(name: string, depth: number, search: Search): string | undefined {
    const { refused, maxClusters, sources } = this.topology;
    const { leaves, visited } = search;
    const source = sources.get(name);
    // A cluster that is not among those of the target is the end of a path that is too long.
    if (depth >= MAX_AGGREGATE_DEPTH || source === undefined) {
      return `is nested more than ${MAX_AGGREGATE_DEPTH} clusters deep`;
    }
    if (visited.has(name)) return undefined;
    visited.add(name);
    if (source.kind !== 'aggregate') {
      leaves.push(name);
      return undefined;
    }
    if (refused.has(name)) {
      return `is rejected: the clusters that ${quoteName(name)} names would exceed the limit maxClustersPerTarget (${maxClusters})`;
    }
    for (const child of source.clusters) {
      if (++this.steps > MAX_AGGREGATE_STEPS) {
        return `is rejected: the aggregate clusters of the target name more than ${MAX_AGGREGATE_STEPS} clusters, counted once per path`;
      }
      const problem = this.visit(child, depth + 1, search);
      if (problem !== undefined) return problem;
    }
    return undefined;
  }

  /**
   * Counts the leaves of aggregates that calls may use. Those within others have no policies.
   * @returns which limit they exceed.
   */
  private admit(aggregate: string, { length }: readonly string[]): string | undefined {
    const { roots, maxClusters } = this.topology;
    if (length > MAX_LEAF_CLUSTERS) {
      return `is rejected: it leads to ${length} clusters, more than ${MAX_LEAF_CLUSTERS}`;
    }
    const total = this.leafCount + (roots.has(aggregate) ? length : 0);
    if (total > maxClusters) {
      return `is rejected: the aggregates of the target lead to ${total} clusters, each counted once for each aggregate, more than the limit maxClustersPerTarget (${maxClusters})`;
    }
    this.leafCount = total;
    return undefined;
  }
}
