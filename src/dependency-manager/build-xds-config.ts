import { shareFields, shareList, shareMap, shareSet } from '../util/share';
import { err, ok, type Result } from '../util/result';
import type { WatchError } from '../xds-client/resource-watcher';
import {
  buildAggregate,
  buildLeaf,
  clusterSource,
  shareSource,
  type ClusterInputs,
  type ClusterSource,
} from './build-cluster';
import { buildRoutes, type BuiltRoutes, type RouteInputs, type RoutesInUse } from './build-routes';
import {
  checkClusterCount,
  ClusterTopology,
  LeafLists,
  type TopologyRoots,
} from './cluster-topology';
import type { DnsTarget, NeededWatches, Observations } from './observations';
import type { ClusterResult, XdsConfig } from './xds-config';

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
  readonly config: Result<XdsConfig, string> | undefined;
  readonly needed: NeededWatches;
  readonly pending: Pending;
  /** Why the previous routes stay in use, if the new ones name too many clusters. */
  readonly rejection: string | undefined;
  /** The last config, also after an error, so that what did not change keeps its identity. */
  readonly latest: XdsConfig | undefined;
  readonly memory: Memory;
}

/** What the next call shares with this one. */
interface Memory {
  readonly found: BuiltRoutes['found'];
  /** Errors of the listener and the routes in use. */
  readonly ambient: readonly WatchError[];
  readonly walks: readonly Walk[];
  readonly lists: LeafLists | undefined;
}

/** A topology with its clusters, in the same order. */
interface Walk {
  readonly topology: ClusterTopology;
  readonly nodes: readonly ClusterNode[];
}

/** A cluster with what its source and, unless it is an aggregate, its result follow from. */
interface ClusterNode {
  readonly name: string;
  readonly cluster: ReturnType<Observations['cluster']>;
  readonly source: ClusterSource;
  readonly endpoints: ReturnType<Observations['endpoints']>;
  readonly ambient: readonly WatchError[];
  readonly result: ClusterResult | undefined;
}

/** The routes to walk from. */
interface ChosenRoutes {
  readonly routes: RoutesInUse;
  readonly rejection: string | undefined;
}

const NO_NAMES: ReadonlySet<string> = new Set();
const NOTHING: Pending = { routes: undefined, clusters: new Map() };

/**
 * Builds the configuration of one target (gRFC A74): listener, route configuration, clusters, and endpoints or DNS. Pure: the
 * unchanged parts of the result are the objects of `previous`. Cluster problems stay local to the cluster; only a missing
 * listener, route configuration or virtual host is an error.
 *
 * A pending resource holds back what refers to it, and nothing else (docs/decisions/0036-late-clusters.md):
 *
 * 1. A cluster or aggregate whose next version is pending keeps the result in use.
 * 2. Routes that name a cluster without a result wait as a whole, unless those in use name it too. Those in use stay.
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

/** Whether a config is in use as the latest resources have it. */
export function isWhole({ config, pending }: BuiltXdsConfig): boolean {
  return config?.ok === true && pending.routes === undefined && pending.clusters.size === 0;
}

/** Whether there is no config in use, and some clusters that the routes name have a result. */
export function hasPart({ config, pending: { routes } }: BuiltXdsConfig): boolean {
  if (config !== undefined || routes === undefined) return false;
  return routes.clusters.size < routes.routes.virtualHost.clusters.size;
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
): Result<ChosenRoutes, string | undefined> {
  if (routes === undefined) {
    if (previous?.config?.ok !== true) return err(undefined);
    const kept = { config: previous.config.value, ambient: previous.memory.ambient };
    return ok({ routes: kept, rejection: undefined });
  }
  if (!routes.ok) return routes;
  const { routeConfig, virtualHost } = routes.value.config;
  const problem = checkClusterCount(routeConfig.name, virtualHost.clusters, maxClusters);
  if (problem === undefined) return ok({ routes: routes.value, rejection: undefined });
  const rejection = `${problem} (${clientNote})`;
  const config = previous?.latest;
  if (config === undefined) return err(rejection);
  const ambient = [...routes.value.ambient, { kind: 'invalid', message: rejection } as const];
  return ok({ routes: { config, ambient }, rejection });
}

