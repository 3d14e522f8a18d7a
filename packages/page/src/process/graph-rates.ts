import { type RateColumns, type ReadRates, type GotShare } from 'grpc-xds/internal';
import type { CountedCalls, GraphEdge, GraphNode } from '../graph/mesh-graph';
import { getOrMake } from '../graph/group-by';
import type { Row } from '../live-page/view';

/** The rates of the nodes and edges of the graph of a target. */
export class GraphRates {
  /** A node has the same calls as the edge that leads to it. */
  private readonly known = new Map<CountedCalls, RateColumns | undefined>();
  /** The attempts on the localities of a priority. */
  private readonly totals = new Map<CountedCalls['among'], number>();

  constructor(private readonly rates: ReadRates) {}

  /**
   * Returns the columns that the row of a node or an edge has of rates: nothing if nothing is counted of it. Where a weight
   * decides, `got` is the share of the calls that the edge got, 0 to 1, beside the `share` that it is given: `gotCalls` of
   * `gotOf`, as `shareOf` counts them.
   */
  describe(part: GraphNode | GraphEdge): Omit<Row, 'id'> {
    const { calls } = part;
    const rates = calls && (this.of(calls) ?? noneOf(calls));
    if ('id' in part) return rates === undefined ? {} : { ...rates, lostRate: lostRate(rates) };
    const got = part.share === undefined ? undefined : this.shareOf(calls);
    return {
      ...(rates && { ...withoutTrend(rates), lostRate: lostRate(rates) }),
      got: got?.got,
      gotCalls: got?.calls,
      gotOf: got?.of,
    };
  }

  ofTarget(): RateColumns {
    return this.rates.ofTarget();
  }

  /** Returns the rates of calls; `undefined` if they are not counted. */
  of(calls: CountedCalls | undefined): RateColumns | undefined {
    if (calls === undefined) return undefined;
    if (!this.known.has(calls)) this.known.set(calls, this.read(calls));
    return this.known.get(calls);
  }

  /**
   * Returns the part of the calls of a route that one of its clusters got since it changed last, at most five minutes, or of the
   * attempts on a priority that a locality got in the last ten complete seconds; `undefined` if there were none, and for other
   * calls, whose weights not every policy goes by.
   */
  private shareOf({ route, cluster, endpoints, among }: CountedCalls = {}): GotShare | undefined {
    if (cluster === undefined) return undefined;
    if (route !== undefined) return this.rates.shareOfSplit(route, cluster);
    if (endpoints === undefined || among === undefined) return undefined;
    const of = getOrMake(this.totals, among, () => this.rates.startedOn(cluster, among));
    const calls = this.rates.startedOn(cluster, endpoints);
    return of === 0 ? undefined : { got: calls / of, calls, of };
  }

  private read({ route, cluster, endpoints }: CountedCalls): RateColumns | undefined {
    if (cluster === undefined)
      return route === undefined ? this.rates.ofTarget() : this.rates.ofRoute(route);
    if (route !== undefined) return this.rates.ofSplit(route, cluster);
    return endpoints === undefined
      ? this.rates.ofClusters([cluster])
      : this.rates.ofEndpoints(cluster, endpoints);
  }
}

/** What is not counted yet has had no calls. */
function noneOf({ route, cluster }: CountedCalls): RateColumns {
  const counts = cluster === undefined || route !== undefined ? 'calls' : 'attempts';
  return { counts, rate: 0, errorRate: 0, errors: [], inFlight: 0 };
}

/** Returns the last rate above 0 of something that has no calls now; `undefined` if it has some, or had none for five minutes. */
function lostRate({ rate, trend = [] }: RateColumns): number | undefined {
  if (rate > 0) return undefined;
  const last = trend.findLastIndex((each) => each > 0);
  // Calls may have stopped in the middle of the last slot.
  return last === -1 ? undefined : Math.max(trend[last - 1] ?? 0, trend[last] ?? 0);
}

/** The trends of all edges would be most of what a reader gets. */
export function withoutTrend(rates: RateColumns): Omit<Row, 'id'> {
  return { ...rates, trend: undefined, errorTrend: undefined };
}

/** Adds up rates of calls; the time of the slowest is that of all at most. Rows without any do not count. */
export function sumRates(rows: readonly Omit<Row, 'id'>[]): Omit<Row, 'id'> {
  const counted = rows.filter(({ rate }) => rate !== undefined);
  const [first] = counted;
  if (first === undefined) return {};
  const sum = (name: string) => counted.reduce((total, row) => total + Number(row[name] ?? 0), 0);
  const [failingSince] = counted.flatMap(({ failingSince: since }) => since ?? []).sort();
  const lost = sum('lostRate');
  const slowest = counted.reduce((most, { p99 }) => Math.max(most, Number(p99 ?? 0)), 0);
  return {
    counts: first['counts'],
    seconds: first['seconds'],
    rate: sum('rate'),
    errorRate: sum('errorRate'),
    failingSince,
    lostRate: lost || undefined,
    p99: slowest || undefined,
  };
}
