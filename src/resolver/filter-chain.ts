import { Status } from '../grpc-js';
import { CallFailedError } from '../http-filters/call-filter';
import type { CallFilterFactory, PreparedFilter } from '../http-filters/client-filter';
import { enabledFilters, findMisfit } from '../http-filters/filter-overrides';
import type { HttpFilterConfig } from '../resources/extension-points';
import type { HttpFilterInstance } from '../resources/listener/listener';
import type {
  HttpFilterOverrides,
  Route,
  VirtualHost,
} from '../resources/route-config/route-config';

/** The used part of the filter registry. */
export interface FilterPreparer {
  isOverrideOf(override: HttpFilterConfig, config: HttpFilterConfig): boolean;
  /** Creates the factory of a config. @returns `undefined` if the filter does nothing. */
  prepare(
    config: HttpFilterConfig,
    override: HttpFilterConfig | undefined,
  ): CallFilterFactory | undefined;
}

/** What the filters of routes are compiled from. */
export interface FilterChainInput {
  /** The filters of the listener, in order. */
  readonly filters: readonly HttpFilterInstance[];
  readonly virtualHost: Pick<VirtualHost, 'filterOverrides'>;
  readonly preparer: FilterPreparer;
}

/** Compiles the filters of clusters of routes without overrides: the listener's chain with those of the virtual host. */
export function compileSharedFilters(input: FilterChainInput): readonly PreparedFilter[] {
  return compileFilterChain(input, [input.virtualHost.filterOverrides]);
}

/**
 * Compiles the filters of each cluster of a route, in the order of its clusters: the listener's chain with the overrides
 * of cluster, route and virtual host, the most specific winning (gRFC A39).
 *
 * @param shared What {@link compileSharedFilters} returned: clusters without overrides have this list.
 */
export function compileRouteFilters(
  { action, filterOverrides }: Route,
  input: FilterChainInput,
  shared: readonly PreparedFilter[],
): readonly (readonly PreparedFilter[])[] {
  if (action.kind !== 'forward') return [];
  const inherited = [filterOverrides, input.virtualHost.filterOverrides];
  const ofRoute = filterOverrides.size === 0 ? shared : compileFilterChain(input, inherited);
  if (action.clusters.kind !== 'weighted') return [ofRoute];
  return action.clusters.clusters.map((cluster) =>
    cluster.filterOverrides.size === 0
      ? ofRoute
      : compileFilterChain(input, [cluster.filterOverrides, ...inherited]),
  );
}

/**
 * Compiles the filters that act on the calls of a route, in order; often none (gRFC A39).
 *
 * @param overrides Of the weighted cluster, the route and the virtual host; the first for an instance applies.
 */
export function compileFilterChain(
  { filters, preparer }: Pick<FilterChainInput, 'filters' | 'preparer'>,
  overrides: readonly HttpFilterOverrides[],
): readonly PreparedFilter[] {
  const chain: PreparedFilter[] = [];
  for (const filter of enabledFilters(filters, overrides)) {
    const misfit = findMisfit(filter, preparer);
    const factory =
      misfit === undefined
        ? preparer.prepare(filter.config, filter.override)
        : createFailingFactory(misfit);
    if (factory !== undefined) chain.push({ name: filter.name, factory });
  }
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
