import { shareList } from '../util/share';
import { inSteps, runSteps, type Steps } from '../util/steps';
import { buildCluster, clusterSource, needsSameWatches, type ClusterInputs } from './build-cluster';
import { checkClusterCount, ClusterTopology } from './cluster-topology';
import {
  changedSince,
  concernedBy,
  isUsable,
  leavesIn,
  missingLeaves,
  neededBy,
  nextClusters,
  noMarks,
  readyAggregates,
  type ClusterMap,
  type ClusterNode,
  type Graph,
  type Marks,
  type WalkedRoutes,
} from './config-graph';
import { findRoutes, keepVirtualHost, type FoundRoutes } from './find-routes';
import { HostSearch } from '../routing/virtual-host';
import type { NeededWatches, Observations, ObservedRoutes } from './observations';
import type { ClusterResult, XdsConfig } from './xds-config';

/** The inputs of a store, which change under it: every change must be marked. */
export interface ConfigStoreOptions {
  /** Full resource name. */
  readonly listenerName: string;
  /** The data-plane authority, by which the virtual host is chosen. */
  readonly host: string;
  /** Names the management servers and the node in errors and notes, such as `management server s:443 (node "n1")`. */
  readonly clientNote: string;
  /** `Limits.maxClustersPerTarget`. */
  readonly maxClusters: number;
  readonly observed: Observations;
  /** Returns the subscribed clusters, besides those of the routes (gRFC A74). */
  readonly subscribed: () => Iterable<string>;
  /** Returns the time of the monotonic clock, in milliseconds. */
  readonly nowMs: () => number;
}

/** What the inputs amount to. */
export type ConfigOutcome =
  | {
      readonly kind: 'config';
      /** The previous config itself if nothing changed. */
      readonly config: XdsConfig;
      /** The names of the clusters that differ from the previous config: changed, added and removed. */
      readonly changedClusters: ReadonlySet<string>;
      /** Whether no part of it is the one before because of a pending resource. */
      readonly isWhole: boolean;
    }
  /** The target cannot be used at all. */
  | { readonly kind: 'error'; readonly message: string }
  /** There is no config in use, and a resource that one needs has been neither received nor found missing. */
  | { readonly kind: 'incomplete' };

/** The state of a store after its inputs changed. */
export interface StoreUpdate {
  /** The same object while it is unchanged. */
  readonly needed: NeededWatches;
  readonly outcome: ConfigOutcome;
  /** Why the previous routes stay in use, if the new ones name too many clusters. */
  readonly rejection: string | undefined;
}

const NO_NAMES: ReadonlySet<string> = new Set();

/** What the nodes of a graph are created for. */
interface CreatedPart {
  readonly topology: ClusterTopology;
  readonly routes: FoundRoutes;
  /** The clusters to which only the config in use refers. */
  readonly kept: ReadonlySet<string>;
}

/**
 * The configuration of one target (gRFC A74) as a graph: listener → route configuration → clusters → endpoints or DNS.
 * A node is computed again only when one of its inputs changed; the virtual host is searched again only when a change of
 * the routes may concern it, and the clusters are walked again only when the routes, the
 * subscriptions or the source of a cluster changed. Cluster problems stay local to the cluster; only a missing listener, route
 * configuration or virtual host is an error.
 *
 * What is pending holds back what refers to it, and nothing else (docs/decisions/0036-late-clusters.md): routes that name a
 * new cluster, and the next version of a cluster or aggregate. When nothing is pending, the result is that of a walk from the
 * listener.
 */
export class ConfigStore {
  private marks = noMarks();
  private graph: Graph | undefined;
  /** The last config, kept over an error so that what did not change keeps its identity. */
  private latest: { readonly config: XdsConfig; readonly clusters: ClusterMap } | undefined;
  /** Whether the last config is in use: no error has followed. */
  private isInUse = false;
  /** Whether the first config may be without clusters that are pending. */
  private acceptsPart = false;

  private readonly hosts: HostSearch;

  constructor(private readonly options: ConfigStoreOptions) {
    this.hosts = new HostSearch(options.host);
  }

