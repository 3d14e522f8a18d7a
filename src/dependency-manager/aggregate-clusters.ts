import type { ClusterResource } from '../resources/cluster';
import { err, ok, type Result } from '../util/result';

/** How many clusters a path through aggregates may have, leaf included (gRFC A37). */
export const MAX_AGGREGATE_DEPTH = 16;

/** Finds a cluster's resource; `undefined` when it is not known or not usable: then it counts as a leaf. */
export type ClusterLookup = (name: string) => ClusterResource | undefined;

/**
 * The leaf clusters of an aggregate in order of priority: depth first, each once at its earliest place
 * (gRFC A37). A cycle contributes nothing, so a graph that is nothing but cycles is an error, as is one too deep.
 */
export function leafClusters(
  root: string,
  lookup: ClusterLookup,
): Result<readonly string[], string> {
  const leaves: string[] = [];
  const visited = new Set<string>();
  /** Whether the graph is shallow enough from here on. */
  const visit = (name: string, depth: number): boolean => {
    if (depth >= MAX_AGGREGATE_DEPTH) return false;
    if (visited.has(name)) return true;
    visited.add(name);
    const resource = lookup(name);
    if (resource?.discovery.kind !== 'aggregate') {
      leaves.push(name);
      return true;
    }
    return resource.discovery.clusters.every((child) => visit(child, depth + 1));
  };
  if (!visit(root, 0)) {
    return err(
      `aggregate cluster "${root}" is nested more than ${MAX_AGGREGATE_DEPTH} clusters deep`,
    );
  }
  if (leaves.length === 0) return err(`aggregate cluster "${root}" leads to no leaf cluster`);
  return ok(leaves);
}
