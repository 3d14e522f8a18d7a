import { FilterConfig } from '../../wire/generated/envoy/config/route/v3/route_components';
import type { HttpFilter } from '../../wire/generated/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager';
import { ENVOY_FEATURES } from '../../util/feature-flags';
import { MAX_LISTENER_ELEMENTS } from '../../util/limits';
import { quoteText } from '../../util/text';
import type { Violations } from '../../util/violations';
import type { HttpFilterParser, TypedBytes } from '../extension-points';
import type { HttpFilterOverride, HttpFilterOverrides } from '../route-config/route-config';
import { decodeMessage, typeNameOf } from '../shared/any';
import { readExtension } from '../shared/extension-parser';
import type { HttpFilterInstance } from './listener';

const FILTER_CONFIG = 'envoy.config.route.v3.FilterConfig';
const noOverrides: HttpFilterOverrides = new Map();

/** The filters that clients have with the features of Envoy. */
const GUARDED: ReadonlySet<string> = new Set([
  'envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit',
]);

/** Names a filter that is not supported, and what enables it for clients. */
function describeUnsupported(typeName: string): string {
  return GUARDED.has(typeName)
    ? `${typeName}: ${ENVOY_FEATURES}=true enables it for clients`
    : typeName;
}

/**
 * Validates the filter chain of a listener (gRFC A39). An optional filter of an unknown type is left out; of
 * those that remain exactly the last must be terminal.
 */
export function parseHttpFilters(
  chain: readonly HttpFilter[],
  filters: HttpFilterParser,
  violations: Violations,
): readonly HttpFilterInstance[] {
  if (!checkLength(chain.length, violations)) return [];
  const names = new Set<string>();
  const known: { readonly typeName: string; readonly violations: Violations }[] = [];
  const instances: HttpFilterInstance[] = [];
  const before = violations.count;
  for (const [i, filter] of chain.entries()) {
    const at = violations.index(i);
    checkName(filter.name, names, at.at('name'));
    const typedConfig = readTypedConfig(filter, at);
    const extension = typedConfig && readExtension(typedConfig, at.at('typed_config'));
    if (typedConfig === undefined || extension === undefined) continue;
    const { typeName } = extension;
    if (!filters.isSupported(typeName)) {
      if (!filter.isOptional)
        at.at('typed_config').add(`unsupported HTTP filter ${describeUnsupported(typeName)}`);
      continue;
    }
    known.push({ typeName, violations: at });
    const config = filters.parseConfig(typedConfig, at.at('typed_config'));
    if (config) instances.push({ name: filter.name, config, disabled: filter.disabled });
  }
  if (known.length === 0 && violations.count === before) {
    violations.add('must have at least one supported filter, the router');
  }
  for (const [i, filter] of known.entries()) {
    const isLast = i === known.length - 1;
    if (filters.isTerminal(filter.typeName) === isLast) continue;
    filter.violations.add(
      isLast
        ? `the last filter must be terminal, as the router is; ${filter.typeName} is not`
        : `terminal filter ${filter.typeName} must be the last one`,
    );
  }
  return instances;
}

function checkLength(length: number, violations: Violations): boolean {
  if (length <= MAX_LISTENER_ELEMENTS) return true;
  violations.add(`must not have more than ${MAX_LISTENER_ELEMENTS} entries, but has ${length}`);
  return false;
}

function checkName(name: string, names: Set<string>, violations: Violations): void {
  if (name === '') violations.add('must not be empty');
  else if (names.has(name)) violations.add(`duplicate name ${quoteText(name)}`);
  names.add(name);
}

function readTypedConfig({ configType, isOptional }: HttpFilter, violations: Violations) {
  if (configType?.$case === 'typedConfig') return configType.value;
  if (configType === undefined) violations.at('typed_config').add('field not present');
  // Fetching a filter's config is not supported; an optional filter of that kind is left out.
  else if (!isOptional) violations.at('config_discovery').add('unsupported: use typed_config');
  return undefined;
}

/**
 * Reads a `typed_per_filter_config` (gRFC A39). A name that no filter has is not an error, nor is an optional
 * override of an unknown type, which is left out.
 */
export function parseFilterOverrides(
  overrides: ReadonlyMap<string, TypedBytes>,
  filters: HttpFilterParser,
  violations: Violations,
): HttpFilterOverrides {
  if (overrides.size === 0 || !checkLength(overrides.size, violations)) return noOverrides;
  const parsed = new Map<string, HttpFilterOverride>();
  for (const [name, config] of overrides) {
    const at = violations.key(name);
    const override = parseOverride(config, filters, at);
    if (override !== undefined) parsed.set(name, override);
  }
  return parsed;
}

function parseOverride(
  override: TypedBytes,
  filters: HttpFilterParser,
  violations: Violations,
): HttpFilterOverride | undefined {
  if (typeNameOf(override.typeUrl) !== FILTER_CONFIG) {
    return parseConfig(override, { isOptional: false, disabled: false }, filters, violations);
  }
  const wrapper = decodeMessage(FilterConfig, override.value, violations);
  if (wrapper === undefined) return undefined;
  // An override that only disables a filter needs no config.
  if (wrapper.config === undefined && wrapper.disabled) {
    return { config: undefined, disabled: true };
  }
  return parseConfig(wrapper.config, wrapper, filters, violations.at('config'));
}

function parseConfig(
  config: TypedBytes | undefined,
  { isOptional, disabled }: { readonly isOptional: boolean; readonly disabled: boolean },
  filters: HttpFilterParser,
  violations: Violations,
): HttpFilterOverride | undefined {
  const extension = readExtension(config, violations);
  if (config === undefined || extension === undefined) return undefined;
  if (filters.isOverrideSupported(extension.typeName)) {
    const parsed = filters.parseOverride(config, violations);
    return parsed && { config: parsed, disabled };
  }
  if (!isOptional)
    violations.add(`unsupported HTTP filter override ${describeUnsupported(extension.typeName)}`);
  // An optional filter that is switched off stays off.
  return isOptional && disabled ? { config: undefined, disabled } : undefined;
}
