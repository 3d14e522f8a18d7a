import type { ClientIdentity } from '../client-node';
import type { ClusterLoad, LoadReport, LocalityLoad, MetricSum } from './load-report';

/** The totals of all reported loads, by node. Calls in progress are those of the last report of each open stream. */
export class LoadTotals {
  private readonly byNode = new Map<string, LoadSum>();
  private readonly lastReports = new Map<number, LastReport>();

  /** Adds a report. */
  add({ nodeId, streamId }: ClientIdentity, report: LoadReport): void {
    let sum = this.byNode.get(nodeId);
    if (sum === undefined) {
      sum = new LoadSum();
      this.byNode.set(nodeId, sum);
    }
    for (const load of report.clusters) sum.add(mapLocalities(load, withoutInProgress));
    this.lastReports.set(streamId, { nodeId, report });
  }

  /** Removes the calls in progress of a stream that has ended. */
  removeStream(streamId: number): void {
    this.lastReports.delete(streamId);
  }

  /** Removes all loads. */
  clear(): void {
    this.byNode.clear();
    this.lastReports.clear();
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

/** Sums of loads by cluster and locality. */
class LoadSum {
  private readonly clusters = new Map<string, ClusterLoad>();

  /** Adds the load of one cluster. */
  add(load: ClusterLoad): void {
    const key = JSON.stringify([load.cluster, load.serviceName]);
    const sum = this.clusters.get(key);
    this.clusters.set(key, sum === undefined ? load : addClusters(sum, load));
  }

  /** Returns the sums, in the order in which the clusters were first added. */
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
