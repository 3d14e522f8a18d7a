import type { XdsConfig } from '../dependency-manager/xds-config';
import type { Metadata, MethodConfig } from '../grpc-js';
import type { HashPolicy, Route } from '../resources/route-config';
import type { Random } from '../util/random';
import { ClusterChoice } from './cluster-choice';
import type { ClusterRefs } from './cluster-refs';
import type { FilterPreparer } from './filter-chain';
import { buildMethodConfig } from './method-config';
import { PathIndex } from './path-index';
import { compileRouteFilters } from './route-filters';
import { matchesRoute } from './route-matcher';

/** A route made ready for calls: everything that does not depend on the call is worked out. */
export interface CompiledRoute {
  readonly route: Route;
  /** `undefined` if calls that match must fail. */
  readonly choice: ClusterChoice | undefined;
  /** Those of the action; empty if the hash of a call is random. */
  readonly hashPolicies: readonly HashPolicy[];
  readonly methodConfig: MethodConfig;
}

const MAX_UNINDEXED_ROUTES = 4;
const USER_AGENT = 'user-agent';

/**
 * The routes of one virtual host, compiled once. Holds every cluster the routes name until the last
 * config selector made from it is gone.
 */
export class RouteTable {
  private readonly routes: readonly CompiledRoute[];
  /** `undefined` for a table so small that going through it is faster. */
  private readonly paths: PathIndex | undefined;
  /** Whether a route or a hash policy goes by `user-agent`, which grpc-js adds to a call after it is routed. */
  readonly readsUserAgent: boolean;
  private holders = 0;

  /** @param preparer Makes the filters of the routes. */
  constructor(config: XdsConfig, clusters: ClusterRefs, preparer: FilterPreparer) {
    const { virtualHost, listener } = config;
    const { maxStreamDurationMs } = listener.httpConnectionManager;
    // All filters first: they are made by code that may throw, and then no cluster may be left referenced.
    const filters = virtualHost.routes.map((route) => compileRouteFilters(config, route, preparer));
    this.routes = virtualHost.routes.map((route, i) => ({
      route,
      choice:
        route.action.kind === 'forward'
          ? ClusterChoice.hold(route.action.clusters, clusters, filters[i] ?? [])
          : undefined,
      hashPolicies: route.action.kind === 'forward' ? route.action.hashPolicies : [],
      methodConfig: buildMethodConfig(route, virtualHost, maxStreamDurationMs),
    }));
    this.readsUserAgent = virtualHost.routes.some(readsUserAgent);
    this.paths =
      this.routes.length > MAX_UNINDEXED_ROUTES
        ? new PathIndex(virtualHost.routes.map((route) => route.match.path))
        : undefined;
  }

  /** The first route that matches. */
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

  /** Takes a hold on the whole table. */
  hold(): void {
    this.holders++;
  }

  /** Lets go of one hold; the last one lets go of every cluster. */
  letGo(): void {
    if (--this.holders > 0) return;
    for (const { choice } of this.routes) choice?.letGo();
  }
}

function readsUserAgent({ match, action }: Route): boolean {
  const hashPolicies = action.kind === 'forward' ? action.hashPolicies : [];
  return (
    match.headers.some(({ name }) => name === USER_AGENT) ||
    hashPolicies.some((policy) => policy.kind === 'header' && policy.headerName === USER_AGENT)
  );
}
