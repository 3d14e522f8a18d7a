import type { Clock } from '../../util/clock';
import { CallMeter } from './call-meter';
import { RouteRates, type RouteKey } from './route-rates';
import type { SplitRates } from './split-rates';

/** The routes of a target that are counted one by one. */
const MAX_ROUTES = 1000;

/** One cluster of a channel, as its policies know it. */
export interface RatedCluster {
  readonly cluster: string;
  /** Finds the object that the attempts on an endpoint are counted by. @param address Such as `10.0.0.1:80`. */
  find(address: string): object | undefined;
}

/** The calls of one target, of all its channels. */
export class TargetRates {
  readonly calls = new CallMeter();
  private readonly byRoute = new WeakMap<object, RouteRates>();
  private readonly byLabel = new Map<string, RouteRates[]>();
  private routeCount = 0;
  /** The routes that the count was last reduced to. */
  private pruned: readonly object[] | undefined;
  private readonly clusters = new Map<string, Set<RatedCluster>>();
  /** Those of clusters, and of their endpoints: they end with these. */
  private readonly attempts = new WeakMap<object, CallMeter>();

  /** @param sinceMs When counting began, by the monotonic clock. */
  constructor(readonly sinceMs: number) {}

  /** Counts the start of a call. */
  startCall(clock: Pick<Clock, 'monotonicMs'>): RatedCall {
    return new RatedCall(this, clock);
  }

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
    before.change(route);
    this.byRoute.set(route, before);
    return before;
  }

  /** Returns the attempts on all connections of a cluster, which is in the target from then on until it is removed. */
  attemptsOf(cluster: RatedCluster): CallMeter {
    const known = this.attempts.get(cluster);
    if (known !== undefined) return known;
    const { cluster: name } = cluster;
    const ofName = this.clusters.get(name) ?? new Set();
    this.clusters.set(name, ofName.add(cluster));
    return this.createMeter(cluster);
  }

  /** Returns the attempts on the connections to an endpoint, which is known by an object. */
  attemptsOn(endpoint: object): CallMeter {
    return this.attempts.get(endpoint) ?? this.createMeter(endpoint);
  }

  /** The cluster has ended. */
  removeCluster(cluster: RatedCluster): void {
    const ofName = this.clusters.get(cluster.cluster);
    ofName?.delete(cluster);
    if (ofName?.size === 0) this.clusters.delete(cluster.cluster);
  }

  /** Returns what was counted of a cluster: by each channel of the target, and each way in which it uses it. */
  findCluster(name: string): readonly CallMeter[] {
    return [...(this.clusters.get(name) ?? [])].map((cluster) => this.attemptsOf(cluster));
  }

  /** Returns the names of the clusters that are counted. */
  clusterNames(): readonly string[] {
    return [...this.clusters.keys()];
  }

  /** Returns what was counted of endpoints of a cluster. */
  findEndpoints(name: string, addresses: Iterable<string>): readonly CallMeter[] {
    const clusters = [...(this.clusters.get(name) ?? [])];
    const found: CallMeter[] = [];
    for (const address of addresses) {
      for (const cluster of clusters) {
        const endpoint = cluster.find(address);
        const meter = endpoint && this.attempts.get(endpoint);
        if (meter !== undefined) found.push(meter);
      }
    }
    return found;
  }

  private createRoute(key: RouteKey): RouteRates | undefined {
    const { route, routes } = key;
    if (this.routeCount >= MAX_ROUTES) this.prune(routes);
    if (this.routeCount >= MAX_ROUTES) return undefined;
    const created = new RouteRates(route);
    const text = key.label();
    this.byLabel.set(text, [...(this.byLabel.get(text) ?? []), created]);
    this.byRoute.set(route, created);
    this.routeCount++;
    return created;
  }

  private createMeter(of: object): CallMeter {
    const created = new CallMeter();
    this.attempts.set(of, created);
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

/** A call of a channel while calls are counted: counts it for its target, its route and the cluster that the route gives it to. */
export class RatedCall {
  private readonly startedAtMs: number;
  private route: RouteRates | undefined = undefined;
  private split: SplitRates | undefined = undefined;

  /** Counts the start. */
  constructor(
    private readonly target: TargetRates,
    private readonly clock: Pick<Clock, 'monotonicMs'>,
  ) {
    this.startedAtMs = clock.monotonicMs();
    target.calls.start(this.startedAtMs);
  }

  /** The call matches a route. @param cluster Drawn for it; absent if the call fails. */
  onRouted(key: RouteKey, cluster?: string): void {
    const nowMs = this.clock.monotonicMs();
    this.route = this.target.route(key);
    this.route?.calls.start(nowMs);
    if (cluster !== undefined) this.startSplit(cluster, nowMs);
  }

  /** A filter sends the call to another cluster of its route. */
  onMoved(cluster: string): void {
    const nowMs = this.clock.monotonicMs();
    this.split?.withdraw(nowMs);
    this.startSplit(cluster, nowMs);
  }

  /** @param code The status that the application gets. */
  end(code: number): void {
    const nowMs = this.clock.monotonicMs();
    const latencyMs = nowMs - this.startedAtMs;
    this.target.calls.end(nowMs, code, latencyMs);
    this.route?.calls.end(nowMs, code, latencyMs);
    this.split?.calls.end(nowMs, code, latencyMs);
  }

  private startSplit(cluster: string, nowMs: number): void {
    this.split = this.route?.split(cluster);
    this.split?.start(nowMs);
  }
}
