import type { ClusterConfig, ClusterStore } from '../../dependency-manager/xds-config';
import type { LoadReporter } from '../../xds-client/lrs/load-reporter';
import type { ClusterResource, OutlierDetectionConfig } from '../../resources/cluster/cluster';
import {
  type DropCategory,
  type EndpointsResource,
  type PriorityEndpoints,
  localityKey,
} from '../../resources/endpoints/endpoints';
import type { LbConfig } from '../../resources/extension-points';
import { shareFields, shareList, shareSet } from '../../util/share';
import { quoteName } from '../../util/text';
import type { LoadReporting } from '../cluster-impl/cluster-loads';
import { ClusterImplConfig, type ClusterImplOptions } from '../cluster-impl/config';
import type { WatchError } from '../../xds-client/resource-watcher';
import type { EndpointSet } from '../endpoints/endpoint-set';
import {
  NO_DETECTION,
  OutlierDetectionLbConfig,
  shareDetection,
} from '../outlier-detection/config';
import { OverrideHostConfig, type OverrideHostOptions } from '../override-host/config';
import { PriorityConfig, type PriorityChildConfig } from '../priority/config';
import { CdsConfig } from './config';

/** A cluster with endpoints that can be used. */
export interface UsableLeaf {
  /** At least one priority. */
  readonly endpoints: EndpointsResource;
}

export interface AggregatePlan {
  readonly leafClusters: readonly string[];
}

/** Why calls to a cluster fail. */
export interface ClusterFailure {
  readonly reason: Pick<WatchError, 'message' | 'sinceMs'>;
  /** The resolution note. Default: none. */
  readonly note?: string;
}

/** What to do with a cluster. */
export type ClusterPlan =
  /** It is not in the config any more, or not yet, and what is in use stays. */
  | { readonly kind: 'keep' }
  /** Calls wait until it is in the config. */
  | { readonly kind: 'wait' }
  | ({ readonly kind: 'fail' } & ClusterFailure)
  | ({ readonly kind: 'leaf'; readonly cluster: ClusterConfig } & UsableLeaf)
  | ({ readonly kind: 'aggregate'; readonly cluster: ClusterConfig } & AggregatePlan);

/**
 * Plans what to do with a cluster as it is in the config now.
 *
 * @param used The name of the cluster in use; `undefined` if none is.
 */
export function planCluster(
  config: CdsConfig,
  clusters: ClusterStore,
  used: string | undefined,
): ClusterPlan {
  const { cluster: name } = config;
  const result = clusters.cluster(name);
  if (result === undefined) return planMissing(config, clusters, used);
  if (!result.ok) return { kind: 'fail', reason: result.error };
  const { value: cluster } = result;
  const { children, resource } = cluster;
  if (children.kind === 'aggregate') {
    const { leafClusters } = children;
    if (leafClusters.length > 0) return { kind: 'aggregate', cluster, leafClusters };
    const message = `Aggregate cluster ${quoteName(name)} has no clusters to use: add one that exists`;
    return { kind: 'fail', reason: { message } };
  }
  const { endpoints, resolutionNote } = children;
  if (endpoints !== undefined && endpoints.priorities.length > 0)
    return { kind: 'leaf', cluster, endpoints };
  // The note has the cause: an assignment or DNS answer that is empty, or is not known.
  const message = `Cluster ${quoteName(resource.name)} has no endpoints`;
  return { kind: 'fail', reason: { message }, note: resolutionNote };
}

function planMissing(
  { cluster: name, isDynamic }: CdsConfig,
  clusters: ClusterStore,
  used: string | undefined,
): ClusterPlan {
  // A dynamic cluster is in the config only some time after it was subscribed to, and a pending one arrives after the others.
  const isLate = isDynamic || clusters.describeWait(name) !== undefined;
  if (used === name || (isDynamic && used !== undefined)) return { kind: 'keep' };
  if (isLate && used === undefined) return { kind: 'wait' };
  const message = `Cluster ${quoteName(name)} is not part of the xDS config`;
  return { kind: 'fail', reason: { message } };
}

/** The configs of the policies of a leaf cluster. */
interface LeafConfigs {
  /** The config of outlier_detection, or of cluster_impl where outlier_detection is not supported. */
  readonly config: LbConfig;
  readonly clusterImplConfig: ClusterImplConfig;
  /** `undefined` where sessions are not supported. */
  readonly overrideHostConfig: OverrideHostConfig | undefined;
  readonly priorityConfig: PriorityConfig;
}

/** What the configs follow from. */
interface ConfigSource {
  readonly resource: ClusterResource;
  readonly drops: readonly DropCategory[];
  /** Receives load reports; `undefined` if load is not reported. */
  readonly loads: LoadReporter | undefined;
  /** The names of the priorities. */
  readonly names: readonly string[];
}

/** The configs and endpoints for the child of a leaf cluster. */
export interface LeafPlan extends LeafConfigs {
  readonly source: ConfigSource;
  /** Split by priority. */
  readonly endpoints: EndpointSet;
  /** The plan of each priority, which the next plan reuses. */
  readonly priorities: readonly PlannedPriority[];
}

