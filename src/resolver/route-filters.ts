import type { XdsConfig } from '../dependency-manager/xds-config';
import type { PreparedFilter } from '../http-filters/http-filter';
import type { HttpFilterOverrides, Route } from '../resources/route-config';
import { compileFilterChain, type FilterPreparer } from './filter-chain';

/**
 * The filters of each cluster of a route, in the order of its clusters: the listener's chain with the overrides
 * of cluster, route and virtual host, the most specific winning (gRFC A39). Clusters without overrides of their
 * own share one list.
 */
export function compileRouteFilters(
  { listener, virtualHost }: XdsConfig,
  route: Route,
  preparer: FilterPreparer,
): readonly (readonly PreparedFilter[])[] {
  if (route.action.kind !== 'forward') return [];
  const filters = listener.httpConnectionManager.httpFilters;
  const compile = (overrides: readonly HttpFilterOverrides[]) =>
    compileFilterChain({ filters, overrides, preparer });
  const inherited = [route.filterOverrides, virtualHost.filterOverrides];
  const shared = compile(inherited);
  if (route.action.clusters.kind === 'cluster') return [shared];
  return route.action.clusters.clusters.map(({ filterOverrides }) =>
    filterOverrides.size === 0 ? shared : compile([filterOverrides, ...inherited]),
  );
}