/** Returns the result of a target whose clusters are not known. */
function withoutClusters(
  { routeConfigName, found }: BuiltRoutes,
  error: string | undefined,
  previous: BuiltXdsConfig | undefined,
): BuiltXdsConfig {
  return {
    config: error === undefined ? undefined : err(error),
    needed: {
      routeConfigs: namesOf(routeConfigName),
      clusters: NO_NAMES,
      endpoints: NO_NAMES,
      dns: new Map(),
    },
    pending: NOTHING,
    rejection: undefined,
    latest: previous?.latest,
    memory: { found, ambient: [], walks: [], lists: undefined },
  };
}

/** The clusters of a topology that have no result yet. */
interface Waits {
  /** Those whose own resources are pending, and the aggregates that lead to them. */
  readonly pending: ReadonlySet<string>;
  /** Those that hold back the routes. */
  readonly holding: ReadonlySet<string>;
}

/** What the results of clusters follow from besides their reports. */
interface ResultInputs {
  readonly lists: LeafLists;
  readonly pending: ReadonlySet<string>;
  /** The clusters to which only the config in use refers. */
  readonly kept: ReadonlySet<string>;
}

/** One call of {@link buildXdsConfig}. */
class ConfigBuild {
  private readonly inUse: XdsConfig | undefined;
  private readonly ambient: readonly WatchError[];
  private readonly walks: Walk[] = [];
  /** The clusters whose reports changed. */
  private readonly changed = new Map<string, ClusterNode>();
  private readonly results = new Map<string, ClusterResult>();
  private readonly pending = new Map<string, PendingCluster>();

  constructor(
    private readonly inputs: XdsConfigInputs,
    private readonly built: BuiltRoutes,
    private readonly chosen: ChosenRoutes,
    private readonly previous: BuiltXdsConfig | undefined,
  ) {
    this.inUse = configInUse(previous);
    this.ambient = shareList(previous?.memory.ambient, chosen.routes.ambient);
  }

  finish(): BuiltXdsConfig {
    const { inUse, inputs, ambient, walks, pending } = this;
    const { routes, rejection } = this.chosen;
    const { routes: latestRoutes, routeConfigName, found } = this.built;
    let walk = this.walk(inputs.subscribed);
    let waits = this.waitsIn(walk);
    const isHeld = inUse !== undefined && waits.holding.size > 0;
    if (isHeld) {
      walk = this.walk([...inputs.subscribed, ...inUse.virtualHost.clusters]);
      waits = this.waitsIn(walk);
    }
    const awaited = latestRoutes === undefined ? routeConfigName : undefined;
    const kept =
      isHeld || awaited !== undefined ? this.keptBeside(walk.topology, awaited) : NO_NAMES;
    const lists = this.listsOf(walk.topology, waits.pending);
    const extra = this.addResults(walk, { lists, kept, pending: waits.pending });
    const holding = inUse === undefined && inputs.acceptPart ? NO_NAMES : waits.holding;
    const config = holding.size === 0 ? this.share(routes.config) : inUse && this.share(inUse);
    return {
      config: config && ok(config),
      needed: this.neededOf(walk.topology, extra),
      pending: { routes: this.pendingRoutes(awaited, holding), clusters: pending },
      rejection,
      latest: config ?? this.previous?.latest,
      memory: { found, ambient, walks, lists },
    };
  }

  /** Walks through the clusters, unless that would lead to the same ones as in the last call. */
  private walk(subscribed: readonly string[]): Walk {
    const roots = { fromRoutes: this.chosen.routes.config.virtualHost.clusters, subscribed };
    const walk = this.walkAgain(roots) ?? this.walkAnew(roots);
    this.walks.push(walk);
    return walk;
  }

  private walkAgain(roots: TopologyRoots): Walk | undefined {
    for (const { topology, nodes: before } of this.previous?.memory.walks ?? []) {
      if (!topology.startsAt(roots)) continue;
      const nodes = before.map((node) => this.nextNode(node.name, node));
      if (nodes.every(({ source }, i) => source === before[i]?.source)) return { topology, nodes };
    }
    return undefined;
  }

