import type {
  ClusterStats,
  UpstreamLocalityStats,
} from '../../wire/generated/envoy/config/endpoint/v3/load_report';
import type { LoadStatsRequest } from '../../wire/generated/envoy/service/load_stats/v3/lrs';
import type { ClientStream } from '../client-state';
import { MAX_LOAD_ENTRIES, MAX_LOAD_ENTRIES_OF_CLUSTER } from '../../util/limits';

/** The loads in one LRS request (gRFC A27), counted since the previous request. */
export interface LoadReport {
  readonly clusters: readonly ClusterLoad[];
}

/** The load of one cluster. */
export interface ClusterLoad {
  readonly cluster: string;
  /** EDS service name; empty if it is the name of the cluster. */
  readonly serviceName: string;
  /** The interval the counters cover, in milliseconds; 0 if absent. */
  readonly intervalMs: number;
  readonly localities: readonly LocalityLoad[];
  /** Dropped calls, with or without a category. */
  readonly totalDropped: number;
  /** Dropped calls, by category. */
  readonly droppedByCategory: ReadonlyMap<string, number>;
}

/** The load of one locality of a cluster. */
export interface LocalityLoad {
  readonly region: string;
  readonly zone: string;
  readonly subZone: string;
  readonly priority: number;
  readonly issued: number;
  readonly succeeded: number;
  readonly failed: number;
  /** Calls in progress at the time of the report. */
  readonly inProgress: number;
  /**
   * The metrics backends reported, by name. CPU, memory and application utilization are named `cpu_utilization`,
   * `mem_utilization` and `application_utilization` (gRFC A85).
   */
  readonly metrics: ReadonlyMap<string, MetricSum>;
}

/** The sum of one metric of the backends. */
export interface MetricSum {
  /** The number of calls that reported it. */
  readonly calls: number;
  readonly total: number;
}

/** Converts the loads of a request. */
export function readLoadReport({ clusterStats }: LoadStatsRequest): LoadReport {
  return { clusters: clusterStats.map(readCluster) };
}

function readCluster(stats: ClusterStats): ClusterLoad {
  const { seconds, nanos } = stats.loadReportInterval ?? { seconds: 0n, nanos: 0 };
  const dropped = new Map<string, number>();
  for (const { category, droppedCount } of stats.droppedRequests) {
    dropped.set(category, (dropped.get(category) ?? 0) + Number(droppedCount));
  }
  return {
    cluster: stats.clusterName,
    serviceName: stats.clusterServiceName,
    intervalMs: Number(seconds) * 1000 + nanos / 1e6,
    localities: stats.upstreamLocalityStats.map(readLocality),
    totalDropped: Number(stats.totalDroppedRequests),
    droppedByCategory: dropped,
  };
}

function readLocality(stats: UpstreamLocalityStats): LocalityLoad {
  const metrics = new Map<string, MetricSum>();
  const known = [
    ['cpu_utilization', stats.cpuUtilization],
    ['mem_utilization', stats.memUtilization],
    ['application_utilization', stats.applicationUtilization],
  ] as const;
  for (const [name, metric] of known) {
    if (metric !== undefined) metrics.set(name, readMetric(metric));
  }
  for (const metric of stats.loadMetricStats) metrics.set(metric.metricName, readMetric(metric));
  const { region = '', zone = '', subZone = '' } = stats.locality ?? {};
  return {
    region,
    zone,
    subZone,
    priority: stats.priority,
    issued: Number(stats.totalIssuedRequests),
    succeeded: Number(stats.totalSuccessfulRequests),
    failed: Number(stats.totalErrorRequests),
    inProgress: Number(stats.totalRequestsInProgress),
    metrics,
  };
}

function readMetric(metric: {
  readonly numRequestsFinishedWithMetric: bigint;
  readonly totalMetricValue: number;
}): MetricSum {
  return { calls: Number(metric.numRequestsFinishedWithMetric), total: metric.totalMetricValue };
}

/** The totals of all reported loads, by node. Calls in progress are those of the last report of each open stream. */
export class LoadTotals {
  private readonly byNode = new Map<string, LoadSum>();
  private room = new EntryRoom();
  private isFull = false;
  private readonly lastReports = new Map<number, LastReport>();

  /** @param onFull Called when loads are left out for the first time, and again after the totals were cleared. */
  constructor(private readonly onFull: () => void) {}

  /** Adds a report. Clusters for which there is no room are left out. */
  add({ nodeId, streamId }: ClientStream, report: LoadReport): void {
    let sum = this.byNode.get(nodeId);
    if (sum === undefined) {
      sum = new LoadSum(this.room);
      this.byNode.set(nodeId, sum);
    }
    let hadRoom = true;
    for (const load of report.clusters) {
      if (!sum.add(mapLocalities(load, withoutInProgress))) hadRoom = false;
    }
    if (sum.isEmpty) this.byNode.delete(nodeId);
    this.lastReports.set(streamId, { nodeId, report });
    if (hadRoom || this.isFull) return;
    this.isFull = true;
    this.onFull();
  }

