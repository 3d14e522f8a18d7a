import type { CallMeter } from './call-meter';
import { RateSum, type RateColumns } from './rate-sum';
import type { RouteKey, TargetRates } from './target-rates';

/** The part of the calls of a route that one of its clusters got. */
export interface GotShare {
  /** 0 to 1, of the calls started in the last ten complete seconds. */
  readonly got: number;
  /** The calls that the cluster got, and those of the route, in these seconds. */
  readonly calls: number;
  readonly of: number;
}

/** The rates of one target at one moment. What was not counted has none. */
export class ReadRates {
  /** @param nowMs By the monotonic clock. */
  constructor(
    private readonly rates: TargetRates,
    private readonly nowMs: number,
  ) {}

  ofTarget(): RateColumns {
    return this.show('calls', [this.rates.calls]);
  }

  ofRoute(key: RouteKey): RateColumns | undefined {
    const found = this.rates.findRoute(key);
    return found && this.show('calls', [found.calls]);
  }

  /** Returns the calls of a route that one of its clusters gets. */
  ofSplit(key: RouteKey, cluster: string): RateColumns | undefined {
    const found = this.rates.findRoute(key)?.findSplit(cluster);
    return found && this.show('calls', [found]);
  }

  /** Returns the part of the calls of a route that one of its clusters got; `undefined` if it had no calls. */
  shareOfSplit(key: RouteKey, cluster: string): GotShare | undefined {
    const found = this.rates.findRoute(key);
    const split = found?.findSplit(cluster);
    const of = this.sum(found === undefined ? [] : [found.calls]).started;
    const calls = this.sum(split === undefined ? [] : [split]).started;
    return of === 0 ? undefined : { got: calls / of, calls, of };
  }

  /** Returns the attempts on all connections of a cluster. */
  ofCluster(cluster: string): RateColumns | undefined {
    return this.showAttempts(this.rates.findCluster(cluster));
  }

  /**
   * Returns the attempts on some endpoints of a cluster, such as those of a locality.
   *
   * @param addresses All of these endpoints, such as `10.0.0.1:80`.
   */
  ofEndpoints(cluster: string, addresses: Iterable<string>): RateColumns | undefined {
    return this.showAttempts(this.rates.findEndpoints(cluster, addresses));
  }

  private showAttempts(meters: readonly CallMeter[]): RateColumns | undefined {
    return meters.length === 0 ? undefined : this.show('attempts', meters);
  }

  private show(counts: RateColumns['counts'], meters: readonly CallMeter[]): RateColumns {
    return this.sum(meters).toColumns(counts, this.nowMs - this.rates.sinceMs);
  }

  private sum(meters: readonly CallMeter[]): RateSum {
    const sum = new RateSum();
    for (const meter of meters) meter.addTo(sum, this.nowMs);
    return sum;
  }
}