  private walkAnew(roots: TopologyRoots): Walk {
    const known = new Map<string, ClusterNode>();
    for (const { nodes } of this.previous?.memory.walks ?? []) {
      for (const node of nodes) known.set(node.name, node);
    }
    const nodes: ClusterNode[] = [];
    const sourceOf = (name: string) => {
      const node = this.nextNode(name, known.get(name));
      nodes.push(node);
      return node.source;
    };
    const topology = new ClusterTopology(roots, this.inputs.maxClusters, sourceOf);
    return { topology, nodes };
  }

  /** Returns a cluster as it is now: the same object if its reports are the same. */
  private nextNode(name: string, before: ClusterNode | undefined): ClusterNode {
    const { ambient } = this;
    const { observed } = this.inputs;
    const cluster = observed.cluster(name);
    const isSame = cluster === before?.cluster && before !== undefined;
    const source = isSame ? before.source : shareSource(before?.source, clusterSource(cluster));
    let endpoints: ClusterNode['endpoints'];
    if (source.kind === 'eds') endpoints = observed.endpoints(source.name);
    else if (source.kind === 'dns') endpoints = observed.dns(source.key);
    if (isSame && endpoints === before.endpoints && ambient === before.ambient) return before;
    const known = this.changed.get(name);
    if (known !== undefined) return known;
    const isLeaf = source.kind !== 'aggregate';
    const result = isLeaf ? buildLeaf(cluster, endpoints, this.clusterInputs(name)) : undefined;
    const node = { name, cluster, source, endpoints, ambient, result };
    this.changed.set(name, node);
    return node;
  }

  private clusterInputs(name: string): ClusterInputs {
    const previous = this.previous?.latest?.clusters.get(name);
    return { ambient: this.ambient, clientNote: this.inputs.clientNote, previous };
  }

  private waitsIn({ topology, nodes }: Walk): Waits {
    const leaves: string[] = [];
    for (const { name, source, result } of nodes) {
      if (result === undefined && source.kind !== 'aggregate') leaves.push(name);
    }
    const pending = topology.withAggregates(leaves);
    const { inUse } = this;
    const holding = new Set<string>();
    for (const name of this.chosen.routes.config.virtualHost.clusters) {
      const isInUse = inUse?.virtualHost.clusters.has(name) === true || inUse?.clusters.has(name);
      if (pending.has(name) && isInUse !== true) holding.add(name);
    }
    return { pending, holding };
  }

  /**
   * Returns the clusters to which the latest routes do not refer. While the routes are pending, nothing is known of those to which
   * they will.
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

  private listsOf(topology: ClusterTopology, pending: ReadonlySet<string>): LeafLists {
    const known = this.previous?.memory.lists;
    const ready = topology.aggregates.filter((name) => !pending.has(name));
    const isCurrent = known?.topology === topology && shareList(known.ready, ready) === known.ready;
    return isCurrent ? known : new LeafLists(topology, ready);
  }

  /**
   * Adds the results of all clusters, and of those that an aggregate keeps while its next version is pending, or although it
   * exceeds a limit. The latter are part of the config in use, and do not count against the limit: what is watched would depend on
   * what is kept, and the reverse.
   * @returns the latter that are not part of the topology, with their sources.
   */
  private addResults(
    { topology, nodes }: Walk,
    { lists, pending, kept }: ResultInputs,
  ): ReadonlyMap<string, ClusterSource> {
    const extra = new Map<string, ClusterSource>();
    const { sources } = topology;
    for (const node of nodes) {
      const { name } = node;
      const isLeaf = node.source.kind !== 'aggregate';
      const isKept = kept.has(name);
      const isPending = pending.has(name);
      const built = isLeaf || isPending ? node.result : this.buildAggregate(node, lists);
      const result = this.add(node, built, isKept);
      if (!isPending && !isKept && (isLeaf || lists.of(name).ok)) continue;
      for (const leaf of leavesIn(result)) {
        if (!sources.has(leaf)) extra.set(leaf, clusterSource(this.inputs.observed.cluster(leaf)));
      }
    }
    for (const name of extra.keys()) {
      const node = this.nextNode(name, undefined);
      const isLeaf = node.source.kind !== 'aggregate';
      this.add(node, isLeaf ? node.result : this.inUse?.clusters.get(name), true);
    }
    return extra;
  }

