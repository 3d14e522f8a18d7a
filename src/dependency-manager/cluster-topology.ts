import type { ClusterSource } from './build-cluster';

/** How many clusters a path through aggregates may have, leaf included (gRFC A37). */
export const MAX_AGGREGATE_DEPTH = 16;

/** The clusters that a walk starts from. */
export interface TopologyRoots {
  /** The clusters that the routes name, not more than the limit. */
  readonly fromRoutes: ReadonlySet<string>;
  /** Clusters that are subscribed to besides. They were admitted when a route named them. */
  readonly subscribed: readonly string[];
  /** `Limits.maxClustersPerTarget`. */
  readonly maxClusters: number;
}

/** The clusters of a target and where each gets its endpoints from. */
export interface ClusterTopology {
  /** Every cluster, in the order of the walk. */
  readonly sources: ReadonlyMap<string, ClusterSource>;
  /** The names of the aggregates among them. */
  readonly aggregates: readonly string[];
  /** The aggregates whose clusters are not followed, because they would be too many. */
  readonly refused: ReadonlySet<string>;
  /** The clusters that no aggregate has to name. */
  readonly roots: ReadonlySet<string>;
  readonly maxClusters: number;
}

/**
 * Walks through the clusters of a target, breadth first. It goes no deeper than gRFC A37 allows an aggregate to be nested and no
 * further than the limit allows, so that no cluster is watched only to be rejected: of an aggregate all clusters are followed, or
 * none if they are too many.
 *
 * @param sourceOf Called once for each cluster, in the order of the walk.
 */
export function walkClusters(
  { fromRoutes, subscribed, maxClusters }: TopologyRoots,
  sourceOf: (cluster: string) => ClusterSource,
): ClusterTopology {
  const roots = new Set([...fromRoutes, ...subscribed]);
  const sources = new Map<string, ClusterSource>();
  const aggregates: string[] = [];
  const refused = new Set<string>();
  const admitted = new Set(roots);
  let room = maxClusters - fromRoutes.size;
  let level: Iterable<string> = roots;
  for (let depth = 0; depth < MAX_AGGREGATE_DEPTH; depth++) {
    const next: string[] = [];
    for (const name of level) {
      const source = sourceOf(name);
      sources.set(name, source);
      if (source.kind !== 'aggregate') continue;
      aggregates.push(name);
      const fresh = new Set(source.clusters.filter((child) => !admitted.has(child)));
      if (fresh.size > room) {
        refused.add(name);
        continue;
      }
      room -= fresh.size;
      for (const child of fresh) {
        admitted.add(child);
        next.push(child);
      }
    }
    level = next;
  }
  return { sources, aggregates, refused, roots, maxClusters };
}
