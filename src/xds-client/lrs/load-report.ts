import type {
  ClusterStats,
  UpstreamLocalityStats,
} from '../../wire/generated/envoy/config/endpoint/v3/load_report';
import type { ClusterCounts, LocalityCounts } from './cluster-load';
import { MetricSums, type MetricField, type MetricTotals } from './metrics';
import { msToDuration } from '../../util/duration';

/** Encodes the counts of one cluster. */
export function toClusterStats(counts: ClusterCounts): ClusterStats {
  const { id, localities, drops, uncategorizedDrops, sinceMs, untilMs } = counts;
  const dropped = [...drops.values()].reduce((sum, count) => sum + count, uncategorizedDrops);
  return {
    clusterName: id.cluster,
    clusterServiceName: id.edsServiceName,
    upstreamLocalityStats: mergeLocalities(localities).map(toLocalityStats),
    totalDroppedRequests: BigInt(dropped),
    droppedRequests: Array.from(drops, ([category, count]) => ({
      category,
      droppedCount: BigInt(count),
    })),
    loadReportInterval: msToDuration(untilMs - sinceMs),
  };
}

/** Adds up the counts of different users of the cluster: servers expect a locality once. */
function mergeLocalities(localities: readonly LocalityCounts[]): LocalityCounts[] {
  const merged = new Map<string, LocalityCounts>();
  for (const counts of localities) {
    const { region, zone, subZone } = counts.locality;
    const name = JSON.stringify([region, zone, subZone]);
    const known = merged.get(name);
    merged.set(name, known === undefined ? counts : add(known, counts));
  }
  return [...merged.values()];
}

function add(a: LocalityCounts, b: LocalityCounts): LocalityCounts {
  const metrics = new MetricSums();
  metrics.addTotals(a.metrics);
  metrics.addTotals(b.metrics);
  return {
    locality: a.locality,
    issued: a.issued + b.issued,
    succeeded: a.succeeded + b.succeeded,
    failed: a.failed + b.failed,
    inProgress: a.inProgress + b.inProgress,
    metrics: metrics.totals,
  };
}

function toLocalityStats(counts: LocalityCounts): UpstreamLocalityStats {
  const { locality, issued, succeeded, failed, inProgress, metrics } = counts;
  return {
    locality,
    totalSuccessfulRequests: BigInt(succeeded),
    totalRequestsInProgress: BigInt(inProgress),
    totalErrorRequests: BigInt(failed),
    totalIssuedRequests: BigInt(issued),
    cpuUtilization: findUnnamed(metrics, 'cpu_utilization'),
    memUtilization: findUnnamed(metrics, 'mem_utilization'),
    applicationUtilization: findUnnamed(metrics, 'application_utilization'),
    loadMetricStats: metrics
      .filter(({ field }) => field === 'load_metric_stats')
      .map(({ name, calls, sum }) => ({
        metricName: name,
        numRequestsFinishedWithMetric: BigInt(calls),
        totalMetricValue: sum,
      })),
    // Neither gRFC A27 nor any implementation of it defines it.
    priority: 0,
  };
}

function findUnnamed(
  metrics: MetricTotals,
  field: MetricField,
): UpstreamLocalityStats['cpuUtilization'] {
  const total = metrics.find((metric) => metric.field === field);
  return (
    total && {
      numRequestsFinishedWithMetric: BigInt(total.calls),
      totalMetricValue: total.sum,
    }
  );
}