  private buildAggregate(
    { name, cluster }: ClusterNode,
    lists: LeafLists,
  ): ClusterResult | undefined {
    if (cluster?.kind !== 'value') return undefined;
    return buildAggregate(cluster.value, lists.of(name), this.clusterInputs(name));
  }

  /**
   * Adds the result of a cluster: the one in use while the next one is pending.
   * @param isKept Whether only the config in use refers to the cluster. What replaces the config may have removed it, and must
   * not fail the calls that still use it.
   */
  private add(
    { name, source }: ClusterNode,
    built: ClusterResult | undefined,
    isKept: boolean,
  ): ClusterResult | undefined {
    if (built !== undefined && !isKept) {
      this.results.set(name, built);
      return built;
    }
    const inUse = this.inUse?.clusters.get(name);
    if (built === undefined) {
      const sinceMs = this.previous?.pending.clusters.get(name)?.sinceMs ?? this.inputs.nowMs;
      this.pending.set(name, { source, sinceMs, hasEarlier: inUse !== undefined });
    }
    const result = built === undefined || (isUsable(inUse) && !isUsable(built)) ? inUse : built;
    if (result !== undefined) this.results.set(name, result);
    return result;
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

  private neededOf(
    topology: ClusterTopology,
    extra: ReadonlyMap<string, ClusterSource>,
  ): NeededWatches {
    const { needed: before, memory } = this.previous ?? {};
    const routeConfigs = shareSet(before?.routeConfigs, namesOf(this.built.routeConfigName));
    const isSame =
      memory?.walks.at(-1)?.topology === topology &&
      before?.routeConfigs === routeConfigs &&
      before.clusters.size === topology.sources.size;
    if (isSame && extra.size === 0) return before;
    const clusters = new Set<string>();
    const endpoints = new Set<string>();
    const dns = new Map<string, DnsTarget>();
    for (const [name, source] of [...topology.sources, ...extra]) {
      clusters.add(name);
      if (source.kind === 'eds') endpoints.add(source.name);
      else if (source.kind === 'dns') dns.set(source.key, source.target);
    }
    return shareFields(before, {
      routeConfigs,
      clusters: shareSet(before?.clusters, clusters),
      endpoints: shareSet(before?.endpoints, endpoints),
      dns: shareTargets(before?.dns, dns),
    });
  }

  /** Returns the config with these routes: the latest one itself if nothing changed. */
  private share({ listener, routeConfig, virtualHost }: RoutesInUse['config']): XdsConfig {
    const latest = this.previous?.latest;
    const clusters = shareMap(latest?.clusters, this.results);
    return shareFields(latest, { listener, routeConfig, virtualHost, clusters });
  }
}

function configInUse(previous: BuiltXdsConfig | undefined): XdsConfig | undefined {
  return previous?.config?.ok === true ? previous.config.value : undefined;
}

function namesOf(name: string | undefined): ReadonlySet<string> {
  return name === undefined ? NO_NAMES : new Set([name]);
}

/** Returns the previous targets if they have the same keys, which say everything about them. */
function shareTargets(
  previous: NeededWatches['dns'] | undefined,
  next: NeededWatches['dns'],
): NeededWatches['dns'] {
  const isSame = previous?.size === next.size && [...next.keys()].every((key) => previous.has(key));
  return isSame ? previous : next;
}

/** Whether calls can be sent to an endpoint of a cluster, or of those below it. */
function isUsable(result: ClusterResult | undefined): boolean {
  if (result?.ok !== true) return false;
  const { children } = result.value;
  return children.kind === 'aggregate' || (children.endpoints?.priorities.length ?? 0) > 0;
}

/** Returns the leaf clusters of the result of an aggregate; of any other, none. */
function leavesIn(result: ClusterResult | undefined): readonly string[] {
  const children = result?.ok === true ? result.value.children : undefined;
  return children?.kind === 'aggregate' ? children.leafClusters : [];
}
