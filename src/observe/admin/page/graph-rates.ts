import type { XdsConfig } from '../../../dependency-manager/xds-config';
import { firstAddress, formatAddress } from '../../../lb/endpoints/endpoint-key';
import type { LocalityEndpoints } from '../../../resources/endpoints/endpoints';
import type { VirtualHost } from '../../../resources/route-config/route-config';
import { routeKey } from '../../../routing/route-key';
import type { RateColumns } from '../../rates/rate-sum';
import type { GotShare, ReadRates } from '../../rates/read-rates';
import type { RouteKey } from '../../rates/target-rates';

/**
 * The rates of the nodes and edges of the graph of a target, by the ids that `buildMeshGraph` gives them. Those of nodes that
 * stand for several nodes of a column, such as `more cluster`, are not known.
 */
export class GraphRates {
  /** The addresses of endpoints by their first ones, of the localities of which endpoints are read one by one. */
  private readonly addresses = new Map<LocalityEndpoints, ReadonlyMap<string, readonly string[]>>();

  constructor(
    private readonly rates: ReadRates,
    private readonly config: XdsConfig,
  ) {}

  /** Returns the rates of a node; `undefined` if nothing is counted of it. */
  ofNode(id: string): RateColumns | undefined {
    const [, kind = '', rest = ''] = /^(\w+) (.*)$/s.exec(id) ?? [];
    switch (kind) {
      case 'target':
        return this.rates.ofTarget();
      case 'route': {
        const key = this.routeOf(id);
        return key && this.rates.ofRoute(key);
      }
      case 'cluster':
        return this.rates.ofCluster(rest);
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

  /** Returns the rates of an edge: of one from a route its own, of others those of the node that it leads to. */
  ofEdge(from: string, to: string): RateColumns | undefined {
    const key = this.routeOf(from);
    return key === undefined ? this.ofNode(to) : this.rates.ofSplit(key, clusterOf(to));
  }

  /** Returns the part of the calls of a route that one of its clusters got; `undefined` if there were none, or no route. */
  shareOf(from: string, to: string): GotShare | undefined {
    const key = this.routeOf(from);
    return key && this.rates.shareOfSplit(key, clusterOf(to));
  }

  private ofLocality(text: string): RateColumns | undefined {
    const { cluster, locality } = this.localityOf(text);
    // Without a list of endpoints it is resolved by DNS, and there is one locality.
    if (locality === undefined) return this.rates.ofCluster(cluster);
    const all = locality.endpoints.flatMap(({ addresses }) => addresses.map(formatAddress));
    return this.rates.ofEndpoints(cluster, all);
  }

  private ofEndpoint(text: string): RateColumns | undefined {
    const [address = '', place = ''] = text.split(' of locality ');
    const { cluster, locality } = this.localityOf(place);
    const all = locality && this.addressesIn(locality).get(address);
    return this.rates.ofEndpoints(cluster, all ?? [address]);
  }

  private addressesIn(locality: LocalityEndpoints): ReadonlyMap<string, readonly string[]> {
    const known = this.addresses.get(locality);
    if (known !== undefined) return known;
    const created = new Map(
      locality.endpoints.map((each) => [firstAddress(each), each.addresses.map(formatAddress)]),
    );
    this.addresses.set(locality, created);
    return created;
  }

  private localityOf(text: string): {
    readonly cluster: string;
    readonly locality: LocalityEndpoints | undefined;
  } {
    const [cluster, priority, region, zone, subZone] = parseParts(text);
    const result = this.config.clusters.get(String(cluster));
    const children = result?.ok === true ? result.value.children : undefined;
    const endpoints = children?.kind === 'endpoints' ? children.endpoints : undefined;
    const locality = endpoints?.priorities[Number(priority)]?.localities.find(
      ({ locality: each }) =>
        each.region === region && each.zone === zone && each.subZone === subZone,
    );
    return { cluster: String(cluster), locality };
  }

  private routeOf(id: string): RouteKey | undefined {
    if (!id.startsWith('route ')) return undefined;
    return routesById(this.config.virtualHost).get(id);
  }
}

/** The routes of virtual hosts by the ids of their nodes. */
const routes = new WeakMap<VirtualHost, ReadonlyMap<string, RouteKey>>();

function routesById(virtualHost: VirtualHost): ReadonlyMap<string, RouteKey> {
  const known = routes.get(virtualHost);
  if (known !== undefined) return known;
  const numbers = new Map<string, number>();
  const created = new Map(
    virtualHost.routes.map((route) => {
      const key = routeKey(route, virtualHost);
      const label = key.label();
      const number = numbers.get(label) ?? 0;
      numbers.set(label, number + 1);
      return [`route ${JSON.stringify([label, number])}`, key] as const;
    }),
  );
  routes.set(virtualHost, created);
  return created;
}

function clusterOf(id: string): string {
  return id.slice('cluster '.length);
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
