import {
  type XdsConfig,
  firstAddress,
  type LocalityEndpoints,
  DescribedRoute,
  type RateColumns,
  type ReadRates,
  type GotShare,
} from 'grpc-xds/internal';
import { joinHostPort } from '../../../../src/util/text';
import type { GraphEdge, GraphNode } from '../graph/mesh-graph';
import type { Row } from '../live-page/view';

/** A locality of a cluster, by the id of its node. */
interface Place {
  readonly cluster: string;
  /** Those of its priority; `undefined` if it has no list of endpoints, as those that are resolved by DNS. */
  readonly siblings: readonly LocalityEndpoints[] | undefined;
  readonly locality: LocalityEndpoints | undefined;
}

/**
 * The rates of the nodes and edges of the graph of a target, by the ids that `buildMeshGraph` gives them. Those of nodes that
 * stand for several nodes of a column, such as `more cluster`, are not known.
 */
export class GraphRates {
  private readonly nodes = new Map<string, RateColumns | undefined>();
  /** The attempts on the localities of a priority. */
  private readonly totals = new Map<Place['siblings'], number>();
  /** The addresses of endpoints by their first ones, of the localities of which endpoints are read one by one. */
  private readonly addresses = new Map<LocalityEndpoints, ReadonlyMap<string, readonly string[]>>();

  constructor(
    private readonly rates: ReadRates,
    private readonly config: XdsConfig,
  ) {}

  /**
   * Returns the columns that the row of a node or an edge has of rates: nothing if nothing is counted of it. Where a weight
   * decides, `got` is the share of the calls that the edge got, 0 to 1, beside the `share` that it is given: `gotCalls` of
   * `gotOf`, as `shareOf` counts them.
   */
  describe(part: GraphNode | GraphEdge): Omit<Row, 'id'> {
    if ('id' in part) return { ...this.ofNode(part.id) };
    const { from, to, share } = part;
    const got = share === undefined ? undefined : this.shareOf(from, to);
    const rates = this.ofEdge(from, to);
    return {
      ...(rates && withoutTrend(rates)),
      ...(got && { got: got.got, gotCalls: got.calls, gotOf: got.of }),
    };
  }

  ofTarget(): RateColumns {
    return this.rates.ofTarget();
  }

  /** Returns the rates of a node; `undefined` if nothing is counted of it. */
  ofNode(id: string): RateColumns | undefined {
    if (!this.nodes.has(id)) this.nodes.set(id, this.readNode(id));
    return this.nodes.get(id);
  }

  /** Returns the rates of an edge: of one from a route its own, of others those of the node that it leads to. */
  ofEdge(from: string, to: string): RateColumns | undefined {
    const key = this.routeOf(from);
    return key === undefined ? this.ofNode(to) : this.rates.ofSplit(key, clusterOf(to));
  }

  /**
   * Returns the part of the calls of a route that one of its clusters got since it changed last, at most five minutes, or of the
   * attempts on a priority that a locality got in the last ten complete seconds; `undefined` if there were none, and for other
   * edges, whose weights not every policy goes by.
   */
  shareOf(from: string, to: string): GotShare | undefined {
    const key = this.routeOf(from);
    if (key !== undefined) return this.rates.shareOfSplit(key, clusterOf(to));
    if (!to.startsWith('locality ')) return undefined;
    const { cluster, siblings, locality } = this.placeOf(to.slice('locality '.length));
    if (siblings === undefined || locality === undefined) return undefined;
    const of = this.totalOf(cluster, siblings);
    const calls = this.rates.startedOn(cluster, addressesOf(locality));
    return of === 0 ? undefined : { got: calls / of, calls, of };
  }

  private readNode(id: string): RateColumns | undefined {
    const [, kind, rest = ''] = /^(\w+) (.*)$/s.exec(id) ?? [];
    switch (kind) {
      case 'target':
        return this.rates.ofTarget();
      case 'route': {
        const key = this.routeOf(id);
        return key && this.rates.ofRoute(key);
      }
      case 'cluster':
        return this.rates.ofClusters([rest]);
      case 'locality':
        return this.ofLocality(rest);
      case 'endpoints':
        return this.ofLocality(rest.slice('of locality '.length));
      case 'endpoint':
        return this.ofEndpoint(rest);
      default:
        return undefined;
    }
  }

