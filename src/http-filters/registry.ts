import type { ServerConfig } from '../bootstrap/bootstrap';
import type {
  HttpFilterConfig,
  HttpFilterParser,
  HttpFilterParsers,
  TypedBytes,
} from '../resources/extension-points';
import { readExtension } from '../resources/shared/extension-parser';
import { createHandle, type Handle } from '../util/handle';
import type { Violations } from '../util/violations';
import type * as Definitions from './define-http-filter';
import { isClientFilter, type CallFilterFactory, type ClientFilter } from './client-filter';
import type { HttpFilter, NestedFilterParser } from './http-filter';
import { routerFilter } from './router/router-filter';
import { isServerFilter, type ServerFilter } from './server-filter';
import { lazy } from '../util/lazy';
import { XdsError } from '../util/xds-error';

const loadDefinitions = lazy<typeof Definitions>(() => require('./define-http-filter'));

/** Whether a filter can run on a side: on clients, on servers, or on either. */
type Side = (filter: HttpFilter) => boolean;

/** Where a config is. */
interface Place {
  readonly side: Side;
  readonly server: ServerConfig | undefined;
  /** Number of filters around it. */
  readonly depth: number;
}

/** What is created of a config and an override, once and as long as both are used. */
class PerConfig<T> {
  /** By config and by override; without an override, by the config again. */
  private readonly created = new WeakMap<
    HttpFilterConfig,
    WeakMap<HttpFilterConfig, { readonly value: T }>
  >();

  get(config: HttpFilterConfig, override: HttpFilterConfig | undefined, create: () => T): T {
    const known = this.created.get(config) ?? new WeakMap<HttpFilterConfig, { value: T }>();
    this.created.set(config, known);
    const key = override ?? config;
    const entry = known.get(key) ?? { value: create() };
    known.set(key, entry);
    return entry.value;
  }
}

/** The HTTP filters by the types of their configs and overrides (gRFC A39). A later registration replaces an earlier. */
export class HttpFilterRegistry implements HttpFilterParsers {
  private readonly byConfigType = new Map<string, HttpFilter>();
  private readonly byOverrideType = new Map<string, HttpFilter>();
  /** The filter that parsed a config or override, and that alone can read it, even after another replaced it. */
  private readonly makers = new WeakMap<HttpFilterConfig, HttpFilter>();
  private readonly prepared = new PerConfig<CallFilterFactory | undefined>();
  private readonly serverFilters = new PerConfig<ServerFilter | undefined>();

  constructor(filters: readonly HttpFilter[]) {
    for (const filter of filters) this.register(filter);
  }

  register(filter: HttpFilter): void {
    for (const type of filter.configTypes) this.byConfigType.set(type, filter);
    for (const type of filter.overrideTypes) this.byOverrideType.set(type, filter);
  }

  /** Registers a filter, unless one of its types is registered. */
  registerDefault(filter: HttpFilter): void {
    const { configTypes, overrideTypes } = filter;
    if (configTypes.some((type) => this.byConfigType.has(type))) return;
    if (overrideTypes.some((type) => this.byOverrideType.has(type))) return;
    this.register(filter);
  }

  isSupported(configType: string): boolean {
    return this.has(configType, isClientFilter);
  }

  /** The same filters for listeners of servers: those that servers can run are supported. */
  get forServers(): HttpFilterParser {
    return {
      isSupported: (configType) => this.has(configType, isServerFilter),
      isOverrideSupported: (configType) => this.isOverrideSupported(configType),
      isTerminal: (configType) => this.isTerminal(configType),
      parseConfig: (config, violations, server) =>
        this.parse(config, violations, { side: isServerFilter, server, depth: 0 }),
      parseOverride: (config, violations, server) => this.parseOverride(config, violations, server),
    };
  }

  isOverrideSupported(configType: string): boolean {
    return this.byOverrideType.has(configType);
  }

  isTerminal(configType: string): boolean {
    return this.byConfigType.get(configType)?.isTerminal === true;
  }

  parseConfig(
    config: TypedBytes,
    violations: Violations,
    server?: ServerConfig,
  ): HttpFilterConfig | undefined {
    return this.parse(config, violations, { side: isClientFilter, server, depth: 0 });
  }

  private parse(
    config: TypedBytes,
    violations: Violations,
    place: Place,
  ): HttpFilterConfig | undefined {
    const extension = readExtension(config, violations);
    if (extension === undefined) return undefined;
    const filter = this.byConfigType.get(extension.typeName);
    if (filter === undefined)
      return violations.add(`unsupported HTTP filter ${extension.typeName}`);
    const nested = this.nestedParser({ ...place, depth: place.depth + 1 });
    return this.remember(filter.parseConfig(extension, violations, nested), filter);
  }

