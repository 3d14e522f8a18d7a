import { err, ok, type Result } from '../util/result';
import { shareList, shareMap, shareSet } from '../util/share';
import { quoteName } from '../util/text';
import type { WatchError } from '../xds-client/resource-watcher';
import { lazy } from '../util/lazy';
import type * as Aggregates from './aggregates';
import type { LeafClusters, LeafLists } from './aggregates';
import {
  buildLeaf,
  clusterSource,
  shareError,
  unusableError,
  type ClusterSource,
} from './build-cluster';
import { buildRoutes, type BuiltRoutes, type RouteInputs, type RoutesInUse } from './build-routes';
import { walkClusters, type ClusterTopology } from './cluster-topology';
import type { DnsTarget, NeededWatches, Observations, WatchReport } from './observations';
import type { ClusterResult, XdsConfig } from './xds-config';
import type { ClusterResource } from '../resources/cluster/cluster';
import type { EndpointsResource } from '../resources/endpoints/endpoints';

/** Loaded for the first aggregate cluster. */
const loadAggregates = lazy<typeof Aggregates>(() => require('./aggregates'));

/** Everything that {@link buildXdsConfig} depends on, besides its last result. */
export interface XdsConfigInputs extends RouteInputs {
  readonly observed: Observations;
  /** `Limits.maxClustersPerTarget`. */
  readonly maxClusters: number;
  /** The subscribed clusters, besides those of the routes (gRFC A74). */
  readonly subscribed: readonly string[];
  /** Whether the first config may be without clusters that are pending. */
  readonly acceptPart: boolean;
  /** The time of the monotonic clock, in milliseconds. */
  readonly nowMs: number;
}

/** A cluster whose next result is pending. */
export interface PendingCluster {
  readonly source: ClusterSource;
  /** On the monotonic clock. */
  readonly sinceMs: number;
  /** Whether an earlier result is in use. */
  readonly hasEarlier: boolean;
}

/** The latest routes, while they are not in use. */
export interface PendingRoutes {
  /** The listener and route configuration that wait. While the second is pending, both are those in use. */
  readonly routes: RoutesInUse['config'];
  /** On the monotonic clock. */
  readonly sinceMs: number;
  /** The route configuration that the listener refers to, while it is pending. */
  readonly awaited: string | undefined;
  /** The clusters without a result that the routes wait for. */
  readonly clusters: ReadonlySet<string>;
  /** Whether earlier routes are in use. */
  readonly hasEarlier: boolean;
}

/** What is not in use yet because a resource is pending. */
export interface Pending {
  readonly routes: PendingRoutes | undefined;
  readonly clusters: ReadonlyMap<string, PendingCluster>;
}

/** The result of {@link buildXdsConfig}, which is an input of its next call. */
export interface BuiltXdsConfig {
  /** The config to use, or why the target cannot be used; `undefined` if there is none yet. */
  readonly config: Result<XdsConfig, WatchError> | undefined;
  /** Whether the config in use reflects the latest resources. */
  readonly isWhole: boolean;
  readonly needed: NeededWatches;
  readonly pending: Pending;
  /** Why the previous routes stay in use, if the new ones name too many clusters. */
  readonly rejection: string | undefined;
  /** The last good config, in use or not, so that what did not change keeps its identity. */
  readonly latest: XdsConfig | undefined;
  readonly memory: Memory;
}

/** What the next call shares with this one. */
interface Memory {
  readonly found: BuiltRoutes['found'];
  /** Errors of the listener and the routes in use. */
  readonly ambient: readonly WatchError[];
  readonly nodes: ReadonlyMap<string, ClusterNode>;
  readonly topology: ClusterTopology | undefined;
  readonly lists: LeafLists | undefined;
}

/** A cluster with what its source and, unless it is an aggregate, its result follow from. */
interface ClusterNode {
  readonly cluster: WatchReport<ClusterResource> | undefined;
  readonly source: ClusterSource;
  readonly endpoints: WatchReport<EndpointsResource> | undefined;
  readonly ambient: readonly WatchError[];
  readonly result: ClusterResult | undefined;
}

/** The routes to walk from. */
interface ChosenRoutes {
  readonly routes: RoutesInUse;
  readonly rejection: string | undefined;
}

