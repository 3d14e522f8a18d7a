import type { LoadReporter } from '../../xds-client/lrs/load-reporter';
import type { ClusterResource, OutlierDetectionConfig } from '../../resources/cluster/cluster';
import type { EndpointsResource, PriorityEndpoints } from '../../resources/endpoints/endpoints';
import type { LbConfig } from '../../resources/extension-points';
import { shareFields, shareList, shareSet } from '../../util/share';
import type { LoadReporting } from '../cluster-impl/cluster-loads';
import { ClusterImplConfig, type ClusterImplOptions } from '../cluster-impl/config';
import { type EndpointSet, shareEndpointSet } from '../endpoints/endpoint-set';
import type { LbPolicyLookup } from '../lb-policy';
import {
  NO_DETECTION,
  OUTLIER_DETECTION,
  OutlierDetectionLbConfig,
  shareDetection,
} from '../outlier-detection/config';
import {
  OVERRIDE_HOST,
  OverrideHostConfig,
  type OverrideHostOptions,
} from '../override-host/config';
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

/** Returns the options for the policies that are registered. One that a feature flag disables is not. */
export function planOptions(
  policies: LbPolicyLookup,
  loads: LoadReporter | undefined,
): PlanOptions {
  return {
    hasSessions: policies.get(OVERRIDE_HOST) !== undefined,
    hasOutlierDetection: policies.get(OUTLIER_DETECTION) !== undefined,
    loads,
  };
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
    endpoints: shareEndpointSet(previous?.endpoints, {
      localities: [],
      children: new Map(priorities.map((priority) => [priority.name, priority.endpoints])),
    }),
    priorities,
    priorityConfig,
  };
}

function planClusterImpl(
  {
    resource,
    drops,
    childPolicy,
    loads,
  }: Pick<ClusterImplOptions, 'drops' | 'childPolicy'> & {
    readonly resource: ClusterResource;
    readonly loads: LoadReporter | undefined;
  },
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

function planPriorities(
  priorities: readonly PriorityEndpoints[],
  previous: readonly PlannedPriority[],
): readonly PlannedPriority[] {
  const names = nextPriorityNames(previous, priorities);
  const unchanged = new Map(previous.map((planned) => [planned.priority, planned]));
  return priorities.map((priority, i) => {
    const known = unchanged.get(priority);
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
    cluster: resource.name,
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