  parseOverride(
    config: TypedBytes,
    violations: Violations,
    server?: ServerConfig,
  ): HttpFilterConfig | undefined {
    const extension = readExtension(config, violations);
    if (extension === undefined) return undefined;
    const filter = this.byOverrideType.get(extension.typeName);
    if (filter === undefined)
      return violations.add(`unsupported HTTP filter override ${extension.typeName}`);
    const nested = this.nestedParser({ side: () => true, server, depth: 1 });
    return this.remember(filter.parseOverride(extension, violations, nested), filter);
  }

  private nestedParser(place: Place): NestedFilterParser {
    const { side, server, depth } = place;
    return {
      depth,
      server,
      isSupported: (configType) => this.has(configType, side),
      isTerminal: (configType) => this.isTerminal(configType),
      parseConfig: (config, violations) => this.parse(config, violations, place),
    };
  }

  private has(configType: string, side: Side): boolean {
    const filter = this.byConfigType.get(configType);
    return filter !== undefined && side(filter);
  }

  /** Whether both were parsed by the same filter. */
  isOverrideOf(override: HttpFilterConfig, config: HttpFilterConfig): boolean {
    return this.makers.get(override) === this.makerOf(config);
  }

  /**
   * Creates the factory of a config and override for calls of clients, one for all routes and updates with the same two.
   *
   * @param override One for which {@link isOverrideOf} holds.
   * @param outer The overrides of the places around it, the most specific first.
   * @returns `undefined` if the filter does nothing.
   */
  prepare(
    config: HttpFilterConfig,
    override: HttpFilterConfig | undefined,
    outer: readonly HttpFilterConfig[] = [],
  ): CallFilterFactory | undefined {
    if (override !== undefined && outer.length > 0) {
      const filter = this.clientFilterOf(config);
      const fitting = outer.filter((each) => this.isOverrideOf(each, config));
      const combined = filter.combineOverrides?.(config, [override, ...fitting]);
      if (combined !== undefined) return filter.prepare(config, combined);
    }
    return this.prepared.get(config, override, () =>
      this.clientFilterOf(config).prepare(config, override),
    );
  }

  /**
   * Creates the filter of the requests of servers, one for all routes and updates with the same config and override.
   *
   * @param override One for which {@link isOverrideOf} holds.
   * @param instance The name of the filter in its chain.
   * @returns `undefined` if the filter does nothing.
   */
  createServerFilter(
    config: HttpFilterConfig,
    override: HttpFilterConfig | undefined,
    instance: string,
  ): ServerFilter | undefined {
    return this.serverFilters.get(config, override, () => {
      const filter = this.makerOf(config);
      if (isServerFilter(filter)) return filter.createServerFilter(config, override, instance);
      throw new Error(`The HTTP filter of ${config.configType} is only for clients`);
    });
  }

  /** Keeps what the calls with these configs share: see `HttpFilter.retain`. */
  retain(configs: readonly HttpFilterConfig[]): Handle {
    const handles = configs.map((config) => this.makerOf(config).retain?.(config));
    return createHandle(() => handles.forEach((handle) => handle?.release()));
  }

  private clientFilterOf(config: HttpFilterConfig): ClientFilter {
    const filter = this.makerOf(config);
    if (isClientFilter(filter)) return filter;
    throw new Error(`The HTTP filter of ${config.configType} is only for servers`);
  }

  private makerOf(config: HttpFilterConfig): HttpFilter {
    const filter = this.makers.get(config) ?? this.byConfigType.get(config.configType);
    if (filter !== undefined) return filter;
    throw new Error(`There is no HTTP filter for ${config.configType}`);
  }

  private remember(
    config: HttpFilterConfig | undefined,
    filter: HttpFilter,
  ): HttpFilterConfig | undefined {
    if (config !== undefined) this.makers.set(config, filter);
    return config;
  }
}

/**
 * The HTTP filters of this process: those of the application, and those of this package, which the composition root
 * adds. An application may register its filters before or after it calls `register`.
 */
export const processHttpFilters = new HttpFilterRegistry([routerFilter]);

/** Implements `registerHttpFilter` of the package. */
export function registerHttpFilter<Config, Override = Config>(
  definition: Definitions.HttpFilterDefinition<Config, Override>,
): void {
  const filter = loadDefinitions().defineHttpFilter(definition);
  for (const type of filter.configTypes) {
    if (processHttpFilters.isTerminal(type))
      throw new XdsError('XDS_OPTION_INVALID', `registerHttpFilter(): ${type} cannot be replaced`);
  }
  processHttpFilters.register(filter);
}
