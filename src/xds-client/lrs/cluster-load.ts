import { createHandle, type Handle } from '../../util/handle';
import { type MetricField, MetricSums, type MetricTotals, NameRoom } from './metrics';
import type {
  ClusterStats,
  UpstreamLocalityStats,
} from '../../wire/generated/envoy/config/endpoint/v3/load_report';
import { msToDuration } from '../../util/duration';

/** The clusters that a server requests reports of. */
export type RequestedClusters = ReadonlySet<string> | 'all';

/** A reference to the load of a cluster. */
export interface ClusterLoadReference extends Handle {
  readonly load: ClusterLoad;
}

/**
 * The loads that are reported to one server. A cluster is known while it is referenced, calls to it are in progress, or
 * it has something to report; so that calls that outlive their channel are reported, too.
 */
export class ServerLoads {
  /** Those that are referenced or have something to report. */
  private readonly known = new Set<ClusterLoad>();
  /** The one of each cluster that is acquired next. Calls of an old picker may use another one that was removed before. */
  private readonly clusters = new Map<string, ClusterLoad>();

  /** @param onUseChanged Called whenever `isInUse` may have changed. */
  constructor(
    private readonly nowMs: () => number,
    private readonly onUseChanged: () => void,
  ) {}

  /** Whether there is, or will be, something to report. */
  get isInUse(): boolean {
    for (const load of this.known) if (load.isInUse) return true;
    return false;
  }

  /** Acquires the load of a cluster. */
  acquire(id: ClusterId): ClusterLoadReference {
    const key = keyOf(id);
    let load = this.clusters.get(key);
    if (load === undefined) {
      load = new ClusterLoad(id, this.nowMs(), this);
      this.clusters.set(key, load);
      this.known.add(load);
    }
    const reference = load.acquire();
    this.onUseChanged();
    return { load, release: () => reference.release() };
  }

  /**
   * Takes the counts of the requested clusters that have any. A cluster that is not in use is removed, requested or not: later
   * reports are about later calls.
   */
  take(requested: RequestedClusters): TakenClusterCounts[] {
    const taken: TakenClusterCounts[] = [];
    for (const load of [...this.known]) {
      const isRequested = requested === 'all' || requested.has(load.id.cluster);
      const counts = isRequested ? load.take(this.nowMs()) : undefined;
      if (!load.isInUse) this.remove(load);
      if (counts !== undefined) taken.push(counts);
    }
    return taken;
  }

  /** Drops the counts of clusters that are not in use, and removes them: their server is not used any more. */
  dropUnused(): void {
    for (const load of [...this.known]) {
      if (load.isInUse) continue;
      load.take(this.nowMs());
      this.remove(load);
    }
  }

  /** Handles that a cluster has something to report after it had nothing. */
  onBusy(load: ClusterLoad): void {
    if (this.known.has(load)) return;
    const key = keyOf(load.id);
    this.known.add(load);
    if (!this.clusters.has(key)) this.clusters.set(key, load);
    this.onUseChanged();
  }

  /** Handles that the last reference to a cluster was released, or its last call has ended after that. */
  onIdle(load: ClusterLoad): void {
    if (!load.isInUse) this.onUseChanged();
  }

  private remove(load: ClusterLoad): void {
    const key = keyOf(load.id);
    if (this.clusters.get(key) === load) this.clusters.delete(key);
    this.known.delete(load);
  }
}

function keyOf({ cluster, edsServiceName }: ClusterId): string {
  return JSON.stringify([cluster, edsServiceName]);
}

/** The cluster of a load. */
export interface ClusterId {
  readonly cluster: string;
  /** `service_name` of an EDS cluster; else empty. */
  readonly edsServiceName: string;
}

/** The counts of one cluster. */
export interface ClusterCounts {
  readonly id: ClusterId;
  /** May name a locality several times, once for each user of the cluster. */
  readonly localities: readonly LocalityCounts[];
  /** Calls dropped, by category. */
  readonly drops: ReadonlyMap<string, number>;
  /** Calls dropped because of the limit of concurrent calls (gRFC A32). */
  readonly uncategorizedDrops: number;
  /** When the counts started; on the monotonic clock. */
  readonly sinceMs: number;
  readonly untilMs: number;
}

/** Counts that were taken for a report. */
export interface TakenClusterCounts {
  readonly counts: ClusterCounts;
  /** The report was not sent. */
  putBack(): void;
}

/** The calls to one cluster, counted until a report takes them (gRFC A27). */
export class ClusterLoad {
  /** The room for names of metrics, which all localities share. */
  readonly names = new NameRoom();
  private readonly busy = new Set<LocalityLoad>();
  private drops = new Map<string, number>();
  private uncategorizedDrops = 0;
  private references = 0;

  /** @param sinceMs Now, on the monotonic clock. */
  constructor(
    readonly id: ClusterId,
    private sinceMs: number,
    private readonly owner: ServerLoads,
  ) {}

  /** Whether it is referenced or calls are in progress, so that there is, or will be, something to report. */
  get isInUse(): boolean {
    return this.references > 0 || [...this.busy].some((locality) => locality.isRunning);
  }

  /** How many localities and categories of drops have something to report. */
  get entries(): number {
    return this.busy.size + this.drops.size;
  }

  /** Acquires a reference. After its release, only the calls in progress are counted. */
  acquire(): Handle {
    this.references++;
    return createHandle(() => {
      this.references--;
      if (this.references === 0) this.owner.onIdle(this);
    });
  }

  /** Creates the counters of a locality. They need not be released. */
  createLocality(locality: LoadLocality): LocalityLoad {
    return new LocalityLoad(locality, this);
  }