  /** The last config; `undefined` before there was one. */
  get config(): XdsConfig | undefined {
    return this.latest?.config;
  }

  /** The graph that the last update has computed, for descriptions; `undefined` if the clusters are not known. */
  get current(): Graph | undefined {
    return this.graph;
  }

  /** The last config, unless an error has followed. */
  get inUse(): XdsConfig | undefined {
    return this.isInUse ? this.config : undefined;
  }

  /** Whether there is no config in use, and some clusters that the routes name have a result. */
  get hasPart(): boolean {
    const { graph } = this;
    if (graph === undefined || this.isInUse) return false;
    return graph.heldBy.size < graph.routes.config.virtualHost.clusters.size;
  }

  /** Makes the next update have a config although clusters are pending, if none is in use. */
  acceptPart(): void {
    this.acceptsPart = true;
  }

  /** Marks the listener or the subscriptions as changed. */
  markRoots(): void {
    this.marks.roots = true;
  }

  /** Marks a route configuration as changed. @param before The observation of it before. */
  markRoutes(name: string, before: ObservedRoutes): void {
    this.marks.routes = { name, before };
  }

  /**
   * Searches the virtual host in the routes of the listener, in steps: `update` does not search again then.
   * @returns `undefined` if they are a resource of their own.
   */
  searchInline(): Steps<void> | undefined {
    const listener = this.options.observed.listener();
    if (listener.kind !== 'value' || listener.value.kind !== 'api') return undefined;
    const { routes } = listener.value.httpConnectionManager;
    return routes.kind === 'inline' ? this.hosts.prepare(routes.routeConfig) : undefined;
  }

  /**
   * Searches the virtual host in a route configuration, in steps.
   * @param before The observation of it before.
   * @returns `undefined` if a change does not concern the target.
   */
  search(name: string, before: ObservedRoutes): Steps<void> | undefined {
    const { hosts, graph } = this;
    const after = this.options.observed.routeConfig(name);
    if (after?.kind !== 'value') return undefined;
    const kept = graph && keepVirtualHost(graph.routes, hosts, before, after);
    return kept === undefined ? hosts.prepare(after.value) : undefined;
  }

  /** Marks a cluster, an assignment (by EDS resource) or a DNS name (by `dnsTargetKey`) as changed. */
  mark(kind: 'clusters' | 'endpoints' | 'dns', name: string): void {
    this.marks[kind].add(name);
  }

  /** Computes what follows from the inputs that were marked. */
  update(): StoreUpdate {
    return runSteps(this.updateInSteps());
  }

  /**
   * Does the same in steps. The config is the previous one until the last. What changes meanwhile is marked for the next
   * update, which must not start before.
   */
  *updateInSteps(): Steps<StoreUpdate> {
    const { marks, graph } = this;
    this.marks = noMarks();
    const routes = graph && this.keepRoutes(marks, graph);
    const keepsTopology =
      graph !== undefined && routes !== undefined && !(yield* this.changesTopology(marks, graph));
    if (!keepsTopology) return yield* this.walk(marks);
    const wasHeld = graph.heldBy.size > 0;
    graph.routes = routes;
    yield* this.recompute(graph, yield* concernedBy(marks, graph.topology));
    yield* this.buildAggregates(graph);
    const isOutdated = graph.isOutdated || (wasHeld && graph.heldBy.size === 0);
    if (graph.kept.size > 0 && isOutdated) return yield* this.walk(noMarks());
    return yield* this.describe(graph);
  }

  /** @returns the routes, if no change concerns the virtual host of the target. */
  private keepRoutes({ roots, routes: report }: Marks, { routes }: Graph): FoundRoutes | undefined {
    if (roots) return undefined;
    if (report === undefined) return routes;
    const { observed } = this.options;
    return keepVirtualHost(routes, this.hosts, report.before, observed.routeConfig(report.name));
  }

  private *changesTopology({ clusters }: Marks, { nodes }: Graph): Steps<boolean> {
    let isChanged = false;
    yield* inSteps(clusters, (name) => {
      const node = nodes.get(name);
      if (node === undefined) return;
      const source = clusterSource(this.options.observed.cluster(name));
      if (!needsSameWatches(node.source, source)) isChanged = true;
    });
    return isChanged;
  }

