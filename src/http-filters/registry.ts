import type { HttpFilterConfig, HttpFilterParser, TypedBytes } from '../resources/extension-points';
import { readExtension } from '../resources/shared/extension-parser';
import type { Violations } from '../util/violations';
import type { CallFilterFactory, HttpFilter } from './http-filter';

/** What a config was made into; nothing if there is nothing to do for any call. */
interface Prepared {
  readonly factory: CallFilterFactory | undefined;
}

/** The HTTP filters there are, by the types of their configs and overrides (gRFC A39). Later registrations win. */
export class HttpFilterRegistry implements HttpFilterParser {
  private readonly byConfigType = new Map<string, HttpFilter>();
  private readonly byOverrideType = new Map<string, HttpFilter>();
  /** Which filter made a config or override. It alone knows what is in it, even after another took its place. */
  private readonly makers = new WeakMap<HttpFilterConfig, HttpFilter>();
  /** By config, and by override or, where there is none, the config again. */
  private readonly prepared = new WeakMap<HttpFilterConfig, WeakMap<HttpFilterConfig, Prepared>>();

  constructor(filters: readonly HttpFilter[]) {
    for (const filter of filters) this.register(filter);
  }

  /** Makes a filter available under all of its types. */
  register(filter: HttpFilter): void {
    for (const type of filter.configTypes) this.byConfigType.set(type, filter);
    for (const type of filter.overrideTypes) this.byOverrideType.set(type, filter);
  }

  /** Makes a filter available, unless there is one of its types already. */
  registerDefault(filter: HttpFilter): void {
    const { configTypes, overrideTypes } = filter;
    if (configTypes.some((type) => this.byConfigType.has(type))) return;
    if (overrideTypes.some((type) => this.byOverrideType.has(type))) return;
    this.register(filter);
  }

  isSupported(configType: string): boolean {
    return this.byConfigType.has(configType);
  }

  isOverrideSupported(configType: string): boolean {
    return this.byOverrideType.has(configType);
  }

  isTerminal(configType: string): boolean {
    return this.byConfigType.get(configType)?.isTerminal === true;
  }

  /** @param depth How many filters this one is nested in. */
  parseConfig(config: TypedBytes, violations: Violations, depth = 0): HttpFilterConfig | undefined {
    const extension = readExtension(config, violations);
    if (extension === undefined) return undefined;
    const filter = this.byConfigType.get(extension.typeName);
    if (filter !== undefined) {
      return this.remember(filter.parseConfig(extension, violations, depth), filter);
    }
    violations.add(`unsupported HTTP filter ${extension.typeName}`);
    return undefined;
  }

  parseOverride(config: TypedBytes, violations: Violations): HttpFilterConfig | undefined {
    const extension = readExtension(config, violations);
    if (extension === undefined) return undefined;
    const filter = this.byOverrideType.get(extension.typeName);
    if (filter !== undefined) {
      return this.remember(filter.parseOverride(extension, violations), filter);
    }
    violations.add(`unsupported HTTP filter override ${extension.typeName}`);
    return undefined;
  }

  /** Whether both were made by the same filter. */
  isOverrideOf(override: HttpFilterConfig, config: HttpFilterConfig): boolean {
    return this.makers.get(override) === this.makerOf(config);
  }

  /**
   * Makes a config ready for calls. The same config and override give the same factory, for all routes and for as
   * long as updates leave them alone.
   *
   * @param override One for which {@link isOverrideOf} holds.
   * @returns `undefined` if there is nothing to do for any call.
   */
  prepare(
    config: HttpFilterConfig,
    override: HttpFilterConfig | undefined,
  ): CallFilterFactory | undefined {
    const known = this.prepared.get(config) ?? new WeakMap<HttpFilterConfig, Prepared>();
    const key = override ?? config;
    const prepared = known.get(key) ?? { factory: this.makerOf(config).prepare(config, override) };
    known.set(key, prepared);
    this.prepared.set(config, known);
    return prepared.factory;
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
