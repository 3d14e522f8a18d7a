import type { XdsConfig } from '../dependency-manager/xds-config';
import type { Metadata, MethodConfig } from '../grpc-js';
import type { PreparedFilter } from '../http-filters/http-filter';
import type { HashPolicy, RetryPolicy, Route } from '../resources/route-config/route-config';
import { createHandle, type Handle } from '../util/handle';
import type { Random } from '../util/random';
import { ClusterChoice } from './cluster-choice';
import type { ClusterRefs } from './cluster-refs';
import { compileRouteFilters, type FilterPreparer } from './filter-chain';
import { effectiveRetryPolicy, effectiveTimeoutMs, toMethodConfig } from './method-config';
import { PathIndex } from './path-index';
import { matchesRoute } from './route-matcher';

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
}

const MAX_UNINDEXED_ROUTES = 4;
const USER_AGENT = 'user-agent';

/** The compiled routes of one virtual host, with references to all their clusters while the table is used. */
export class RouteTable {
  readonly virtualHostName: string;
  /** In the order in which calls are matched against them. */
  readonly routes: readonly CompiledRoute[];
  /** Whether a route or a hash policy reads `user-agent`, which grpc-js adds to a call after it is routed. */
  readonly readsUserAgent: boolean;
  /** `undefined` for a small table, where trying every route is faster. */
  private readonly paths: PathIndex | undefined;
  private users = 0;

  /** @param preparer Creates the filters of the routes. */
  constructor(config: XdsConfig, clusters: ClusterRefs, preparer: FilterPreparer) {
    const { virtualHost } = config;
    this.virtualHostName = virtualHost.name;
    // All filters first: their creation may throw, and then no cluster must be referenced.
    const filters = virtualHost.routes.map((route) => compileRouteFilters(config, route, preparer));
    this.routes = virtualHost.routes.map((route, i) =>
      compileRoute(route, config, clusters, filters[i] ?? []),
    );
    this.readsUserAgent = virtualHost.routes.some(readsUserAgent);
    this.paths =
      this.routes.length > MAX_UNINDEXED_ROUTES
        ? new PathIndex(virtualHost.routes.map((route) => route.match.path))
        : undefined;
  }

  /** Finds the first route that matches. */
  find(path: string, metadata: Metadata, random: Random): CompiledRoute | undefined {
    if (this.paths === undefined) {
      for (const compiled of this.routes) {
        if (matchesRoute(compiled.route.match, path, metadata, random)) return compiled;
      }
      return undefined;
    }
    const position = this.paths.findFirst(path, (candidate) => {
      const compiled = this.routes[candidate];
      return compiled !== undefined && matchesRoute(compiled.route.match, path, metadata, random);
    });
    return position === undefined ? undefined : this.routes[position];
  }

  /** Acquires the table; the last release releases the clusters. */
  acquire(): Handle {
    this.users++;
    return createHandle(() => {
      if (--this.users > 0) return;
      for (const { choice } of this.routes) choice?.release();
    });
  }
}

function compileRoute(
  route: Route,
  { virtualHost, listener }: XdsConfig,
  clusters: ClusterRefs,
  filters: readonly (readonly PreparedFilter[])[],
): CompiledRoute {
  const { action } = route;
  const { maxStreamDurationMs } = listener.httpConnectionManager;
  const timeoutMs = effectiveTimeoutMs(route, maxStreamDurationMs);
  const retryPolicy = effectiveRetryPolicy(route, virtualHost);
  const forwards = action.kind === 'forward';
  return {
    route,
    choice: forwards ? ClusterChoice.acquire(action.clusters, clusters, filters) : undefined,
    hashPolicies: forwards ? action.hashPolicies : [],
    timeoutMs,
    retryPolicy,
    methodConfig: toMethodConfig(timeoutMs, retryPolicy),
  };
}

function readsUserAgent({ match, action }: Route): boolean {
  const hashPolicies = action.kind === 'forward' ? action.hashPolicies : [];
  return (
    match.headers.some(({ name }) => name === USER_AGENT) ||
    hashPolicies.some((policy) => policy.kind === 'header' && policy.headerName === USER_AGENT)
  );
}
