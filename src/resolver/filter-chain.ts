import { quoteText } from '../util/cut-text';
import type { XdsConfig } from '../dependency-manager/xds-config';
import { Status } from '../grpc-js';
import { CallFailedError } from '../http-filters/call-filter';
import type { CallFilterFactory, PreparedFilter } from '../http-filters/http-filter';
import type { HttpFilterConfig } from '../resources/extension-points';
import type { HttpFilterInstance } from '../resources/listener/listener';
import type {
  HttpFilterOverride,
  HttpFilterOverrides,
  Route,
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

export interface FilterChainInput {
  /** The filters of the listener, in order. */
  readonly filters: readonly HttpFilterInstance[];
  /** Overrides of the weighted cluster, the route and the virtual host; the first for an instance applies. */
  readonly overrides: readonly HttpFilterOverrides[];
  readonly preparer: FilterPreparer;
}

/**
 * Compiles the filters of each cluster of a route, in the order of its clusters: the listener's chain with the overrides
 * of cluster, route and virtual host, the most specific winning (gRFC A39). Clusters without overrides of their own
 * share one list.
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

/** Compiles the filters of clusters of routes without overrides: the listener's chain with those of the virtual host. */
export function compileSharedFilters(
  { listener, virtualHost }: XdsConfig,
  preparer: FilterPreparer,
): readonly PreparedFilter[] {
  const filters = listener.httpConnectionManager.httpFilters;
  return compileFilterChain({ filters, overrides: [virtualHost.filterOverrides], preparer });
}

/**
 * Compiles the filters that act on the calls of a route, in order; often none (gRFC A39). Called once per route and
 * cluster, when the configuration arrives.
 */
export function compileFilterChain({
  filters,
  overrides,
  preparer,
}: FilterChainInput): readonly PreparedFilter[] {
  const chain: PreparedFilter[] = [];
  for (const { name, config, disabled } of filters) {
    const override = findOverride(overrides, name);
    // An override enables its instance, unless it disables it.
    if (override === undefined ? disabled : override.disabled) continue;
    const factory = prepare(preparer, name, config, override?.config);
    if (factory !== undefined) chain.push({ name, factory });
  }
  return chain;
}

function findOverride(
  overrides: readonly HttpFilterOverrides[],
  name: string,
): HttpFilterOverride | undefined {
  for (const byName of overrides) {
    const override = byName.get(name);
    if (override !== undefined) return override;
  }
  return undefined;
}

function prepare(
  preparer: FilterPreparer,
  name: string,
  config: HttpFilterConfig,
  override: HttpFilterConfig | undefined,
): CallFilterFactory | undefined {
  if (override === undefined || preparer.isOverrideOf(override, config)) {
    return preparer.prepare(config, override);
  }
  return createFailingFactory(
    `The override of HTTP filter ${quoteText(name)} is ${override.configType}, ` +
      `which does not fit ${config.configType}`,
  );
}

/**
 * Creates a factory that fails every call. The type of an override cannot be validated when the route configuration
 * arrives, since that names instances, not types; to ignore it could disable the protection of a service.
 */
function createFailingFactory(details: string): CallFilterFactory {
  return {
    create() {
      throw new CallFailedError({ code: Status.UNAVAILABLE, details });
    },
    describe: () => ({ error: details }),
  };
}
