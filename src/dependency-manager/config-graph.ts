import { inSteps, type Steps } from '../util/steps';
import { FixedKeysMap } from './fixed-keys-map';
import type { ClusterSource } from './build-cluster';
import type { ClusterTopology } from './cluster-topology';
import type { FoundRoutes, RoutesReport } from './find-routes';
import type { DnsTarget, NeededWatches } from './observations';
import type { ClusterResult } from './xds-config';

/** The inputs that were reported to have changed. */
export interface Marks {
  /** The listener or the subscriptions. */
  roots: boolean;
  readonly clusters: Set<string>;
  readonly endpoints: Set<string>;
  readonly dns: Set<string>;
  /** The last report of a route configuration. Those before it make it concern the target: they are not compared. */
  routes: RoutesReport | undefined;
}

/** One cluster of the topology. */
export interface ClusterNode {
  readonly source: ClusterSource;
  /** While the next result is pending, that of the config in use; `undefined` if there is none. */
  result: ClusterResult | undefined;
  /** Since when the next result has been pending, on the monotonic clock; `undefined` if it is not. */
  pendingSinceMs: number | undefined;
}

/** The latest routes, as far as the walk to their clusters has a result. */
export interface WalkedRoutes {
  routes: FoundRoutes;
  /** Why the previous routes stay in use, if the new ones name too many clusters. */
  readonly rejection: string | undefined;
  /** The route configuration that the listener refers to, while it is pending: `routes` are then those in use. */
  readonly awaited: string | undefined;
  readonly routeConfigs: ReadonlySet<string>;
}

/** The latest routes, and everything that follows from them. */
export interface Graph extends WalkedRoutes {
  readonly topology: ClusterTopology;
  needed: NeededWatches;
  readonly nodes: Map<string, ClusterNode>;
  /** The nodes whose next result is pending. */
  readonly pending: Set<string>;
  /** The aggregates among them that wait for a cluster below them. */
  readonly unbuilt: Set<string>;
  /** Whether a pending node has got a result since the aggregates were last built. */
  mayBuild: boolean;
  /** The clusters that the routes name without a result, and that those in use do not name: they hold the routes back. */
  readonly heldBy: Set<string>;
  /** Since when the routes have been held back, on the monotonic clock; `undefined` if they are not. */
  heldSinceMs: number | undefined;
  /** The clusters of the config in use to which the latest resources do not refer. */
  readonly kept: Set<string>;
  /** Whether a version that keeps such clusters has been replaced since the walk. */
  isOutdated: boolean;
  /** Results that may differ from those of the config; `undefined` if all must be compared. */
  changed: Map<string, ClusterResult> | undefined;
}

/** Returns the watches that a topology needs. */
export function* neededBy(
  routeConfigs: ReadonlySet<string>,
  { sources, endpointsUsers, dns }: ClusterTopology,
): Steps<NeededWatches> {
  const clusters = yield* namesOf(sources);
  const endpoints = yield* namesOf(endpointsUsers);
  const targets = new Map<string, DnsTarget>();
  yield* inSteps(dns, ([key, target]) => {
    targets.set(key, target);
  });
  return { routeConfigs, clusters, endpoints, dns: targets };
}

function* namesOf(map: ReadonlyMap<string, unknown>): Steps<ReadonlySet<string>> {
  const names = new Set<string>();
  yield* inSteps(map.keys(), (name) => {
    names.add(name);
  });
  return names;
}

/** Returns the clusters that aggregates keep, and that are not part of the graph. */
export function* missingLeaves(graph: Graph): Steps<ReadonlySet<string>> {
  const { nodes, pending, kept, topology } = graph;
  const missing = new Set<string>();
  yield* inSteps(nodes, ([name, { source, result }]) => {
    const isKept =
      pending.has(name) ||
      kept.has(name) ||
      (source.kind === 'aggregate' && !topology.leavesOf(name).ok);
    if (!isKept) return;
    for (const leaf of leavesIn(result)) if (!nodes.has(leaf)) missing.add(leaf);
  });
  return missing;
}