const NO_NAMES: ReadonlySet<string> = new Set();
const NO_CLUSTERS: XdsConfig['clusters'] = new Map();
const NO_WATCHES: NeededWatches = {
  routeConfigs: NO_NAMES,
  clusters: NO_NAMES,
  endpoints: NO_NAMES,
  dns: new Map(),
};
const NOTHING: Pending = { routes: undefined, clusters: new Map() };

/**
 * Builds the configuration of one target (gRFC A74): listener, route configuration, clusters, and endpoints or DNS. Pure: the
 * unchanged parts of the result are the objects of `previous`. Cluster problems stay local to the cluster; only a missing
 * listener, route configuration or virtual host is an error.
 *
 * A pending resource holds back what refers to it, and nothing else (docs/decisions/atomic-config.md):
 *
 * 1. A cluster or aggregate whose next version is pending keeps the result in use.
 * 2. Routes wait as a whole while they name a cluster that is new to the config and has no result. Those in use stay.
 * 3. While routes wait, clusters to which only the config in use refers keep a usable result.
 * 4. The leaves that an aggregate keeps stay part of the config.
 * 5. The first config waits for all clusters of its routes, until `acceptPart`.
 */
export function buildXdsConfig(
  inputs: XdsConfigInputs,
  previous: BuiltXdsConfig | undefined,
): BuiltXdsConfig {
  const built = buildRoutes(inputs, previous?.memory.found);
  const chosen = chooseRoutes(inputs, built, previous);
  if (!chosen.ok) return withoutClusters(built, chosen.error, previous);
  return new ConfigBuild(inputs, built, chosen.value, previous).finish();
}

/** Returns the names of the clusters that differ from those of an earlier config: changed, added and removed. */
export function changedClusters(
  before: XdsConfig['clusters'] | undefined,
  after: XdsConfig['clusters'],
): ReadonlySet<string> {
  const names = new Set<string>();
  if (before === after) return names;
  let added = 0;
  for (const [name, result] of after) {
    const earlier = before?.get(name);
    if (earlier !== result) names.add(name);
    if (earlier === undefined) added++;
  }
  // Most changes remove no cluster, and then there is none to look for.
  if (before === undefined || before.size + added === after.size) return names;
  for (const name of before.keys()) if (!after.has(name)) names.add(name);
  return names;
}

/**
 * Returns the routes to use: those found or, while they are pending or if they name too many clusters, those before.
 * @returns the error of a target that has none; `undefined` as error while they are pending.
 */
function chooseRoutes(
  { maxClusters, clientNote }: XdsConfigInputs,
  { routes }: BuiltRoutes,
  previous: BuiltXdsConfig | undefined,
): Result<ChosenRoutes, WatchError | undefined> {
  if (routes === undefined) {
    if (previous?.config?.ok !== true) return err(undefined);
    const kept = { config: previous.config.value, ambient: previous.memory.ambient };
    return ok({ routes: kept, rejection: undefined });
  }
  if (!routes.ok) return routes;
  const { routeConfig, virtualHost } = routes.value.config;
  const { size } = virtualHost.clusters;
  if (size <= maxClusters) return ok({ routes: routes.value, rejection: undefined });
  const rejection = `RouteConfiguration ${quoteName(routeConfig.name)} is rejected: its virtual host names ${size} clusters, more than the limit maxClustersPerTarget (${maxClusters}) (${clientNote})`;
  const config = previous?.latest;
  const error = unusableError(rejection);
  if (config === undefined) return err(error);
  const ambient = [...routes.value.ambient, error];
  return ok({ routes: { config, ambient }, rejection });
}

/** Returns the result of a target whose clusters are not known. */
function withoutClusters(
  { routeConfigName, found }: BuiltRoutes,
  error: WatchError | undefined,
  previous: BuiltXdsConfig | undefined,
): BuiltXdsConfig {
  const routeConfigs = routeConfigName === undefined ? NO_NAMES : new Set([routeConfigName]);
  return {
    config: error === undefined ? undefined : err(error),
    isWhole: false,
    needed: { ...NO_WATCHES, routeConfigs },
    pending: NOTHING,
    rejection: undefined,
    latest: previous?.latest,
    memory: { found, ambient: [], nodes: new Map(), topology: undefined, lists: undefined },
  };
}

/** The clusters of a target, and those that have no result yet. */
interface Walk {
  readonly topology: ClusterTopology;
  /** Those whose own resources are pending, and the aggregates that lead to them. */
  readonly pending: ReadonlySet<string>;
  /** Those that hold back the routes. */
  readonly holding: ReadonlySet<string>;
}

