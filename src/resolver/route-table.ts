import { toAuthority } from '../bootstrap/resource-template';
import type { XdsConfig } from '../dependency-manager/xds-config';
import type { MethodConfig } from '../grpc-js';
import type { PreparedFilter } from '../http-filters/http-filter';
import type { AuthorityRewrite } from '../lb/call-attributes';
import type {
  HashPolicy,
  HostRewrite,
  RetryPolicy,
  Route,
  VirtualHost,
} from '../resources/route-config/route-config';
import { quoteText } from '../util/cut-text';
import { createHandle, type Handle } from '../util/handle';
import { runSteps, STEP_SIZE, type Steps } from '../util/steps';
import { ClusterChoice } from './cluster-choice';
import type { ClusterRef, ClusterRefs } from './cluster-refs';
import { compileRouteFilters, compileSharedFilters, type FilterPreparer } from './filter-chain';
import { effectiveRetryPolicy, effectiveTimeoutMs, toMethodConfig } from './method-config';
import type * as Paths from '../routing/path-index';
import type { PathIndex } from '../routing/path-index';
import type { MatchedCall } from '../routing/matched-call';
import { matchesRoute } from '../routing/route-matcher';
import { late } from '../util/late';

/** Loaded when a table is made, not by a call. */
const loadPaths = late<typeof Paths>(() => require('../routing/path-index'));

/** A route compiled for calls, with everything that does not depend on the call. */
export interface CompiledRoute {
  readonly route: Route;
  /** `undefined` if calls that match must fail. */
  readonly choice: ClusterChoice | undefined;
  /** The hash policies of the action; empty if the hash of a call is random. */
  readonly hashPolicies: readonly HashPolicy[];
  /** Timeout in milliseconds, besides the application's own deadline (gRFC A31). */
  readonly timeoutMs: number | undefined;
  /** The retry policy of the route, or else of the virtual host (gRFC A44). */
  readonly retryPolicy: RetryPolicy | undefined;
  /** Timeout and retries for the host library. */
  readonly methodConfig: MethodConfig;
  /** `undefined` if the authority is not rewritten. */
  readonly authorityRewrite: AuthorityRewrite | undefined;
}

/** The inputs of a table. */
export interface RouteTableInputs {
  /** Its clusters are not used. */
  readonly config: XdsConfig;
  /** Creates the filters of the routes. */
  readonly preparer: FilterPreparer;
  /** That of the channel. */
  readonly defaultAuthority: string;
}

const MAX_UNINDEXED_ROUTES = 4;

/**
 * The routes of one virtual host. Each is compiled once, when a call first matches it: there may be hundreds of thousands,
 * and calls wait for the table. It has a reference to every cluster the routes name while it is used.
 */
export class RouteTable {
  readonly virtualHostName: string;
  private readonly routeConfigName: string;
  /** In the order in which calls are matched against them. */
  readonly routes: readonly Route[];
  // Not the config itself: a table outlives the clusters of the config that it was made from.
  private readonly virtualHost: VirtualHost;
  private readonly maxStreamDurationMs: number | undefined;
  /** The filters of clusters of routes without overrides. */
  private readonly sharedFilters: readonly PreparedFilter[];
  /** The filters of each cluster, for routes with overrides. */
  private readonly filters = new Map<Route, readonly (readonly PreparedFilter[])[]>();
  private readonly refs = new Map<string, ClusterRef>();
  /** Those that the references are to; `undefined` before there are any. */
  private clusters: ClusterRefs | undefined;
  /** Only those that a call has matched. */
  private readonly compiled = new Map<Route, CompiledRoute>();
  /** `undefined` for a small table, where trying every route is faster. */
  private readonly paths: PathIndex | undefined;
  /** Whether the route at a position is that of a call. One function, so that calls allocate none. */
  private readonly accepts = (position: number, call: MatchedCall, lists: number): boolean => {
    const match = this.routes[position]?.match;
    if (match === undefined) return false;
    return !call.spendOnPath(lists) || matchesRoute(match, call);
  };
  private readonly defaultAuthority: string;
  private users = 0;

  private constructor(inputs: RouteTableInputs) {
    const { config, preparer, defaultAuthority } = inputs;
    const { virtualHost, listener } = config;
    const { routes } = virtualHost;
    this.virtualHost = virtualHost;
    this.maxStreamDurationMs = listener.httpConnectionManager.maxStreamDurationMs;
    this.virtualHostName = virtualHost.name;
    this.routeConfigName = config.routeConfig.name;
    this.routes = routes;
    this.defaultAuthority = defaultAuthority;
    this.sharedFilters = compileSharedFilters(config, preparer);
    this.paths = routes.length > MAX_UNINDEXED_ROUTES ? new (loadPaths().PathIndex)() : undefined;
  }

  /**
   * Makes a table in steps, during which calls use another one. A step takes the time of some hundred routes. The table has
   * no references yet.
   */
  static *inSteps(inputs: RouteTableInputs): Steps<RouteTable> {
    const table = new RouteTable(inputs);
    yield* table.addRoutes(inputs);
    return table;
  }

