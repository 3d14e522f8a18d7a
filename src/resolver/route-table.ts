import type { XdsConfig } from '../dependency-manager/xds-config';
import type { CallFilterFactory, PreparedFilter } from '../http-filters/client-filter';
import type { Route, VirtualHost } from '../resources/route-config/route-config';
import type { MatchedCall } from '../routing/matched-call';
import { RouteIndex } from '../routing/route-index';
import { quoteName, quoteText } from '../util/text';
import { createHandle, type Handle } from '../util/handle';
import type { ClusterRef, ClusterRefs } from './cluster-refs';
import { compileRoute, type CompiledRoute } from './compiled-route';
import {
  compileRouteFilters,
  compileSharedFilters,
  type FilterChainInput,
  type FilterPreparer,
} from './filter-chain';

/** The inputs of a table. */
export interface RouteTableInputs {
  /** Its clusters are not used. */
  readonly config: XdsConfig;
  /** Creates the filters of the routes. */
  readonly preparer: FilterPreparer;
  /** That of the channel. */
  readonly defaultAuthority: string;
}

/**
 * The routes of one virtual host. Each is compiled once, when a call first matches it: there may be hundreds of thousands,
 * and calls wait for the table. It has a reference to every cluster the routes name while it is used.
 */
export class RouteTable {
  readonly virtualHost: VirtualHost;
  // Not the config itself: a table outlives the clusters of the config that it was made from.
  private readonly routeConfigName: string;
  private readonly maxStreamDurationMs: number | undefined;
  private readonly defaultAuthority: string;
  private readonly filterInput: FilterChainInput;
  /** The filters of clusters of routes without overrides. */
  private readonly sharedFilters: readonly PreparedFilter[];
  private readonly index: RouteIndex;
  private readonly refs = new Map<string, ClusterRef>();
  /** Only those that a call has matched. */
  private readonly compiled = new Map<Route, CompiledRoute>();
  /** What the filters of compiled routes keep. */
  private readonly retained = new Map<CallFilterFactory, Handle>();
  private users = 0;

  constructor(
    { config, preparer, defaultAuthority }: RouteTableInputs,
    private readonly clusters: ClusterRefs,
  ) {
    const { virtualHost, listener, routeConfig } = config;
    const { httpFilters: filters, maxStreamDurationMs } = listener.httpConnectionManager;
    this.virtualHost = virtualHost;
    this.routeConfigName = routeConfig.name;
    this.maxStreamDurationMs = maxStreamDurationMs;
    this.defaultAuthority = defaultAuthority;
    this.filterInput = { filters, virtualHost, preparer, retained: this.retained };
    this.sharedFilters = compileSharedFilters(this.filterInput);
    this.index = new RouteIndex(virtualHost.routes);
    for (const name of virtualHost.clusters) this.refs.set(name, clusters.acquire(name));
    for (const [name, lbConfig] of virtualHost.plugins ?? [])
      this.refs.set(name, clusters.acquirePlugin(name, lbConfig));
  }

  /** The most steps of matching that a call takes; infinite if that is not known. */
  get maxSteps(): number {
    return this.index.maxSteps;
  }

  /**
   * Finds the first route that matches; if the steps of the call run out, the route that was being tried.
   *
   * @param isMetered Whether steps are counted, as they must be unless a call may always take `maxSteps`.
   */
  find(call: MatchedCall, isMetered = true): CompiledRoute | undefined {
    const route = this.index.find(call, isMetered);
    return route && (this.compiled.get(route) ?? this.compile(route));
  }

  /** Describes the place of a route, for an error. */
  describePlace(route: Route): string {
    const { name: hostName, routes } = this.virtualHost;
    const name = route.name === '' ? '' : ` (${quoteText(route.name)})`;
    return (
      `route ${route.index}${name} of ${routes.length} of virtual host ${quoteText(hostName)} ` +
      `of RouteConfiguration ${quoteName(this.routeConfigName)}`
    );
  }

  /** Returns one of the routes as compiled for calls. */
  compile(route: Route): CompiledRoute {
    const known = this.compiled.get(route);
    if (known !== undefined) return known;
    const { virtualHost, maxStreamDurationMs, defaultAuthority } = this;
    const compiled = compileRoute(route, {
      virtualHost,
      maxStreamDurationMs,
      defaultAuthority,
      filters: compileRouteFilters(route, this.filterInput, this.sharedFilters),
      refOf: (cluster) => this.refOf(cluster),
    });
    this.compiled.set(route, compiled);
    return compiled;
  }

  /** Acquires the table; the last release releases the clusters. */
  acquire(): Handle {
    this.users++;
    return createHandle(() => {
      if (--this.users > 0) return;
      this.clusters.releaseAll(this.refs);
      for (const handle of this.retained.values()) handle.release();
    });
  }

  private refOf(cluster: string): ClusterRef {
    const ref = this.refs.get(cluster);
    if (ref === undefined)
      throw new Error(`A route has no reference to cluster ${quoteName(cluster)}`);
    return ref;
  }
}