/** One call of {@link buildXdsConfig}. */
class ConfigBuild {
  private readonly inUse: XdsConfig | undefined;
  /** The clusters of the last config. */
  private readonly before: XdsConfig['clusters'];
  private readonly ambient: readonly WatchError[];
  /** The name of the route configuration that has not been received. */
  private readonly awaited: string | undefined;
  private readonly nodes = new Map<string, ClusterNode>();
  private readonly results = new Map<string, ClusterResult>();
  private readonly pending = new Map<string, PendingCluster>();

  constructor(
    private readonly inputs: XdsConfigInputs,
    private readonly built: BuiltRoutes,
    private readonly chosen: ChosenRoutes,
    private readonly previous: BuiltXdsConfig | undefined,
  ) {
    this.inUse = previous?.config?.ok === true ? previous.config.value : undefined;
    this.before = previous?.latest?.clusters ?? NO_CLUSTERS;
    this.ambient = shareList(previous?.memory.ambient, chosen.routes.ambient);
    this.awaited = built.routes === undefined ? built.routeConfigName : undefined;
  }

  finish(): BuiltXdsConfig {
    const { inUse, inputs, ambient, nodes, pending, awaited } = this;
    const { routes, rejection } = this.chosen;
    let walk = this.walk(inputs.subscribed);
    const isHeld = inUse !== undefined && walk.holding.size > 0;
    // The routes in use stay, so their clusters are walked, too.
    if (isHeld) walk = this.walk([...inputs.subscribed, ...inUse.virtualHost.clusters]);
    const { topology, holding } = walk;
    const kept = isHeld || awaited ? this.keptBeside(topology, awaited) : NO_NAMES;
    const lists = this.listsOf(walk);
    const extra = this.addResults(walk, lists, kept);
    const stillBlocking = inUse === undefined && inputs.acceptPart ? NO_NAMES : holding;
    const pendingRoutes = this.pendingRoutes(awaited, stillBlocking);
    const config =
      stillBlocking.size === 0 ? this.share(routes.config) : inUse && this.share(inUse);
    return {
      config: config && ok(config),
      isWhole: config !== undefined && pendingRoutes === undefined && pending.size === 0,
      needed: this.neededOf(topology, extra),
      pending: { routes: pendingRoutes, clusters: pending },
      rejection,
      latest: config ?? this.previous?.latest,
      memory: { found: this.built.found, ambient, nodes, topology, lists },
    };
  }

  /** Walks through the clusters, to the same topology as in the last call if nothing in it changed. */
  private walk(subscribed: readonly string[]): Walk {
    const fromRoutes = this.chosen.routes.config.virtualHost.clusters;
    const leaves: string[] = [];
    const roots = { fromRoutes, subscribed, maxClusters: this.inputs.maxClusters };
    const next = walkClusters(roots, (name) => {
      const { source, result } = this.nodeOf(name);
      if (result === undefined && source.kind !== 'aggregate') leaves.push(name);
      return source;
    });
    const topology = shareTopology(this.previous?.memory.topology, next);
    if (leaves.length === 0) return { topology, pending: NO_NAMES, holding: NO_NAMES };
    const pending =
      topology.aggregates.length === 0
        ? new Set(leaves)
        : loadAggregates().withAggregates(topology, leaves);
    const { inUse } = this;
    const holding = new Set<string>();
    for (const name of fromRoutes) {
      const isInUse = inUse?.virtualHost.clusters.has(name) === true || inUse?.clusters.has(name);
      if (pending.has(name) && isInUse !== true) holding.add(name);
    }
    return { topology, pending, holding };
  }

  /** Returns a cluster as it is now: the same object as in the last call if its reports are the same. */
  private nodeOf(name: string): ClusterNode {
    const known = this.nodes.get(name);
    if (known !== undefined) return known;
    const { ambient, previous } = this;
    const { observed, clientNote } = this.inputs;
    const cluster = observed.clusters.get(name);
    const before = previous?.memory.nodes.get(name);
    const source =
      before?.cluster === cluster && before !== undefined
        ? before.source
        : clusterSource(cluster, before?.source);
    let endpoints: ClusterNode['endpoints'];
    if (source.kind === 'eds') endpoints = observed.endpoints.get(source.name);
    else if (source.kind === 'dns') endpoints = observed.dns.get(source.key);
    let node = before;
    if (
      node === undefined ||
      node.cluster !== cluster ||
      node.endpoints !== endpoints ||
      node.ambient !== ambient
    ) {
      const inputs = { ambient, clientNote, previous: this.before.get(name) };
      const isLeaf = source.kind !== 'aggregate';
      const result = isLeaf ? buildLeaf(cluster, endpoints, inputs) : undefined;
      node = { cluster, source, endpoints, ambient, result };
    }
    this.nodes.set(name, node);
    return node;
  }