  private *walk(marks: Marks): Steps<StoreUpdate> {
    const { routeConfigName, found } = findRoutes({
      ...this.options,
      hosts: this.hosts,
      previous: this.config,
    });
    const routeConfigs = new Set(routeConfigName === undefined ? [] : [routeConfigName]);
    if (found?.ok === false) return this.withoutClusters(routeConfigs, found.error);
    const { rejection, routes } = found === undefined ? this.keep() : this.admit(found.value);
    if (routes === undefined) return this.withoutClusters(routeConfigs, rejection);
    const awaited = found === undefined ? routeConfigName : undefined;
    this.graph = yield* this.createGraph({ routes, rejection, awaited, routeConfigs }, marks);
    return yield* this.describe(this.graph);
  }

  /** @returns the routes in use, if there are any. */
  private keep(): { readonly routes?: FoundRoutes; readonly rejection?: string } {
    const { inUse: config, graph } = this;
    return config === undefined ? {} : { routes: { config, ambient: graph?.routes.ambient ?? [] } };
  }

  /** @returns the update of a target whose clusters are not known. */
  private withoutClusters(
    routeConfigs: ReadonlySet<string>,
    error: string | undefined,
  ): StoreUpdate {
    this.graph = undefined;
    if (error !== undefined) this.isInUse = false;
    return {
      needed: { routeConfigs, clusters: NO_NAMES, endpoints: NO_NAMES, dns: new Map() },
      outcome: error === undefined ? { kind: 'incomplete' } : { kind: 'error', message: error },
      rejection: undefined,
    };
  }

  /** @returns the routes found or, if those name too many clusters, the ones in use, if there are any. */
  private admit(found: FoundRoutes): {
    readonly routes?: FoundRoutes;
    readonly rejection?: string;
  } {
    const { maxClusters, clientNote } = this.options;
    const { routeConfig, virtualHost } = found.config;
    const problem = checkClusterCount(routeConfig.name, virtualHost.clusters, maxClusters);
    if (problem === undefined) return { routes: found };
    const rejection = `${problem} (${clientNote})`;
    if (this.config === undefined) return { rejection };
    const ambient = [...found.ambient, { kind: 'invalid', message: rejection } as const];
    return { routes: { config: this.config, ambient }, rejection };
  }

  /** Creates the graph of routes, with the clusters of those in use if these stay in use. */
  private *createGraph(walked: WalkedRoutes, marks: Marks): Steps<Graph> {
    const { inUse } = this;
    const graph = yield* this.createPart(walked, marks);
    if (inUse === undefined || graph.heldBy.size === 0) return graph;
    return yield* this.createPart(walked, marks, inUse.virtualHost.clusters);
  }

  /** @param more The clusters of the routes in use, if these stay in use. */
  private *createPart(
    walked: WalkedRoutes,
    marks: Marks,
    more?: ReadonlySet<string>,
  ): Steps<Graph> {
    const { maxClusters, subscribed, observed } = this.options;
    const { routes, routeConfigs } = walked;
    const known = this.graph?.nodes;
    const topology = yield* ClusterTopology.create({
      fromRoutes: routes.config.virtualHost.clusters,
      subscribed: more === undefined ? subscribed() : [...subscribed(), ...more],
      maxClusters,
      sourceOf: (name) => {
        const node = marks.clusters.has(name) ? undefined : known?.get(name);
        return node?.source ?? clusterSource(observed.cluster(name));
      },
    });
    const isHeld = walked.awaited !== undefined || more !== undefined;
    const kept = isHeld ? yield* keptBeside(walked, topology) : new Set<string>();
    const nodes = yield* this.createNodes({ topology, routes, kept }, marks);
    const needed = yield* neededBy(routeConfigs, topology);
    const graph: Graph = {
      ...walked,
      ...{ topology, needed, nodes, pending: new Set(), unbuilt: new Set(), heldBy: new Set() },
      ...{ mayBuild: true, heldSinceMs: undefined, kept },
      ...{ isOutdated: false, changed: undefined },
    };
    yield* this.countPending(graph);
    yield* this.buildAggregates(graph);
    yield* this.keepLeaves(graph);
    graph.isOutdated = false;
    if (isHeld || graph.heldBy.size > 0)
      graph.heldSinceMs = this.graph?.heldSinceMs ?? this.options.nowMs();
    return graph;
  }

