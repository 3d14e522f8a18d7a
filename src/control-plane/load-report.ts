import type {
  ClusterStats,
  UpstreamLocalityStats,
} from '../generated/envoy/config/endpoint/v3/load_report';
import type { LoadStatsRequest } from '../generated/envoy/service/load_stats/v3/lrs';

/** The loads in one message of a client (gRFC A27): what happened since the one before. */
export interface LoadReport {
  readonly clusters: readonly ClusterLoad[];
}

/** Calls to one cluster. */
export interface ClusterLoad {
  readonly cluster: string;
  /** EDS name; empty when it is that of the cluster. */
  readonly serviceName: string;
  /** Time the counters cover, in milliseconds; 0 when the client does not say. */
  readonly intervalMs: number;
  readonly localities: readonly LocalityLoad[];
  /** Calls that were dropped, with or without a category. */
  readonly totalDropped: number;
  /** Calls that were dropped, by category. */
  readonly droppedByCategory: ReadonlyMap<string, number>;
}

/** Calls to one locality of a cluster. */
export interface LocalityLoad {
  readonly region: string;
  readonly zone: string;
  readonly subZone: string;
  readonly priority: number;
  readonly issued: number;
  readonly succeeded: number;
  readonly failed: number;
  /** Calls running at the time of the report. */
  readonly inProgress: number;
  /**
   * What backends reported, by name. CPU, memory and application utilization have the names `cpu_utilization`,
   * `mem_utilization` and `application_utilization` (gRFC A85).
   */
  readonly metrics: ReadonlyMap<string, MetricSum>;
}

/** The sum of one metric of the backends. */
export interface MetricSum {
  /** Number of calls that reported it. */
  readonly calls: number;
  readonly total: number;
}

/** Reads the loads of a request. */
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
