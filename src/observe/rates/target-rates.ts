import { createHandle, type Handle } from '../../util/handle';
import { CallMeter } from './call-meter';

/** The routes of a target that are counted one by one, and the clusters of one route. */
const MAX_ROUTES = 1000;
const MAX_SPLITS = 100;

/** A route of a virtual host, as those who count and those who read know it. */
export interface RouteKey {
  /** The same object while the route does not change. */
  readonly route: object;
  /** All routes of its virtual host. */
  readonly routes: readonly object[];
  /** Returns what names the route when it has changed. */
  readonly label: () => string;
}

/** The calls of one route. */
export class RouteRates {
  readonly calls = new CallMeter();
  /** By the name of the cluster. */
  private readonly splits = new Map<string, CallMeter>();

  /** @param route Its latest version. */
  constructor(public route: object) {}

  /** Returns the calls that one cluster of the route gets; `undefined` if there are too many clusters. */
  split(cluster: string): CallMeter | undefined {
    const known = this.splits.get(cluster);
    if (known !== undefined || this.splits.size >= MAX_SPLITS) return known;
    const created = new CallMeter();
    this.splits.set(cluster, created);
    return created;
  }

  /** Returns the same; `undefined` if the cluster got no call. */
  findSplit(cluster: string): CallMeter | undefined {
    return this.splits.get(cluster);
  }
}

/** The attempts of calls on the connections of one cluster of a channel. */
export interface ClusterAttempts {
  /** Those of all endpoints; `undefined` before the first. */
  readonly attempts: CallMeter | undefined;
  /** Returns those of an endpoint. @param address Such as `10.0.0.1:80`. */
  ofEndpoint(address: string): CallMeter | undefined;
}

/** The calls of one target, of all its channels. */
export class TargetRates {
  readonly calls = new CallMeter();
  private readonly byRoute = new WeakMap<object, RouteRates>();
  private readonly byLabel = new Map<string, RouteRates[]>();
  private routeCount = 0;
  /** The routes that the count was last reduced to. */
  private pruned: readonly object[] | undefined;
  private readonly clusters = new Map<string, Set<ClusterAttempts>>();

  /** Returns the rates of a route; `undefined` if there are too many routes. */
  route(key: RouteKey): RouteRates | undefined {
    return this.findRoute(key) ?? this.createRoute(key);
  }

  /** Returns the same; `undefined` if the route got no call. A route that has changed goes on with what it had. */
  findRoute(key: RouteKey): RouteRates | undefined {
    const { route, routes } = key;
    const known = this.byRoute.get(route);
    if (known !== undefined || this.routeCount === 0) return known;
    const before = this.byLabel.get(key.label())?.find((each) => !routes.includes(each.route));
    if (before === undefined) return undefined;
    before.route = route;
    this.byRoute.set(route, before);
    return before;
  }

  /** Adds a cluster of a channel of the target. The handle removes it. */
  addCluster(name: string, cluster: ClusterAttempts): Handle {
    const known = this.clusters.get(name) ?? new Set();
    this.clusters.set(name, known);
    known.add(cluster);
    return createHandle(() => {
      known.delete(cluster);
      if (known.size === 0) this.clusters.delete(name);
    });
  }

  /** Returns a cluster of the target, as each of its channels, and each way to it, has it. */
  cluster(name: string): Iterable<ClusterAttempts> {
    return this.clusters.get(name) ?? [];
  }

  private createRoute({ route, routes, label }: RouteKey): RouteRates | undefined {
    if (this.routeCount >= MAX_ROUTES) this.prune(routes);
    if (this.routeCount >= MAX_ROUTES) return undefined;
    const created = new RouteRates(route);
    const text = label();
    this.byLabel.set(text, [...(this.byLabel.get(text) ?? []), created]);
    this.byRoute.set(route, created);
    this.routeCount++;
    return created;
  }

  /** Forgets the routes that are no more, once for each list of routes. */
  private prune(routes: readonly object[]): void {
    if (this.pruned === routes) return;
    this.pruned = routes;
    const live = new Set(routes);
    this.routeCount = 0;
    for (const [label, all] of this.byLabel) {
      const left = all.filter(({ route }) => live.has(route));
      this.routeCount += left.length;
      if (left.length === 0) this.byLabel.delete(label);
      else this.byLabel.set(label, left);
    }
  }
}