  /**
   * Creates the nodes of a topology. Of those that were there before, only the ones concerned are computed, and no
   * aggregates: a tree of thousands may arrive level by level, and its leaves would be listed at each level.
   */
  private *createNodes(
    { topology, routes, kept }: CreatedPart,
    marks: Marks,
  ): Steps<Map<string, ClusterNode>> {
    const before = this.graph;
    const concerned = yield* concernedBy(marks, topology);
    const ambient = before?.routes.ambient;
    const isSameAmbient = shareList(ambient, routes.ambient) === ambient;
    const inputs = this.inputsOf(routes, topology);
    const nodes = new Map<string, ClusterNode>();
    yield* inSteps(topology.sources, ([name, source]) => {
      const known = before?.nodes.get(name);
      const isCurrent =
        isSameAmbient &&
        known?.source === source &&
        !concerned.has(name) &&
        before?.kept.has(name) !== true;
      if (source.kind === 'aggregate') {
        nodes.set(name, this.createNode(name, source, undefined, known));
      } else if (isCurrent) {
        nodes.set(name, known);
      } else {
        const previous = known?.result ?? this.config?.clusters.get(name);
        const built = buildCluster(name, source, inputs, previous);
        const result = kept.has(name) ? this.keepUsable(name, built) : built;
        nodes.set(name, this.createNode(name, source, result, known));
      }
    });
    return nodes;
  }

  /**
   * @param built The result; `undefined` while it is pending: then the one in use stays in use.
   * @param known The node before.
   */
  private createNode(
    name: string,
    source: ClusterNode['source'],
    built: ClusterResult | undefined,
    known: ClusterNode | undefined,
  ): ClusterNode {
    if (built !== undefined) return { source, result: built, pendingSinceMs: undefined };
    const pendingSinceMs = known?.pendingSinceMs ?? this.options.nowMs();
    return { source, result: this.inUse?.clusters.get(name), pendingSinceMs };
  }

  /**
   * Returns the result of a cluster to which only the config in use refers: that of the config if it is no longer usable. What
   * replaces the config may have removed it, and must not fail the calls that still use it.
   */
  private keepUsable(name: string, built: ClusterResult | undefined): ClusterResult | undefined {
    if (built === undefined || isUsable(built)) return built;
    const inUse = this.inUse?.clusters.get(name);
    return inUse !== undefined && isUsable(inUse) ? inUse : built;
  }

  private *countPending(graph: Graph): Steps<void> {
    const { clusters } = graph.routes.config.virtualHost;
    const inUse = this.inUse?.virtualHost.clusters;
    yield* inSteps(graph.nodes, ([name, { source, result, pendingSinceMs }]) => {
      if (pendingSinceMs === undefined) return;
      graph.pending.add(name);
      if (source.kind === 'aggregate') graph.unbuilt.add(name);
      const isHolding = result === undefined && clusters.has(name) && inUse?.has(name) !== true;
      if (isHolding) graph.heldBy.add(name);
    });
  }

  private *recompute(graph: Graph, names: Iterable<string>): Steps<void> {
    const inputs = this.inputsOf(graph.routes, graph.topology);
    yield* inSteps(names, (name) => {
      const node = graph.nodes.get(name);
      // Watched for the config that is still in use, but not part of this graph.
      if (node === undefined || graph.unbuilt.has(name)) return;
      const previous = node.result ?? this.config?.clusters.get(name);
      const built = buildCluster(name, node.source, inputs, previous);
      const result = graph.kept.has(name) ? this.keepUsable(name, built) : built;
      if (result === undefined) return;
      if (node.pendingSinceMs !== undefined) {
        graph.mayBuild = true;
        if (leavesIn(node.result).length > 0) graph.isOutdated = true;
      }
      node.result = result;
      node.pendingSinceMs = undefined;
      graph.pending.delete(name);
      graph.heldBy.delete(name);
      graph.changed?.set(name, result);
    });
  }