/** Returns the unbuilt aggregates without a pending cluster below them. */
export function* readyAggregates({ nodes, pending, unbuilt }: Graph): Steps<readonly string[]> {
  const parents = new Map<string, string[]>();
  for (const name of unbuilt) {
    const source = nodes.get(name)?.source;
    if (source?.kind !== 'aggregate') continue;
    yield* inSteps(source.clusters, (child) => {
      const known = parents.get(child);
      if (known === undefined) parents.set(child, [name]);
      else known.push(name);
    });
  }
  const blocked = new Set<string>();
  yield* inSteps(pending, (name) => {
    if (!unbuilt.has(name)) blocked.add(name);
  });
  // A set is iterated together with what is added meanwhile.
  yield* inSteps(blocked, (name) => {
    for (const parent of parents.get(name) ?? []) blocked.add(parent);
  });
  return [...unbuilt].filter((name) => !blocked.has(name));
}

/** Whether calls can be sent to an endpoint of a cluster, or of those below it. */
export function isUsable(result: ClusterResult): boolean {
  if (!result.ok) return false;
  const { children } = result.value;
  return children.kind === 'aggregate' || (children.endpoints?.priorities.length ?? 0) > 0;
}

/** Returns the leaf clusters of the result of an aggregate; of any other, none. */
export function leavesIn(result: ClusterResult | undefined): readonly string[] {
  const children = result?.ok === true ? result.value.children : undefined;
  return children?.kind === 'aggregate' ? children.leafClusters : [];
}

export type ClusterMap = FixedKeysMap<string, ClusterResult>;

/** Returns the marks of inputs that did not change. */
export function noMarks(): Marks {
  const routes = undefined;
  return { roots: false, clusters: new Set(), endpoints: new Set(), dns: new Set(), routes };
}

/** Returns the clusters that a change of inputs concerns. */
export function* concernedBy(
  { clusters, endpoints, dns }: Marks,
  { endpointsUsers, dnsUsers }: ClusterTopology,
): Steps<ReadonlySet<string>> {
  const names = new Set<string>();
  const add = (name: string) => {
    names.add(name);
  };
  yield* inSteps(clusters, add);
  for (const key of endpoints) yield* inSteps(endpointsUsers.get(key) ?? [], add);
  for (const key of dns) yield* inSteps(dnsUsers.get(key) ?? [], add);
  return names;
}

/** Returns the names of the clusters that differ from an earlier config: changed, added and removed. */
export function* changedSince(
  before: ClusterMap | undefined,
  { nodes, changed }: Graph,
): Steps<ReadonlySet<string>> {
  const names = new Set<string>();
  if (changed !== undefined) {
    for (const [name, result] of changed) if (before?.get(name) !== result) names.add(name);
    return names;
  }
  yield* inSteps(nodes, ([name, { result }]) => {
    if (before?.get(name) !== result) names.add(name);
  });
  yield* inSteps(before?.keys() ?? [], (name) => {
    if (!nodes.has(name)) names.add(name);
  });
  return names;
}

/** Copies only the part of the map that changed, if the clusters are the same ones as before. */
export function* nextClusters(
  before: ClusterMap | undefined,
  { nodes, changed }: Graph,
  changedNames: ReadonlySet<string>,
): Steps<ClusterMap> {
  if (before !== undefined && changedNames.size === 0) return before;
  const results = new Map<string, ClusterResult>();
  const isSameSet = before !== undefined && changed !== undefined && before.hasPlaces(changedNames);
  yield* inSteps(isSameSet ? changedNames : nodes.keys(), (name) => {
    const result = nodes.get(name)?.result;
    if (result !== undefined) results.set(name, result);
  });
  return isSameSet ? before.with(results) : yield* FixedKeysMap.inSteps(nodes.keys(), results);
}
