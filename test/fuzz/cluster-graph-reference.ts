import type { ClusterResult, XdsConfig } from '../../src/dependency-manager/xds-config';
import type { ClusterGraph } from './cluster-graphs';

/** How many clusters a path may have, leaf included (gRFC A37). */
const MAX_DEPTH = 16;

/**
 * What the config of a graph should be, as text to compare: each cluster that can be reached within the depth, by name.
 * Written as gRFCs A37 and A74 say it, without any thought of cost.
 *
 * @returns `undefined` if a cluster that can be reached is awaited.
 */
export function expectedConfig(graph: ClusterGraph): string | undefined {
  const reached = new Set<string>();
  let level = new Set([...graph.roots, ...graph.held]);
  for (let depth = 0; depth < MAX_DEPTH; depth++) {
    const next = new Set<string>();
    for (const name of level) {
      reached.add(name);
      const spec = graph.clusters.get(name);
      if (typeof spec === 'object') for (const child of spec) next.add(child);
    }
    level = next;
  }
  const names = [...reached].sort();
  if (names.some((name) => !graph.clusters.has(name))) return undefined;
  return names.map((name) => `${name}: ${expectedCluster(name, graph, reached)}`).join('\n');
}

/** A config in the same form. */
export function describeConfig({ clusters }: XdsConfig): string {
  const names = [...clusters.keys()].sort();
  return names.map((name) => `${name}: ${describeCluster(clusters.get(name))}`).join('\n');
}

/** @param reached The clusters in the config: what is beyond them is too far away from where the paths begin. */
function expectedCluster(
  name: string,
  { clusters }: ClusterGraph,
  reached: ReadonlySet<string>,
): string {
  const spec = clusters.get(name);
  if (spec === 'missing') return `no ${name}`;
  if (typeof spec !== 'object') return `${spec} endpoints`;
  const leaves: string[] = [];
  const seen = new Set<string>();
  /** @returns whether a path is too long. */
  const walk = (cluster: string, depth: number): boolean => {
    if (depth > MAX_DEPTH || !reached.has(cluster)) return true;
    if (seen.has(cluster)) return false;
    seen.add(cluster);
    const found = clusters.get(cluster);
    if (typeof found === 'object') return found.some((child) => walk(child, depth + 1));
    leaves.push(cluster);
    return false;
  };
  if (walk(name, 1)) {
    return `aggregate cluster "${name}" is nested more than ${MAX_DEPTH} clusters deep (note)`;
  }
  if (leaves.length === 0) return `aggregate cluster "${name}" leads to no leaf cluster (note)`;
  return `leaves ${leaves.join(' ')}`;
}

function describeCluster(cluster: ClusterResult | undefined): string {
  if (cluster?.ok !== true) return cluster?.error.message ?? 'nothing';
  const { resource, children } = cluster.value;
  if (children.kind === 'aggregate') return `leaves ${children.leafClusters.join(' ')}`;
  const kind = resource.discovery.kind === 'eds' ? 'eds' : 'dns';
  return children.endpoints === undefined ? 'no endpoints' : `${kind} endpoints`;
}