  /** Removes the calls in progress of a stream that has ended. */
  removeStream(streamId: number): void {
    this.lastReports.delete(streamId);
  }

  clear(): void {
    this.byNode.clear();
    this.lastReports.clear();
    this.room = new EntryRoom();
    this.isFull = false;
  }

  /** Returns the totals of one node, or of all nodes. */
  list(nodeId?: string): readonly ClusterLoad[] {
    const sum = new LoadSum();
    for (const [node, sums] of this.byNode) {
      if (nodeId !== undefined && nodeId !== node) continue;
      for (const load of sums.list()) sum.add(load);
    }
    for (const last of this.lastReports.values()) {
      if (nodeId !== undefined && nodeId !== last.nodeId) continue;
      for (const load of last.report.clusters) sum.add(onlyInProgress(load));
    }
    return sum.list();
  }
}

interface LastReport {
  readonly nodeId: string;
  readonly report: LoadReport;
}

function mapLocalities(
  load: ClusterLoad,
  change: (locality: LocalityLoad) => LocalityLoad,
): ClusterLoad {
  return { ...load, localities: load.localities.map(change) };
}

function withoutInProgress(locality: LocalityLoad): LocalityLoad {
  return { ...locality, inProgress: 0 };
}

/** Returns the calls in progress, without the counters, which are in the totals. */
function onlyInProgress(load: ClusterLoad): ClusterLoad {
  return {
    ...mapLocalities(load, (locality) => ({
      ...locality,
      issued: 0,
      succeeded: 0,
      failed: 0,
      metrics: new Map(),
    })),
    intervalMs: 0,
    totalDropped: 0,
    droppedByCategory: new Map(),
  };
}

/** How many more clusters, localities, metrics and drop categories the totals may have. */
class EntryRoom {
  private left = MAX_LOAD_ENTRIES;

  /** Takes room for a number of entries. @returns Whether there was enough. */
  take(entries: number): boolean {
    if (entries > this.left) return false;
    this.left -= entries;
    return true;
  }
}

/** A sum, and the number of its entries. */
interface CountedLoad {
  readonly load: ClusterLoad;
  readonly entries: number;
}

class LoadSum {
  private readonly clusters = new Map<string, CountedLoad>();

  /** @param room Default: for the totals of several sums. */
  constructor(private readonly room = new EntryRoom()) {}

  get isEmpty(): boolean {
    return this.clusters.size === 0;
  }

  /** @returns Whether there was room for the load. */
  add(load: ClusterLoad): boolean {
    const key = JSON.stringify([load.cluster, load.serviceName]);
    const before = this.clusters.get(key);
    const sum = before === undefined ? load : addClusters(before.load, load);
    const entries = countEntries(sum);
    if (entries > MAX_LOAD_ENTRIES_OF_CLUSTER) return false;
    if (!this.room.take(entries - (before?.entries ?? 0))) return false;
    this.clusters.set(key, { load: sum, entries });
    return true;
  }

  /** Returns the sums, in the order in which the clusters were first added. */
  list(): readonly ClusterLoad[] {
    return Array.from(this.clusters.values(), ({ load }) => load);
  }
}

function countEntries({ localities, droppedByCategory }: ClusterLoad): number {
  let entries = 1 + droppedByCategory.size + localities.length;
  for (const { metrics } of localities) entries += metrics.size;
  return entries;
}

function addClusters(a: ClusterLoad, b: ClusterLoad): ClusterLoad {
  const localities = new Map(a.localities.map((locality) => [keyOf(locality), locality]));
  for (const locality of b.localities) {
    const sum = localities.get(keyOf(locality));
    localities.set(keyOf(locality), sum === undefined ? locality : addLocalities(sum, locality));
  }
  return {
    cluster: a.cluster,
    serviceName: a.serviceName,
    intervalMs: a.intervalMs + b.intervalMs,
    localities: [...localities.values()],
    totalDropped: a.totalDropped + b.totalDropped,
    droppedByCategory: addMaps(a.droppedByCategory, b.droppedByCategory, (x, y) => x + y),
  };
}

function addLocalities(a: LocalityLoad, b: LocalityLoad): LocalityLoad {
  return {
    ...a,
    issued: a.issued + b.issued,
    succeeded: a.succeeded + b.succeeded,
    failed: a.failed + b.failed,
    inProgress: a.inProgress + b.inProgress,
    metrics: addMaps(a.metrics, b.metrics, addMetrics),
  };
}

function addMetrics(a: MetricSum, b: MetricSum): MetricSum {
  return { calls: a.calls + b.calls, total: a.total + b.total };
}

function addMaps<T>(
  a: ReadonlyMap<string, T>,
  b: ReadonlyMap<string, T>,
  add: (x: T, y: T) => T,
): ReadonlyMap<string, T> {
  const sum = new Map(a);
  for (const [key, value] of b) {
    const before = sum.get(key);
    sum.set(key, before === undefined ? value : add(before, value));
  }
  return sum;
}

function keyOf({ region, zone, subZone, priority }: LocalityLoad): string {
  return JSON.stringify([region, zone, subZone, priority]);
}
