import type { LoadReporter } from '../../load-reporting/load-reporter';
import type { ClusterResource, OutlierDetectionConfig } from '../../resources/cluster/cluster';
import type {
  DropCategory,
  EndpointsResource,
  PriorityEndpoints,
} from '../../resources/endpoints/endpoints';
import type { LbConfig } from '../../resources/extension-points';
import { isReportedAlike, type LoadReporting } from '../cluster-impl/cluster-loads';
import { ClusterImplConfig, type ClusterImplOptions } from '../cluster-impl/config';
import type { EndpointSet } from '../endpoints/endpoint-set';
import { NO_DETECTION, OutlierDetectionLbConfig, sameDetection } from '../outlier-detection/config';
import { OverrideHostConfig, type OverrideHostOptions } from '../override-host/config';
import { PriorityConfig, type PriorityChildConfig } from '../priority/config';
import { CdsConfig } from './config';
import { nextPriorityNames, type NamedPriority } from './priority-names';

/** The configs and endpoints for the child of a leaf cluster. */
export interface LeafPlan {
  /** The config of outlier_detection, or of cluster_impl where outlier_detection is not supported. */
  readonly config: LbConfig;
  readonly clusterImplConfig: ClusterImplConfig;
  /** `undefined` where sessions are not supported. */
  readonly overrideHostConfig: OverrideHostConfig | undefined;
  /** Split by priority. */
  readonly endpoints: EndpointSet;
  /** The plan of each priority, which the next plan reuses. */
  readonly priorities: readonly PlannedPriority[];
  readonly priorityConfig: PriorityConfig;
}

/** The options of a plan besides the config of the cluster. */
export interface PlanOptions {
  /** Whether calls may belong to sessions, so that override_host is needed (gRFC A55). */
  readonly hasSessions: boolean;
  /** Whether outlier_detection is supported. */
  readonly hasOutlierDetection: boolean;
  /** Receives load reports; `undefined` if load is not reported. */
  readonly loads?: LoadReporter | undefined;
}

interface PlannedPriority extends NamedPriority {
  readonly endpoints: EndpointSet;
}

/**
 * Plans for a cluster with endpoints: outlier_detection, cluster_impl, override_host if there are
 * sessions, below it priority, below that the cluster's own policy for each priority (gRFC A75). Whatever did not
 * change since `previous` is the same object.
 */
export function planLeaf(
  resource: ClusterResource,
  endpoints: EndpointsResource,
  previous: LeafPlan | undefined,
  { hasSessions, hasOutlierDetection, loads }: PlanOptions = {
    hasSessions: false,
    hasOutlierDetection: false,
  },
): LeafPlan {
  const priorities = planPriorities(endpoints.priorities, previous?.priorities ?? []);
  const priorityConfig = planPriorityConfig(resource, priorities, previous?.priorityConfig);
  const overrideHostConfig = hasSessions
    ? planOverrideHost(resource, priorityConfig, previous?.overrideHostConfig)
    : undefined;
  const childPolicy = overrideHostConfig ?? priorityConfig;
  const clusterImplConfig = planClusterImpl(
    { resource, drops: endpoints.drops, childPolicy, loads },
    previous?.clusterImplConfig,
  );
  const detection = resource.outlierDetection ?? NO_DETECTION;
  return {
    config: hasOutlierDetection
      ? planOutlierDetection(detection, clusterImplConfig, previous?.config)
      : clusterImplConfig,
    clusterImplConfig,
    overrideHostConfig,
    endpoints: {
      localities: [],
      children: new Map(priorities.map((priority) => [priority.name, priority.endpoints])),
    },
    priorities,
    priorityConfig,
  };
}

function planClusterImpl(
  {
    resource,
    loads,
    ...rest
  }: Pick<ClusterImplOptions, 'drops' | 'childPolicy'> & {
    readonly resource: ClusterResource;
    readonly loads: LoadReporter | undefined;
  },
  previous: ClusterImplConfig | undefined,
): ClusterImplConfig {
  const options: ClusterImplOptions = {
    cluster: resource.name,
    edsServiceName: resource.discovery.kind === 'eds' ? resource.discovery.serviceName : '',
    maxRequests: resource.maxRequests,
    loadReporting: planLoadReporting(resource, loads),
    ...rest,
  };
  const isSame = previous !== undefined && sameOptions(previous.options, options);
  return isSame ? previous : new ClusterImplConfig(options);
}

/**
 * Plans for an aggregate cluster: one cds per leaf cluster, by priority (gRFC A75). Each leaf decides itself whether
 * requests for re-resolution are ignored.
 *
 * @param lbConfig The policy of all leaves, instead of their own.
 */
