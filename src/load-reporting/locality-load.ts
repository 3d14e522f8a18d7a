import { MetricSums, type MetricTotals } from './metric-sums';

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