  /** Counts a dropped call. @param category `undefined` if it exceeded the limit of concurrent calls. */
  countDrop(category: string | undefined): void {
    if (category === undefined) this.uncategorizedDrops++;
    else this.drops.set(category, (this.drops.get(category) ?? 0) + 1);
  }

  /** Counts dropped calls of a report, or of a report that was not sent. */
  addDrops(drops: ReadonlyMap<string, number>, uncategorized: number): void {
    for (const [category, count] of drops) {
      this.drops.set(category, (this.drops.get(category) ?? 0) + count);
    }
    this.uncategorizedDrops += uncategorized;
    this.owner.onBusy(this);
  }

  /**
   * Takes the counts, which start over, except for the calls in progress.
   * @returns `undefined` if there is nothing to report: a report without the cluster means the same.
   */
  take(nowMs: number): TakenClusterCounts | undefined {
    const { id, drops, uncategorizedDrops, sinceMs } = this;
    const localities = this.takeLocalities();
    this.names.clear();
    this.sinceMs = nowMs;
    if (localities.length + drops.size + uncategorizedDrops === 0) return undefined;
    this.drops = new Map();
    this.uncategorizedDrops = 0;
    const counts: ClusterCounts = {
      id,
      localities: localities.map((taken) => taken.counts),
      drops,
      uncategorizedDrops,
      sinceMs,
      untilMs: nowMs,
    };
    return {
      counts,
      putBack: () => {
        for (const taken of localities) taken.load.putBack(taken.counts);
        this.sinceMs = Math.min(this.sinceMs, sinceMs);
        this.addDrops(drops, uncategorizedDrops);
      },
    };
  }

  /** Handles that a locality has something to report after it had nothing. */
  onBusy(load: LocalityLoad): void {
    this.busy.add(load);
    this.owner.onBusy(this);
  }

  /** Handles that the last call of a locality has ended. */
  onIdle(): void {
    if (this.references === 0) this.owner.onIdle(this);
  }

  private takeLocalities(): { readonly load: LocalityLoad; readonly counts: LocalityCounts }[] {
    const taken: { readonly load: LocalityLoad; readonly counts: LocalityCounts }[] = [];
    for (const load of this.busy) {
      const counts = load.take();
      if (counts !== undefined) taken.push({ load, counts });
      if (load.isRunning) continue;
      this.busy.delete(load);
      load.onDelisted();
    }
    return taken;
  }
}

/** The locality of calls: region, zone and sub-zone, each possibly empty. */
export interface LoadLocality {
  readonly region: string;
  readonly zone: string;
  readonly subZone: string;
}

/** The counts of one locality. */
export interface LocalityCounts {
  readonly locality: LoadLocality;
  readonly issued: number;
  readonly succeeded: number;
  readonly failed: number;
  /** Calls in progress at the time. */
  readonly inProgress: number;
  readonly metrics: MetricTotals;
}

/**
 * The calls of one user of a cluster to one locality, counted until a report takes them (gRFC A27). Its cluster refers
 * to it only while it has something to report, so that it need not be released, and can be used again at any time.
 */
export class LocalityLoad {
  private issued = 0;
  private succeeded = 0;
  private failed = 0;
  private inProgress = 0;
  private isListed = false;
  private sums: MetricSums | undefined;

  constructor(
    readonly locality: LoadLocality,
    private readonly owner: ClusterLoad,
  ) {}

  /** Whether calls are in progress. */
  get isRunning(): boolean {
    return this.inProgress > 0;
  }

  /** The metrics that backends report with calls of this locality. Added to before the call is ended. */
  get metrics(): MetricSums {
    return (this.sums ??= new MetricSums(this.owner.names));
  }

  /** Counts the start of a call. */
  start(): void {
    this.issued++;
    this.inProgress++;
    this.list();
  }

  /** Reverts `start` for a call that could not be started. */
  withdraw(): void {
    this.issued--;
    this.leave();
  }

  /** Counts the end of a call. */
  end(isSuccess: boolean): void {
    if (isSuccess) this.succeeded++;
    else this.failed++;
    this.leave();
  }

  /** Takes the counts, which start over, except for the calls in progress; `undefined` if there is nothing. */
  take(): LocalityCounts | undefined {
    const { locality, issued, succeeded, failed, inProgress } = this;
    if (issued + succeeded + failed + inProgress === 0) return undefined;
    const metrics = this.sums?.totals ?? [];
    this.sums = undefined;
    this.issued = 0;
    this.succeeded = 0;
    this.failed = 0;
    return { locality, issued, succeeded, failed, inProgress, metrics };
  }

  /**
   * Adds counts of a report that another process has made.
   * @param counts With the change of the calls in progress since the report before.
   */
  addReported(counts: LocalityCounts): void {
    const before = this.inProgress;
    this.inProgress += counts.inProgress;
    this.putBack(counts);
    if (before > 0 && this.inProgress === 0) this.owner.onIdle();
  }

  /** Adds counts that were taken and not reported. */
  putBack(counts: LocalityCounts): void {
    this.issued += counts.issued;
    this.succeeded += counts.succeeded;
    this.failed += counts.failed;
    if (counts.metrics.length > 0) this.metrics.addTotals(counts.metrics);
    this.list();
  }

  /** Handles that its cluster does not refer to it any more. */
  onDelisted(): void {
    this.isListed = false;
  }

  private list(): void {
    if (this.isListed) return;
    this.isListed = true;
    this.owner.onBusy(this);
  }

  private leave(): void {
    this.inProgress--;
    if (this.inProgress === 0) this.owner.onIdle();
  }
}

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