  /**
   * Returns the clusters to which the latest routes do not refer. While the routes are pending we do not know to which clusters they
   * will refer, so all count as unreferenced.
   */
  private keptBeside({ sources }: ClusterTopology, awaited: string | undefined): Set<string> {
    const { clusters } = this.chosen.routes.config.virtualHost;
    const referred = new Set(awaited === undefined ? clusters : NO_NAMES);
    // A set is iterated together with what is added meanwhile.
    for (const name of referred) {
      const source = sources.get(name);
      if (source?.kind === 'aggregate') for (const child of source.clusters) referred.add(child);
    }
    return new Set([...sources.keys()].filter((name) => !referred.has(name)));
  }

  /** @returns `undefined` without aggregates. */
  private listsOf({ topology, pending }: Walk): LeafLists | undefined {
    if (topology.aggregates.length === 0) return undefined;
    const known = this.previous?.memory.lists;
    const ready = topology.aggregates.filter((name) => !pending.has(name));
    const isCurrent = known?.topology === topology && shareList(known.ready, ready) === known.ready;
    return isCurrent ? known : new (loadAggregates().LeafLists)(topology, ready);
  }

  /**
   * Adds the results of all clusters, and of those that an aggregate keeps while its next version is pending, or although it
   * exceeds a limit. The latter are part of the config in use. They have a separate limit: otherwise a kept leaf could
   * push out a cluster of the topology and back, endlessly.
   *
   * @param kept The clusters to which only the config in use refers.
   * @returns the latter that are not part of the topology, with their sources.
   */
  private addResults(
    { topology: { sources }, pending }: Walk,
    lists: LeafLists | undefined,
    kept: ReadonlySet<string>,
  ): ReadonlyMap<string, ClusterSource> {
    const extra = new Map<string, ClusterSource>();
    for (const name of sources.keys()) {
      const { source, result, cluster } = this.nodeOf(name);
      const leaves =
        source.kind === 'aggregate' && !pending.has(name) ? lists?.of(name) : undefined;
      const built = leaves === undefined ? result : this.buildAggregate(name, cluster, leaves);
      if (built !== undefined && !kept.has(name)) this.results.set(name, built);
      else this.keepResult(name, source, built);
    }
    const { maxClusters } = this.inputs;
    // What is added is looked at, too: a leaf may be an aggregate now.
    for (const [name, result] of this.results) {
      const others = leavesIn(result).filter((leaf) => !sources.has(leaf) && !extra.has(leaf));
      if (extra.size + others.length > maxClusters) {
        this.rejectKept(name, result);
        continue;
      }
      for (const leaf of others) {
        const { source, result: built } = this.nodeOf(leaf);
        extra.set(leaf, source);
        this.keepResult(
          leaf,
          source,
          source.kind === 'aggregate' ? this.inUse?.clusters.get(leaf) : built,
        );
      }
    }
    return extra;
  }

  private buildAggregate(
    name: string,
    cluster: ClusterNode['cluster'],
    leaves: LeafClusters,
  ): ClusterResult | undefined {
    if (cluster?.kind !== 'value') return undefined;
    const { clientNote } = this.inputs;
    const previous = this.before.get(name);
    return loadAggregates().buildAggregate(cluster.value, leaves, clientNote, previous);
  }

  /**
   * Adds the result of a cluster whose next result is pending, or to which only the config in use refers: what replaces the config
   * may have removed it, and must not fail the calls that still use it.
   */
  private keepResult(name: string, source: ClusterSource, built: ClusterResult | undefined): void {
    const inUse = this.inUse?.clusters.get(name);
    if (built === undefined) {
      const sinceMs = this.previous?.pending.clusters.get(name)?.sinceMs ?? this.inputs.nowMs;
      this.pending.set(name, { source, sinceMs, hasEarlier: inUse?.ok === true });
    }
    const result = built === undefined || (isUsable(inUse) && !isUsable(built)) ? inUse : built;
    if (result !== undefined) this.results.set(name, result);
  }

