import type { ClusterLoad, LocalityLoad, MetricSum } from './load-report';

/** Adds loads up, per cluster and locality. */
export class LoadTotals {
  private readonly clusters = new Map<string, ClusterLoad>();

  /** Adds one cluster's load, with the calls in progress. */
  add(load: ClusterLoad): void {
    const key = JSON.stringify([load.cluster, load.serviceName]);
    const sum = this.clusters.get(key);
    this.clusters.set(key, sum === undefined ? load : addClusters(sum, load));
  }

  /** The sums, in the order in which the clusters were first added. */
  list(): readonly ClusterLoad[] {
    return [...this.clusters.values()];
  }
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
