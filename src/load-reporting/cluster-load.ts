import {
  LocalityLoad,
  type LoadLocality,
  type LocalityCounts,
  type LocalityOwner,
} from './locality-load';

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