  /** Makes an aggregate whose last clusters are too many to keep an error. */
  private rejectKept(name: string, result: ClusterResult): void {
    const { maxClusters, clientNote } = this.inputs;
    const children = result.ok ? result.value.children : undefined;
    const rejection = children?.kind === 'aggregate' ? children.rejection : undefined;
    const message = `aggregate cluster ${quoteName(name)} waits for a cluster, and its last clusters are not kept: those that aggregates keep would exceed the limit maxClustersPerTarget (${maxClusters}) (${clientNote})`;
    const error = unusableError(rejection ?? message);
    this.results.set(name, shareError(this.before.get(name), error));
    const pending = this.pending.get(name);
    if (pending !== undefined) this.pending.set(name, { ...pending, hasEarlier: false });
  }

  private pendingRoutes(
    awaited: string | undefined,
    clusters: ReadonlySet<string>,
  ): PendingRoutes | undefined {
    if (awaited === undefined && clusters.size === 0) return undefined;
    const { config: routes } = this.chosen.routes;
    const sinceMs = this.previous?.pending.routes?.sinceMs ?? this.inputs.nowMs;
    return { routes, sinceMs, awaited, clusters, hasEarlier: this.inUse !== undefined };
  }

  /** @param extra Clusters beside the topology. */
  private neededOf(
    topology: ClusterTopology,
    extra: ReadonlyMap<string, ClusterSource>,
  ): NeededWatches {
    const { routeConfigName } = this.built;
    const before = this.previous?.needed ?? NO_WATCHES;
    const routeConfigs = shareSet(
      before.routeConfigs,
      routeConfigName === undefined ? NO_NAMES : new Set([routeConfigName]),
    );
    const isSame =
      this.previous?.memory.topology === topology &&
      before.clusters.size === topology.sources.size &&
      before.routeConfigs === routeConfigs;
    if (isSame && extra.size === 0) return before;
    const clusters = new Set<string>();
    const endpoints = new Set<string>();
    const dns = new Map<string, DnsTarget>();
    for (const [name, source] of [...topology.sources, ...extra]) {
      clusters.add(name);
      if (source.kind === 'eds') endpoints.add(source.name);
      else if (source.kind === 'dns') dns.set(source.key, source.target);
    }
    // The keys say everything about the targets.
    const hasSameDns =
      before.dns.size === dns.size && [...dns.keys()].every((key) => before.dns.has(key));
    return {
      routeConfigs,
      clusters: shareSet(before.clusters, clusters),
      endpoints: shareSet(before.endpoints, endpoints),
      dns: hasSameDns ? before.dns : dns,
    };
  }

  /** Returns the config with these routes: the latest one itself if nothing changed. */
  private share({ listener, routeConfig, virtualHost }: RoutesInUse['config']): XdsConfig {
    const latest = this.previous?.latest;
    const clusters = shareMap(latest?.clusters, this.results);
    return latest?.listener === listener &&
      latest.routeConfig === routeConfig &&
      latest.virtualHost === virtualHost &&
      latest.clusters === clusters
      ? latest
      : { listener, routeConfig, virtualHost, clusters };
  }
}

/** Returns the previous topology if it has the same clusters from the same roots. */
function shareTopology(
  previous: ClusterTopology | undefined,
  next: ClusterTopology,
): ClusterTopology {
  return previous !== undefined &&
    shareMap(previous.sources, next.sources) === previous.sources &&
    shareSet(previous.roots, next.roots) === previous.roots &&
    shareSet(previous.refused, next.refused) === previous.refused
    ? previous
    : next;
}

/** Whether calls can be sent to an endpoint of a cluster, or of those below it. */
function isUsable(result: ClusterResult | undefined): boolean {
  if (result?.ok !== true) return false;
  const { children } = result.value;
  return children.kind === 'aggregate' || (children.endpoints?.priorities.length ?? 0) > 0;
}

/** Returns the leaf clusters of the result of an aggregate; of any other, none. */
function leavesIn(result: ClusterResult): readonly string[] {
  const children = result.ok ? result.value.children : undefined;
  return children?.kind === 'aggregate' ? children.leafClusters : [];
}
