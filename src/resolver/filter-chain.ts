import { Status } from '../grpc-js';
import { CallFailedError } from '../http-filters/call-filter';
import type { CallFilterFactory, PreparedFilter } from '../http-filters/client-filter';
import { enabledFilters, findMisfit } from '../http-filters/filter-overrides';
import type * as RouteHeaders from '../http-filters/header-mutation/header-mutation-filter';
import type { HttpFilterConfig } from '../resources/extension-points';
import type { HttpFilterInstance } from '../resources/listener/listener';
import type {
  HeaderPlace,
  HttpFilterOverrides,
  Route,
  VirtualHost,
} from '../resources/route-config/route-config';
import type { HeaderMutations } from '../resources/shared/header-mutation';
import type { Handle } from '../util/handle';
import { lazy } from '../util/lazy';

/** Loaded for the first route that changes headers. */
const loadRouteHeaders = lazy<typeof RouteHeaders>(() =>
  require('../http-filters/header-mutation/header-mutation-filter'),
);

/** The used part of the filter registry. */
export interface FilterPreparer {
  isOverrideOf(override: HttpFilterConfig, config: HttpFilterConfig): boolean;
  /** Creates the factory of a config. @returns `undefined` if the filter does nothing. */
  prepare(
    config: HttpFilterConfig,
    override: HttpFilterConfig | undefined,
    outer?: readonly HttpFilterConfig[],
  ): CallFilterFactory | undefined;
}

/** A place with overrides of filters. */
type FilterPlace = HeaderPlace & { readonly filterOverrides: HttpFilterOverrides };

/** What the filters of routes are compiled from. */
export interface FilterChainInput {
  /** The filters of the listener, in order. */
  readonly filters: readonly HttpFilterInstance[];
  readonly virtualHost: Pick<VirtualHost, 'filterOverrides' | 'headerMutations'>;
  readonly preparer: FilterPreparer;
  /** What the filters keep for their calls. Default: nothing is kept. */
  readonly retained?: Map<CallFilterFactory, Handle>;
}

/** Compiles the filters of clusters of routes without overrides: the listener's chain with those of the virtual host. */
export function compileSharedFilters(input: FilterChainInput): readonly PreparedFilter[] {
  return compileFilterChain(input, [input.virtualHost]);
}

/**
 * Compiles the filters of each cluster of a route, in the order of its clusters: the listener's chain with the overrides
 * of cluster, route and virtual host, the most specific winning (gRFC A39).
 *
 * @param shared What {@link compileSharedFilters} returned: clusters without overrides have this list.
 */
export function compileRouteFilters(
  route: Route,
  input: FilterChainInput,
  shared: readonly PreparedFilter[],
): readonly (readonly PreparedFilter[])[] {
  const { action } = route;
  if (action.kind !== 'forward') return [];
  const inherited = [route, input.virtualHost];
  const ofRoute =
    route.filterOverrides.size === 0 && route.headerMutations === undefined
      ? shared
      : compileFilterChain(input, inherited);
  if (action.clusters.kind !== 'weighted') return [ofRoute];
  return action.clusters.clusters.map((cluster) =>
    cluster.filterOverrides.size === 0 && cluster.headerMutations === undefined
      ? ofRoute
      : compileFilterChain(input, [cluster, ...inherited]),
  );
}

/**
 * Compiles the filters that act on the calls of a route, in order; often none (gRFC A39).
 *
 * @param places The weighted cluster, the route and the virtual host; the first override of an instance applies.
 */
export function compileFilterChain(
  { filters, preparer, retained }: Omit<FilterChainInput, 'virtualHost'>,
  places: readonly FilterPlace[],
): readonly PreparedFilter[] {
  const chain: PreparedFilter[] = [];
  const overrides: HttpFilterOverrides[] = [];
  const mutations: HeaderMutations[] = [];
  for (const { filterOverrides, headerMutations } of places) {
    overrides.push(filterOverrides);
    if (headerMutations !== undefined) mutations.push(headerMutations);
  }
  for (const filter of enabledFilters(filters, overrides)) {
    const misfit = findMisfit(filter, preparer);
    const factory =
      misfit === undefined
        ? preparer.prepare(filter.config, filter.override, filter.outer)
        : createFailingFactory(misfit);
    if (factory === undefined) continue;
    chain.push({ name: filter.name, factory });
    if (factory.retain !== undefined && retained?.has(factory) === false) {
      retained.set(factory, factory.retain());
    }
  }
  if (mutations.length === 0) return chain;
  const factory = loadRouteHeaders().prepareRouteHeaders(mutations);
  if (factory !== undefined) chain.push({ name: 'the headers of the route', factory });
  return chain;
}

/** Creates a factory that fails every call. */
function createFailingFactory(details: string): CallFilterFactory {
  return {
    create() {
      throw new CallFailedError({ code: Status.UNAVAILABLE, details });
    },
    describe: () => ({ error: details }),
  };
}
