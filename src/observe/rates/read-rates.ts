import type { CallMeter } from './call-meter';
import { RateSum, type RateColumns } from './rate-sum';
import type { GotShare, RouteKey } from './route-rates';
import type { TargetRates } from './target-rates';

/** The rates of one target at one moment. What was not counted has none. */
export class ReadRates {
  /**
   * @param nowMs By the monotonic clock.
   * @param epochMs The time of day at which the monotonic clock was 0.
   */
  constructor(
    private readonly rates: TargetRates,
    private readonly nowMs: number,
    private readonly epochMs: number,
  ) {}

  ofTarget(): RateColumns {
    return this.show('calls', [this.rates.calls]);
  }

  /** Returns the 99th percentile of the calls of the target in milliseconds, for the times of a trend; 0 without any. */
  latencyTrend(): readonly number[] {
    return this.rates.calls.latencyTrend(this.nowMs);
  }

  ofRoute(key: RouteKey): RateColumns | undefined {
    const found = this.rates.findRoute(key);
    return found && this.show('calls', [found.calls]);
  }

  /** Returns the calls of a route that one of its clusters gets. */
  ofSplit(key: RouteKey, cluster: string): RateColumns | undefined {
    const found = this.rates.findRoute(key)?.findSplit(cluster);
    return found && this.show('calls', [found.calls]);
  }

  /** Returns the part of the calls of a route that one of its clusters got; `undefined` if it had no calls. */
  shareOfSplit(key: RouteKey, cluster: string): GotShare | undefined {
    return this.rates.findRoute(key)?.shareOf(cluster, this.nowMs);
  }

  /** Returns the attempts on all connections of clusters. */
  ofClusters(clusters: Iterable<string>): RateColumns | undefined {
    return this.showAttempts([...clusters].flatMap((name) => this.rates.findCluster(name)));
  }

  /**
   * Returns the attempts on some endpoints of a cluster, such as those of a locality.
   *
   * @param addresses All of these endpoints, such as `10.0.0.1:80`.
   */
  ofEndpoints(cluster: string, addresses: Iterable<string>): RateColumns | undefined {
    return this.showAttempts(this.rates.findEndpoints(cluster, addresses));
  }

  /** Returns the names of the clusters that had a failed attempt in the window, or in the current second. */
  failingClusters(): readonly string[] {
    return this.rates
      .clusterNames()
      .filter((name) => this.hasFailing(this.rates.findCluster(name)));
  }

  /** Returns the addresses of a cluster that had a failed attempt in that time. */
  failingAddresses(cluster: string, addresses: readonly string[]): readonly string[] {
    return addresses.filter((each) => this.hasFailing(this.rates.findEndpoints(cluster, [each])));
  }

  private hasFailing(meters: readonly CallMeter[]): boolean {
    return meters.some((meter) => meter.isFailing(this.nowMs));
  }

  /** Returns how many attempts on endpoints of a cluster were started in the last ten complete seconds. */
  startedOn(cluster: string, addresses: Iterable<string>): number {
    const meters = this.rates.findEndpoints(cluster, addresses);
    return meters.reduce((sum, meter) => sum + meter.startedBefore(this.nowMs), 0);
  }

  private showAttempts(meters: readonly CallMeter[]): RateColumns | undefined {
    return meters.length === 0 ? undefined : this.show('attempts', meters);
  }

  private show(counts: RateColumns['counts'], meters: readonly CallMeter[]): RateColumns {
    const { nowMs, epochMs } = this;
    const { sinceMs } = this.rates;
    const sum = new RateSum();
    for (const meter of meters) meter.addTo(sum, nowMs);
    return sum.toColumns(counts, { sinceMs, nowMs, epochMs });
  }
}
