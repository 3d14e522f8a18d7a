import { createHandle, type Handle } from '../../util/handle';
import { MetricSums, NameRoom, type MetricTotals } from './metrics';

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

/** Counts that were taken for a report, and can be put back if the report is not sent. */
export interface TakenClusterCounts {
  readonly counts: ClusterCounts;
  putBack(): void;
}

/** Notified when a cluster may have come into use or gone out of use. */
export interface ClusterOwner {
  /** There is something to report after there was nothing. */
  onBusy(load: ClusterLoad): void;
  /** The last reference was released, or the last call to a locality has ended after that. */
  onIdle(load: ClusterLoad): void;
}

/** The calls to one cluster, counted until a report takes them (gRFC A27). */
export class ClusterLoad implements LocalityOwner {
  readonly names = new NameRoom();
  private readonly busy = new Set<LocalityLoad>();
  private drops = new Map<string, number>();
  private uncategorizedDrops = 0;
  private references = 0;

  /** @param sinceMs Now, on the monotonic clock. */
  constructor(
    readonly id: ClusterId,
    private sinceMs: number,
    private readonly owner: ClusterOwner,
  ) {}

  /** Whether it is referenced or calls are in progress, so that there is, or will be, something to report. */
  get isInUse(): boolean {
    return this.references > 0 || [...this.busy].some((locality) => locality.isRunning);
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
        this.putBack(counts);
      },
    };
  }

  onBusy(load: LocalityLoad): void {
    this.busy.add(load);
    this.owner.onBusy(this);
  }

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

  private putBack({ drops, uncategorizedDrops, sinceMs }: ClusterCounts): void {
    for (const [category, count] of drops) {
      this.drops.set(category, (this.drops.get(category) ?? 0) + count);
    }
    this.uncategorizedDrops += uncategorizedDrops;
    this.sinceMs = Math.min(this.sinceMs, sinceMs);
    this.owner.onBusy(this);
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

/** Notified of the changes of a locality that its cluster must know. */
export interface LocalityOwner {
  /** The room for names of metrics, which all localities of the cluster share. */
  readonly names: NameRoom;
  /** There is something to report after there was nothing. */
  onBusy(load: LocalityLoad): void;
  /** The last call in progress has ended. */
  onIdle(): void;
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
    private readonly owner: LocalityOwner,
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
