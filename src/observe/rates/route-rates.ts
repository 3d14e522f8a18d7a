import { CallMeter } from './call-meter';
import { SplitRates } from './split-rates';

/** The clusters of one route that are counted one by one. */
const MAX_SPLITS = 100;

/** A route of a virtual host, as those who count and those who read know it. */
export interface RouteKey {
  /** The same object while the route does not change. */
  readonly route: object;
  /** All routes of its virtual host. */
  readonly routes: readonly object[];
  /** Returns what names the route when it has changed. */
  label(): string;
}

/** The part of something's calls that one of the ways from it got. */
export interface GotShare {
  /** 0 to 1. */
  readonly got: number;
  /** The calls that this way got, and those of all ways. */
  readonly calls: number;
  readonly of: number;
}

/** The calls of one route. */
export class RouteRates {
  readonly calls = new CallMeter();
  /** By the name of the cluster. */
  private readonly splits = new Map<string, SplitRates>();

  /** @param latest The route. */
  constructor(private latest: object) {}

  /** The latest version of the route. */
  get route(): object {
    return this.latest;
  }

  /** The route has changed. */
  change(route: object): void {
    this.latest = route;
    for (const { sinceChange } of this.splits.values()) sinceChange.clear();
  }

  /** Returns the calls that one cluster of the route gets; `undefined` if there are too many clusters. */
  split(cluster: string): SplitRates | undefined {
    const known = this.splits.get(cluster);
    if (known !== undefined || this.splits.size >= MAX_SPLITS) return known;
    const created = new SplitRates();
    this.splits.set(cluster, created);
    return created;
  }

  /** Returns the same; `undefined` if the cluster got no call. */
  findSplit(cluster: string): SplitRates | undefined {
    return this.splits.get(cluster);
  }

  /**
   * Returns the part of the calls that a cluster got since the route changed last, and not longer ago than five minutes;
   * `undefined` if there were none.
   */
  shareOf(cluster: string, nowMs: number): GotShare | undefined {
    let of = 0;
    for (const { sinceChange } of this.splits.values()) of += sinceChange.read(nowMs);
    const calls = this.splits.get(cluster)?.sinceChange.read(nowMs) ?? 0;
    return of === 0 ? undefined : { got: calls / of, calls, of };
  }
}