/** Which policies there are: the same for all plans of a cluster. */
export interface PlanOptions {
  /** Whether calls may belong to sessions, so that override_host is needed (gRFC A55). */
  readonly hasSessions: boolean;
  /** Whether outlier_detection is supported. */
  readonly hasOutlierDetection: boolean;
}

/**
 * Plans for a cluster with endpoints: outlier_detection, cluster_impl, override_host if there are
 * sessions, below it priority, below that the cluster's own policy for each priority (gRFC A75). Whatever did not
 * change since `previous` is the same object; if only endpoints changed, that includes all configs.
 */
export function planLeaf(
  resource: ClusterResource,
  endpoints: EndpointsResource,
  previous: LeafPlan | undefined,
  options: PlanOptions = { hasSessions: false, hasOutlierDetection: false },
  loads?: LoadReporter,
): LeafPlan {
  const { drops } = endpoints;
  const priorities = planPriorities(endpoints.priorities, previous?.priorities ?? []);
  const names = shareList(
    previous?.source.names,
    priorities.map(({ name }) => name),
  );
  const source = shareFields(previous?.source, { resource, drops, loads, names });
  const configs = source === previous?.source ? previous : planConfigs(source, previous, options);
  if (priorities === previous?.priorities) return { ...previous, ...configs, source };
  const children = new Map<string, EndpointSet>();
  for (const { name, endpoints: set } of priorities) children.set(name, set);
  return { ...configs, source, endpoints: { localities: [], children }, priorities };
}

function planConfigs(
  source: ConfigSource,
  previous: LeafConfigs | undefined,
  { hasSessions, hasOutlierDetection }: PlanOptions,
): LeafConfigs {
  const { resource } = source;
  const priorityConfig = planPriorityConfig(source, previous?.priorityConfig);
  const overrideHostConfig = hasSessions
    ? planOverrideHost(resource, priorityConfig, previous?.overrideHostConfig)
    : undefined;
  const childPolicy = overrideHostConfig ?? priorityConfig;
  const clusterImplConfig = planClusterImpl(source, childPolicy, previous?.clusterImplConfig);
  const detection = resource.outlierDetection ?? NO_DETECTION;
  const config = hasOutlierDetection
    ? planOutlierDetection(detection, clusterImplConfig, previous?.config)
    : clusterImplConfig;
  return { config, clusterImplConfig, overrideHostConfig, priorityConfig };
}

function planClusterImpl(
  { resource, drops, loads }: ConfigSource,
  childPolicy: LbConfig,
  previous: ClusterImplConfig | undefined,
): ClusterImplConfig {
  const before = previous?.options;
  const options = shareFields<ClusterImplOptions>(before, {
    cluster: resource.name,
    edsServiceName: resource.discovery.kind === 'eds' ? resource.discovery.serviceName : '',
    maxRequests: resource.maxRequests,
    loadReporting: planLoadReporting(resource, loads, before?.loadReporting),
    drops: shareList(
      before?.drops,
      drops.map((drop, i) => shareFields(before?.drops[i], drop)),
    ),
    childPolicy,
  });
  return previous?.options === options ? previous : new ClusterImplConfig(options);
}

/**
 * Plans for an aggregate cluster: one cds per leaf cluster, by priority (gRFC A75). Each leaf decides itself whether
 * requests for re-resolution are ignored.
 */
export function planAggregate(
  leafClusters: readonly string[],
  previous: PriorityConfig | undefined,
): PriorityConfig {
  const children = new Map<string, PriorityChildConfig>();
  for (const leaf of leafClusters) {
    const known = previous?.priorities.get(leaf);
    const config = new CdsConfig(leaf, false);
    children.set(leaf, known ?? { config, ignoreReresolutionRequests: false });
  }
  return reuse(previous, children);
}

/**
 * The policy is there also for a cluster that detects nothing, with a no-op config (gRFC A50): to add it later would
 * rebuild the policies below, with the loss of weights, sessions and rings.
 */
function planOutlierDetection(
  detection: OutlierDetectionConfig,
  child: ClusterImplConfig,
  previous: LbConfig | undefined,
): OutlierDetectionLbConfig {
  const known = previous instanceof OutlierDetectionLbConfig ? previous : undefined;
  const shared = shareDetection(known?.detection, detection);
  const isSame = known?.childPolicy === child && known.detection === shared;
  return isSame ? known : new OutlierDetectionLbConfig(shared, child);
}

/** Returns the load reporting of a cluster: to the server that sent it, if the cluster requests it (gRFC A27). */
function planLoadReporting(
  { lrsServer, lrsReportEndpointMetrics }: ClusterResource,
  reporter: LoadReporter | undefined,
  previous: LoadReporting | undefined,
): LoadReporting | undefined {
  if (lrsServer === undefined || reporter === undefined) return undefined;
  // A server that is configured in the same way is the same one.
  const server = previous?.server.key === lrsServer.key ? previous.server : lrsServer;
  const metrics = shareList(previous?.metrics, lrsReportEndpointMetrics);
  return shareFields(previous, { reporter, server, metrics });
}