  private inputsOf({ ambient }: FoundRoutes, topology: ClusterTopology): ClusterInputs {
    const { observed, clientNote } = this.options;
    return { observed, ambient, clientNote, leavesOf: (name) => topology.leavesOf(name) };
  }

  /** Builds the aggregates whose clusters all have a result, if any cluster has got one since it was last tried. */
  private *buildAggregates(graph: Graph): Steps<void> {
    const { unbuilt, mayBuild } = graph;
    if (unbuilt.size === 0 || !mayBuild) return;
    const ready = yield* readyAggregates(graph);
    for (const name of ready) unbuilt.delete(name);
    yield* this.recompute(graph, ready);
    graph.mayBuild = false;
  }

  private *describe(graph: Graph): Steps<StoreUpdate> {
    const { needed, rejection, heldBy } = graph;
    const { inUse } = this;
    const isHeld = heldBy.size > 0;
    if (isHeld && inUse === undefined && !this.acceptsPart) {
      return { needed, outcome: { kind: 'incomplete' }, rejection };
    }
    // From now on the clusters that are missing hold back only themselves.
    if (inUse === undefined) heldBy.clear();
    const routes = heldBy.size > 0 ? inUse : undefined;
    return { needed, outcome: yield* this.swap(graph, routes ?? graph.routes.config), rejection };
  }

  /**
   * Adds the clusters that an aggregate keeps while its next version is pending, or although it exceeds a limit: they are part
   * of the config in use, and so at most as many as the limit. They do not count against it, or what is watched would depend on
   * what is kept, and what is kept on what is watched.
   */
  private *keepLeaves(graph: Graph): Steps<void> {
    const { nodes, topology } = graph;
    const inputs = this.inputsOf(graph.routes, topology);
    const before = nodes.size;
    yield* inSteps(yield* missingLeaves(graph), (name) => {
      const source = clusterSource(this.options.observed.cluster(name));
      topology.add(name, source);
      const previous = this.config?.clusters.get(name);
      const built = this.keepUsable(name, buildCluster(name, source, inputs, previous));
      const node = this.createNode(name, source, built, undefined);
      nodes.set(name, node);
      graph.kept.add(name);
      if (node.pendingSinceMs !== undefined) graph.pending.add(name);
    });
    if (nodes.size === before) return;
    graph.needed = yield* neededBy(graph.needed.routeConfigs, topology);
  }

  /** Swaps the config for the one that the graph amounts to with these routes, if that differs. */
  private *swap(graph: Graph, routes: FoundRoutes['config']): Steps<ConfigOutcome> {
    const before = this.latest;
    const changedClusters = yield* changedSince(before?.clusters, graph);
    const clusters = yield* nextClusters(before?.clusters, graph, changedClusters);
    graph.changed = new Map();
    const { listener, routeConfig, virtualHost } = routes;
    const isUnchanged =
      before?.config.listener === listener &&
      before.config.routeConfig === routeConfig &&
      before.config.virtualHost === virtualHost &&
      before.clusters === clusters;
    const config = isUnchanged ? before.config : { listener, routeConfig, virtualHost, clusters };
    this.latest = { config, clusters };
    this.isInUse = true;
    this.acceptsPart = false;
    const isWhole = graph.pending.size === 0 && graph.awaited === undefined;
    return { kind: 'config', config, changedClusters, isWhole };
  }
}

/**
 * Returns the clusters to which the latest routes do not refer. While the routes are pending, nothing is known of those to which
 * they will.
 */
function* keptBeside(
  { awaited, routes }: WalkedRoutes,
  { sources }: ClusterTopology,
): Steps<Set<string>> {
  const referred = new Set(awaited === undefined ? routes.config.virtualHost.clusters : NO_NAMES);
  // A set is iterated together with what is added meanwhile.
  yield* inSteps(referred, (name) => {
    const source = sources.get(name);
    if (source?.kind === 'aggregate') for (const child of source.clusters) referred.add(child);
  });
  const kept = new Set<string>();
  yield* inSteps(sources.keys(), (name) => {
    if (!referred.has(name)) kept.add(name);
  });
  return kept;
}