  /** Makes a table at once, with its references. */
  static of(inputs: RouteTableInputs, clusters: ClusterRefs): RouteTable {
    const table = runSteps(RouteTable.inSteps(inputs));
    runSteps(table.acquireClusters(clusters));
    return table;
  }

  /** Acquires the references to the clusters, in steps. Those that it has are released with the table. */
  *acquireClusters(clusters: ClusterRefs): Steps<void> {
    this.clusters = clusters;
    for (const name of this.virtualHost.clusters) {
      this.refs.set(name, clusters.acquire(name));
      if (this.refs.size % STEP_SIZE === 0) yield;
    }
  }

  /** Finds the first route that matches; of a call without steps left, the one that was tried then. */
  find(call: MatchedCall): CompiledRoute | undefined {
    const { routes, paths } = this;
    if (paths === undefined) {
      for (const route of routes) if (matchesRoute(route.match, call)) return this.compile(route);
      return undefined;
    }
    const position = paths.findFirst(call.path, this.accepts, call);
    const route = position === undefined ? undefined : routes[position];
    return route && this.compile(route);
  }

  /** Describes the place of a route, for an error. */
  describePlace(route: Route): string {
    const { routes, virtualHostName, routeConfigName } = this;
    const name = route.name === '' ? '' : ` (${quoteText(route.name)})`;
    return (
      `route ${routes.indexOf(route)}${name} of ${routes.length} of virtual host ${quoteText(virtualHostName)} ` +
      `of RouteConfiguration ${quoteText(routeConfigName)}`
    );
  }

  /** Returns one of the routes as compiled for calls. */
  compile(route: Route): CompiledRoute {
    const known = this.compiled.get(route);
    if (known !== undefined) return known;
    const compiled = this.compileRoute(route);
    this.compiled.set(route, compiled);
    return compiled;
  }

  /** Acquires the table; the last release releases the clusters. */
  acquire(): Handle {
    this.users++;
    return createHandle(() => {
      if (--this.users === 0) this.clusters?.releaseAll(this.refs);
    });
  }

  private *addRoutes({ config, preparer }: RouteTableInputs): Steps<void> {
    const { routes, paths } = this;
    let work = 0;
    for (const [position, route] of routes.entries()) {
      work += stepsOf(route);
      if (work > STEP_SIZE) {
        yield;
        work = 0;
      }
      if (hasOverrides(route)) {
        this.filters.set(route, compileRouteFilters(config, route, preparer));
      }
      paths?.add(route.match.path, position);
    }
  }

  /** Returns the filters of each cluster of a route. */
  private filtersOf(route: Route): readonly (readonly PreparedFilter[])[] {
    const { sharedFilters } = this;
    const known = this.filters.get(route);
    if (known !== undefined || route.action.kind !== 'forward') return known ?? [];
    const { clusters } = route.action;
    return clusters.kind === 'cluster'
      ? [sharedFilters]
      : clusters.clusters.map(() => sharedFilters);
  }

  private compileRoute(route: Route): CompiledRoute {
    const filters = this.filtersOf(route);
    const { action } = route;
    const timeoutMs = effectiveTimeoutMs(route, this.maxStreamDurationMs);
    const retryPolicy = effectiveRetryPolicy(route, this.virtualHost);
    const forwards = action.kind === 'forward';
    const refOf = (cluster: string) => this.refOf(cluster);
    return {
      route,
      choice: forwards ? new ClusterChoice(action.clusters, refOf, filters) : undefined,
      hashPolicies: forwards ? action.hashPolicies : [],
      timeoutMs,
      retryPolicy,
      methodConfig: toMethodConfig(timeoutMs, retryPolicy),
      authorityRewrite: forwards ? this.compileRewrite(action.hostRewrite) : undefined,
    };
  }

  private compileRewrite(rewrite: HostRewrite | undefined): AuthorityRewrite | undefined {
    if (rewrite === undefined) return undefined;
    const authority = rewrite.kind === 'literal' ? toAuthority(rewrite.authority) : '';
    return { authority, defaultAuthority: this.defaultAuthority };
  }

  private refOf(cluster: string): ClusterRef {
    const ref = this.refs.get(cluster);
    if (ref === undefined) throw new Error(`A route has no reference to cluster "${cluster}"`);
    return ref;
  }
}

/** Characters of a path that are indexed in the time of one small operation. */
const INDEXED_PER_STEP = 64;

/** Returns how many small operations it takes to add a route. */
function stepsOf({ match: { path }, action }: Route): number {
  const ofPath = path.kind === 'regex' ? 0 : path.text.length / INDEXED_PER_STEP;
  const isWeighted = action.kind === 'forward' && action.clusters.kind === 'weighted';
  return 1 + ofPath + (isWeighted ? action.clusters.clusters.length : 0);
}

function hasOverrides({ filterOverrides, action }: Route): boolean {
  if (filterOverrides.size > 0) return true;
  if (action.kind !== 'forward' || action.clusters.kind === 'cluster') return false;
  return action.clusters.clusters.some((cluster) => cluster.filterOverrides.size > 0);
}
