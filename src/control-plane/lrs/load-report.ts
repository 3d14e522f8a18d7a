import type {
  ClusterStats,
  UpstreamLocalityStats,
} from '../../generated/envoy/config/endpoint/v3/load_report';
import type { LoadStatsRequest } from '../../generated/envoy/service/load_stats/v3/lrs';

/** The loads in one LRS request (gRFC A27), counted since the one before. */
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