export function planAggregate(
  leafClusters: readonly string[],
  previous: PriorityConfig | undefined,
  lbConfig?: LbConfig,
): PriorityConfig {
  const children = new Map<string, PriorityChildConfig>();
  for (const leaf of leafClusters) {
    const known = previous?.priorities.get(leaf);
    const config = new CdsConfig(leaf, false, lbConfig);
    const isSame = known?.config instanceof CdsConfig && known.config.lbConfig === lbConfig;
    children.set(leaf, isSame ? known : { config, ignoreReresolutionRequests: false });
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
  const same =
    previous instanceof OutlierDetectionLbConfig &&
    previous.childPolicy === child &&
    sameDetection(previous.detection, detection);
  return same ? previous : new OutlierDetectionLbConfig(detection, child);
}

/** Returns the load reporting of a cluster: to the server that sent it, if the cluster requests it (gRFC A27). */
function planLoadReporting(
  { lrsServer, lrsReportEndpointMetrics }: ClusterResource,
  reporter: LoadReporter | undefined,
): LoadReporting | undefined {
  if (lrsServer === undefined || reporter === undefined) return undefined;
  return { reporter, server: lrsServer, metrics: lrsReportEndpointMetrics };
}

function planPriorities(
  priorities: readonly PriorityEndpoints[],
  previous: readonly PlannedPriority[],
): readonly PlannedPriority[] {
  const names = nextPriorityNames(previous, priorities);
  return priorities.map((priority, i) => {
    const known = previous.find((planned) => planned.priority === priority);
    if (known !== undefined) return known;
    const endpoints = { localities: priority.localities, children: undefined };
    return { name: names[i] ?? '', priority, endpoints };
  });
}

function planPriorityConfig(
  resource: ClusterResource,
  priorities: readonly PlannedPriority[],
  previous: PriorityConfig | undefined,
): PriorityConfig {
  const planned: PriorityChildConfig = {
    config: resource.lbConfig,
    // EDS has no such thing; only what DNS resolved can be resolved again.
    ignoreReresolutionRequests: resource.discovery.kind !== 'logical-dns',
  };
  const children = new Map<string, PriorityChildConfig>();
  for (const { name } of priorities) {
    const known = previous?.priorities.get(name);
    children.set(name, known !== undefined && sameChild(known, planned) ? known : planned);
  }
  return reuse(previous, children);
}

function planOverrideHost(
  resource: ClusterResource,
  childPolicy: PriorityConfig,
  previous: OverrideHostConfig | undefined,
): OverrideHostConfig {
  const options: OverrideHostOptions = {
    cluster: resource.name,
    statuses: resource.overrideHostStatuses,
    idleTimeoutMs: resource.connectionIdleTimeoutMs,
    childPolicy,
  };
  const same = previous !== undefined && sameSessions(previous.options, options);
  return same ? previous : new OverrideHostConfig(options);
}

function sameSessions(a: OverrideHostOptions, b: OverrideHostOptions): boolean {
  return (
    a.cluster === b.cluster &&
    a.idleTimeoutMs === b.idleTimeoutMs &&
    a.childPolicy === b.childPolicy &&
    a.statuses.size === b.statuses.size &&
    [...a.statuses].every((status) => b.statuses.has(status))
  );
}

/** Returns the previous config, if it lists the same children in the same order. */
function reuse(
  previous: PriorityConfig | undefined,
  children: ReadonlyMap<string, PriorityChildConfig>,
): PriorityConfig {
  const before = [...(previous?.priorities ?? [])];
  const after = [...children];
  const same =
    previous !== undefined &&
    before.length === after.length &&
    before.every(([name, child], i) => name === after[i]?.[0] && child === after[i][1]);
  return same ? previous : new PriorityConfig(children);
}

function sameChild(a: PriorityChildConfig, b: PriorityChildConfig): boolean {
  return a.config === b.config && a.ignoreReresolutionRequests === b.ignoreReresolutionRequests;
}

function sameOptions(a: ClusterImplOptions, b: ClusterImplOptions): boolean {
  return (
    a.cluster === b.cluster &&
    a.edsServiceName === b.edsServiceName &&
    a.maxRequests === b.maxRequests &&
    a.childPolicy === b.childPolicy &&
    isReportedAlike(a.loadReporting, b.loadReporting) &&
    sameDrops(a.drops, b.drops)
  );
}

function sameDrops(a: readonly DropCategory[], b: readonly DropCategory[]): boolean {
  if (a === b) return true;
  return (
    a.length === b.length &&
    a.every((drop, i) => drop.category === b[i]?.category && drop.perMillion === b[i].perMillion)
  );
}
