import { MetricSums, type MetricTotals } from './metrics';

/** Which cluster a load belongs to. */
export interface ClusterId {
  readonly cluster: string;
  /** `service_name` of an EDS cluster; else empty. */
  readonly edsServiceName: string;
}

/** What one cluster has to report. */
export interface ClusterCounts {
  readonly id: ClusterId;
  /** May name a locality several times, once for each user of the cluster. */
  readonly localities: readonly LocalityCounts[];
  /** Calls dropped, by category. */
  readonly drops: ReadonlyMap<string, number>;
  /** Calls dropped for another reason: too many at a time (gRFC A32). */
  readonly uncategorizedDrops: number;
  /** Since when it was counted; on the monotonic clock. */
  readonly sinceMs: number;
  readonly untilMs: number;
}

/** What was taken for a report, and can be put back if the report is not sent. */
export interface TakenClusterCounts {
  readonly counts: ClusterCounts;
  putBack(): void;
}

/** Whom a cluster tells that it may have come into use or gone out of it. */
export interface ClusterOwner {
  /** There are calls to report where there were none. */
  onBusy(load: ClusterLoad): void;
  /** The last holder has let go, or the last running call to some locality has ended after that. */
  onIdle(load: ClusterLoad): void;
}

/** The calls to one cluster, counted until a report takes them (gRFC A27). */
export class ClusterLoad implements LocalityOwner {
  private readonly busy = new Set<LocalityLoad>();
  private drops = new Map<string, number>();
  private uncategorizedDrops = 0;
  private holders = 0;

  /** @param sinceMs Now, on the monotonic clock. */
  constructor(
    readonly id: ClusterId,
    private sinceMs: number,
    private readonly owner: ClusterOwner,
  ) {}

  /** Whether somebody holds it or calls are running, so that there is, or will be, more to report. */
  get isInUse(): boolean {
    return this.holders > 0 || [...this.busy].some((locality) => locality.isRunning);
  }

  /** Somebody begins to count by it. */
  hold(): void {
    this.holders++;
  }

  /** Somebody counts by it no more, except for the calls that run. */
  letGo(): void {
    this.holders--;
    if (this.holders === 0) this.owner.onIdle(this);
  }

  /** Something to count the calls to a locality by. It need not be released. */
  createLocality(locality: LoadLocality): LocalityLoad {
    return new LocalityLoad(locality, this);
  }

  /** A call was dropped. @param category `undefined` if it was one too many. */
  countDrop(category: string | undefined): void {
    if (category === undefined) this.uncategorizedDrops++;
    else this.drops.set(category, (this.drops.get(category) ?? 0) + 1);
  }

  /**
   * What there is to report; begins anew, except for the calls that run.
   * @returns `undefined` if nothing has happened: a report without the cluster says as much.
   */
  take(nowMs: number): TakenClusterCounts | undefined {
    const { id, drops, uncategorizedDrops, sinceMs } = this;
    const localities = this.takeLocalities();
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
        this.putBack(counts);
      },
    };
  }

  onBusy(load: LocalityLoad): void {
    this.busy.add(load);
    this.owner.onBusy(this);
  }

  onIdle(): void {
    if (this.holders === 0) this.owner.onIdle(this);
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

  private putBack({ drops, uncategorizedDrops, sinceMs }: ClusterCounts): void {
    for (const [category, count] of drops) {
      this.drops.set(category, (this.drops.get(category) ?? 0) + count);
    }
    this.uncategorizedDrops += uncategorizedDrops;
    this.sinceMs = Math.min(this.sinceMs, sinceMs);
    this.owner.onBusy(this);
  }
}

/** Where calls go: region, zone and sub-zone, each possibly empty. */
export interface LoadLocality {
  readonly region: string;
  readonly zone: string;
  readonly subZone: string;
}

/** What one locality has to report. */
export interface LocalityCounts {
  readonly locality: LoadLocality;
  readonly issued: number;
  readonly succeeded: number;
  readonly failed: number;
  /** Calls running at the time. */
  readonly inProgress: number;
  readonly metrics: MetricTotals;
}

/** Whom a locality tells what its cluster must know. */
export interface LocalityOwner {
  /** There is something to report that was not there before. */
  onBusy(load: LocalityLoad): void;
  /** The last running call has ended. */
  onIdle(): void;
}

/**
 * The calls of one user of a cluster to one locality, counted until a report takes them (gRFC A27). Its cluster
 * knows of it only while it has something to report, so one that is dropped leaves nothing behind, and one that is
 * used once more is not lost.
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
    private readonly owner: LocalityOwner,
  ) {}

  /** Whether calls are running. */
  get isRunning(): boolean {
    return this.inProgress > 0;
  }

  /** The metrics backends report with calls of this locality. To be added to before the call is ended. */
  get metrics(): MetricSums {
    return (this.sums ??= new MetricSums());
  }

  /** A call starts. */
  start(): void {
    this.issued++;
    this.inProgress++;
    this.list();
  }

  /** A call counted as started could not be started after all: it is as if it had never been. */
  withdraw(): void {
    this.issued--;
    this.leave();
  }

  /** A call has ended. */
  end(isSuccess: boolean): void {
    if (isSuccess) this.succeeded++;
    else this.failed++;
    this.leave();
  }

  /** What there is to report; begins anew, except for the calls that run. `undefined` if there is nothing. */
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

  /** Takes back what was not reported after all. */
  putBack(counts: LocalityCounts): void {
    this.issued += counts.issued;
    this.succeeded += counts.succeeded;
    this.failed += counts.failed;
    if (counts.metrics.length > 0) this.metrics.addTotals(counts.metrics);
    this.list();
  }

  /** Its cluster has taken it off its list: there was nothing left to report. */
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