function planPriorityConfig(
  { resource, names }: ConfigSource,
  previous: PriorityConfig | undefined,
): PriorityConfig {
  const planned: PriorityChildConfig = {
    config: resource.lbConfig,
    // EDS has no such thing; only what DNS resolved can be resolved again.
    ignoreReresolutionRequests: resource.discovery.kind !== 'logical-dns',
  };
  const children = new Map<string, PriorityChildConfig>();
  for (const name of names) {
    children.set(name, shareFields(previous?.priorities.get(name), planned));
  }
  return reuse(previous, children);
}

function planOverrideHost(
  resource: ClusterResource,
  childPolicy: PriorityConfig,
  previous: OverrideHostConfig | undefined,
): OverrideHostConfig {
  const options = shareFields<OverrideHostOptions>(previous?.options, {
    statuses: shareSet(previous?.options.statuses, resource.overrideHostStatuses),
    idleTimeoutMs: resource.connectionIdleTimeoutMs,
    childPolicy,
  });
  return previous?.options === options ? previous : new OverrideHostConfig(options);
}

/** Returns the previous config, if it lists the same children in the same order. */
function reuse(
  previous: PriorityConfig | undefined,
  children: ReadonlyMap<string, PriorityChildConfig>,
): PriorityConfig {
  const before = previous && [...previous.priorities].flat();
  const isSame = previous !== undefined && shareList(before, [...children].flat()) === before;
  return isSame ? previous : new PriorityConfig(children);
}

/** A priority, the name of the child that serves it, and its endpoints. */
export interface PlannedPriority {
  readonly name: string;
  readonly priority: PriorityEndpoints;
  readonly endpoints: EndpointSet;
}

/** Previous priorities whose names other ones may get, by locality: one may be listed under several. */
type FreePriorities = Map<string, Set<PlannedPriority>>;

/**
 * How many previous priorities with a locality, of those without a successor, a changed one is compared with: a locality may be in every
 * priority.
 */
const MAX_CANDIDATES = 16;

/**
 * Names the priorities so that existing children and their connections stay in use (gRFC A37): an unchanged priority
 * keeps its name; a changed one gets the name of the previous priority with which it shares the most localities.
 *
 * @returns A different name for each priority; new names were not in use before. The list of before if nothing changed.
 */
export function planPriorities(
  priorities: readonly PriorityEndpoints[],
  previous: readonly PlannedPriority[],
): readonly PlannedPriority[] {
  const listed = new Set(priorities);
  const kept = new Map<PriorityEndpoints, PlannedPriority>();
  const free: FreePriorities = new Map();
  // The names of removed priorities count as used, since their children may be kept.
  const used = new Set<string>();
  for (const known of previous) {
    used.add(known.name);
    if (listed.has(known.priority)) kept.set(known.priority, known);
    else addFree(known, free);
  }
  let number = 0;
  const planned: PlannedPriority[] = [];
  for (const priority of priorities) {
    const known = kept.get(priority) ?? takeBest(priority, free);
    while (known === undefined && used.has(`child${number}`)) number++;
    const name = known?.name ?? `child${number++}`;
    planned.push(planPriority(name, priority, known));
  }
  return shareList(previous, planned);
}

function planPriority(
  name: string,
  priority: PriorityEndpoints,
  known: PlannedPriority | undefined,
): PlannedPriority {
  if (known?.priority === priority) return known;
  const before = known?.endpoints.localities;
  const localities = shareList(before, priority.localities);
  const isSame = known !== undefined && localities === before;
  return {
    name,
    priority,
    endpoints: isSame ? known.endpoints : { localities, children: undefined },
  };
}

function addFree(known: PlannedPriority, free: FreePriorities): void {
  for (const { locality } of known.priority.localities) {
    const key = localityKey(locality);
    const others = free.get(key);
    if (others === undefined) free.set(key, new Set([known]));
    else others.add(known);
  }
}

/** Returns the priority that shares the most localities, once; `undefined` if none shares any. */
function takeBest(
  { localities }: PriorityEndpoints,
  free: FreePriorities,
): PlannedPriority | undefined {
  const shared = new Map<PlannedPriority, number>();
  let best: PlannedPriority | undefined;
  for (const { locality } of localities) {
    let candidates = 0;
    for (const known of free.get(localityKey(locality)) ?? []) {
      if (++candidates > MAX_CANDIDATES) break;
      const count = (shared.get(known) ?? 0) + 1;
      shared.set(known, count);
      if (best === undefined || count > (shared.get(best) ?? 0)) best = known;
    }
  }
  for (const { locality } of best?.priority.localities ?? [])
    if (best !== undefined) free.get(localityKey(locality))?.delete(best);
  return best;
}
