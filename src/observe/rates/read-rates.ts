import type { CallMeter } from './call-meter';
import type { Counting } from './process-rates';
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
  private readonly ageMs: number;

  /** @param nowMs By the monotonic clock. */
  constructor(
    counting: Pick<Counting, 'sinceMs'>,
    private readonly rates: TargetRates,
    private readonly nowMs: number,
  ) {
    this.ageMs = nowMs - counting.sinceMs;
  }

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

  ofCluster(cluster: string): RateColumns | undefined {
    const meters = [...this.rates.cluster(cluster)].map(({ attempts }) => attempts);
    return this.showAll(meters);
  }

  /**
   * Returns the sum of endpoints of a cluster, such as those of a locality.
   *
   * @param addresses All of these endpoints, such as `10.0.0.1:80`.
   */
  ofEndpoints(cluster: string, addresses: Iterable<string>): RateColumns | undefined {
    return this.showAll(this.metersOf(cluster, addresses));
  }

  /** Returns the attempts on endpoints of a cluster that were started in the last ten complete seconds. */
  attemptsOf(cluster: string, addresses: Iterable<string>): number {
    return this.sum(this.metersOf(cluster, addresses)).started;
  }

  private metersOf(cluster: string, addresses: Iterable<string>): readonly CallMeter[] {
    const clusters = [...this.rates.cluster(cluster)];
    const meters: CallMeter[] = [];
    for (const address of addresses) {
      for (const each of clusters) {
        const meter = each.ofEndpoint(address);
        if (meter !== undefined) meters.push(meter);
      }
    }
    return meters;
  }

  private showAll(meters: readonly (CallMeter | undefined)[]): RateColumns | undefined {
    const found = meters.filter((meter) => meter !== undefined);
    return found.length === 0 ? undefined : this.show('attempts', found);
  }

  private show(counts: RateColumns['counts'], meters: readonly CallMeter[]): RateColumns {
    return this.sum(meters).toColumns(counts, this.ageMs);
  }

  private sum(meters: readonly CallMeter[]): RateSum {
    const sum = new RateSum();
    for (const meter of meters) meter.addTo(sum, this.nowMs);
    return sum;
  }
}