  private ofLocality(text: string): RateColumns | undefined {
    const { cluster, locality } = this.placeOf(text);
    // What DNS resolves is in one locality.
    if (locality === undefined) return this.rates.ofClusters([cluster]);
    return this.rates.ofEndpoints(cluster, addressesOf(locality));
  }

  private ofEndpoint(text: string): RateColumns | undefined {
    const [address = '', place = ''] = text.split(' of locality ');
    const { cluster, locality } = this.placeOf(place);
    const all = locality && this.addressesIn(locality).get(address);
    return this.rates.ofEndpoints(cluster, all ?? [address]);
  }

  private totalOf(cluster: string, localities: readonly LocalityEndpoints[]): number {
    const known = this.totals.get(localities);
    if (known !== undefined) return known;
    const total = this.rates.startedOn(cluster, localities.flatMap(addressesOf));
    this.totals.set(localities, total);
    return total;
  }

  private addressesIn(locality: LocalityEndpoints): ReadonlyMap<string, readonly string[]> {
    const known = this.addresses.get(locality);
    if (known !== undefined) return known;
    const created = new Map(
      locality.endpoints.map((each) => [firstAddress(each), each.addresses.map(addressText)]),
    );
    this.addresses.set(locality, created);
    return created;
  }

  private placeOf(text: string): Place {
    const [name, index, region, zone, subZone] = parseParts(text);
    const cluster = String(name);
    const result = this.config.clusters.get(cluster);
    const children = result?.ok === true ? result.value.children : undefined;
    const endpoints = children?.kind === 'endpoints' ? children.endpoints : undefined;
    const siblings = endpoints?.priorities[Number(index)]?.localities;
    const locality = siblings?.find(
      ({ locality: each }) =>
        each.region === region && each.zone === zone && each.subZone === subZone,
    );
    return { cluster, siblings, locality };
  }

  private routeOf(id: string): DescribedRoute | undefined {
    return id.startsWith('route ') ? routesById(this.config.virtualHost).get(id) : undefined;
  }
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
  const sum = (name: string) => counted.reduce((total, row) => total + Number(row[name]), 0);
  const slowest = counted.reduce((most, { p99 }) => Math.max(most, Number(p99 ?? 0)), 0);
  return {
    counts: first['counts'],
    rate: sum('rate'),
    errorRate: sum('errorRate'),
    ...(slowest > 0 && { p99: slowest }),
  };
}

/** The routes of virtual hosts by the ids of their nodes. */
const routeIds = new WeakMap<XdsConfig['virtualHost'], ReadonlyMap<string, DescribedRoute>>();

function routesById(virtualHost: XdsConfig['virtualHost']): ReadonlyMap<string, DescribedRoute> {
  const known = routeIds.get(virtualHost);
  if (known !== undefined) return known;
  const numbers = new Map<string, number>();
  const created = new Map(
    virtualHost.routes.map((route) => {
      const described = new DescribedRoute(route, virtualHost);
      const label = described.label();
      const number = numbers.get(label) ?? 0;
      numbers.set(label, number + 1);
      return [`route ${JSON.stringify([label, number])}`, described] as const;
    }),
  );
  routeIds.set(virtualHost, created);
  return created;
}

function clusterOf(id: string): string {
  return id.slice('cluster '.length);
}

function addressesOf({ endpoints }: LocalityEndpoints): readonly string[] {
  return endpoints.flatMap(({ addresses }) => addresses.map(addressText));
}

function parseParts(text: string): readonly unknown[] {
  try {
    const parts: unknown = JSON.parse(text);
    return Array.isArray(parts) ? parts : [];
  } catch {
    // The id of something else.
    return [];
  }
}

function addressText({ host, port }: { readonly host: string; readonly port: number }): string {
  return joinHostPort(host, port);
}
