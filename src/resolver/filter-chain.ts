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

/** What compiling a chain asks of the filter registry. */
export interface FilterPreparer {
  /** Whether the override is one of the filter that the config belongs to. */
  isOverrideOf(override: HttpFilterConfig, config: HttpFilterConfig): boolean;
  /** Makes a config ready for calls. @returns `undefined` if there is nothing to do for any of them. */
  prepare(
    config: HttpFilterConfig,
    override: HttpFilterConfig | undefined,
  ): CallFilterFactory | undefined;
}

/** What a chain is made from. */
export interface FilterChainInput {
  /** The filters of the listener, in order. */
  readonly filters: readonly HttpFilterInstance[];
  /** Those of the weighted cluster, the route and the virtual host: the first that names an instance counts. */
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

/**
 * The filters that have something to do for the calls of a route, in order; often none (gRFC A39). To be made once
 * per route and cluster, when the configuration arrives.
 */
export function compileFilterChain({
  filters,
  overrides,
  preparer,
}: FilterChainInput): readonly PreparedFilter[] {
  const chain: PreparedFilter[] = [];
  for (const { name, config, disabled } of filters) {
    const override = findOverride(overrides, name);
    // An override that does not switch its instance off switches it on.
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
    `The override of HTTP filter ${JSON.stringify(name)} is ${override.configType}, ` +
      `which does not fit ${config.configType}`,
  );
}

/**
 * Fails every call. Whether an override is of the right type cannot be told when the route configuration arrives,
 * since that names instances, not types; to leave it out could leave out what protects a service.
 */
function createFailingFactory(details: string): CallFilterFactory {
  return {
    create() {
      throw new CallFailedError({ code: Status.UNAVAILABLE, details });
    },
    describe: () => ({ error: details }),
  };
}
