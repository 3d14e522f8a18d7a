import type { ServerConfig } from '../../bootstrap/bootstrap';
import { FilterConfig } from '../../wire/generated/envoy/config/route/v3/route_components';
import type { HttpFilter } from '../../wire/generated/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager';
import { ENVOY_FEATURES, EXT_AUTHZ_ON_CLIENT, EXT_AUTHZ_ON_SERVER } from '../../util/feature-flags';
import { MAX_LISTENER_ELEMENTS } from '../../util/limits';
import { quoteText } from '../../util/text';
import type { Violations } from '../../util/violations';
import type { HttpFilterParser, ParseContext, TypedBytes } from '../extension-points';
import type { HttpFilterOverride, HttpFilterOverrides } from '../route-config/route-config';
import { decodeMessage, typeNameOf } from '../shared/any';
import { readExtension } from '../shared/extension-parser';
import type { HttpFilterInstance } from './listener';

type OverrideContext = Pick<ParseContext, 'extensions' | 'server'>;

const FILTER_CONFIG = 'envoy.config.route.v3.FilterConfig';
const noOverrides: HttpFilterOverrides = new Map();

/**
 * Validates the filter chain of a listener (gRFC A39). An optional filter of an unknown type is left out; of
 * those that remain exactly the last must be terminal.
 */
export function parseHttpFilters(
  chain: readonly HttpFilter[],
  filters: HttpFilterParser,
  server: ServerConfig,
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
      if (!filter.isOptional) at.at('typed_config').add(describeUnsupported('filter', typeName));
      continue;
    }
    known.push({ typeName, violations: at });
    const config = filters.parseConfig(typedConfig, at.at('typed_config'), server);
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

const ENVOY_SWITCH = `${ENVOY_FEATURES}=true enables`;
const EXT_AUTHZ_SWITCH = `${EXT_AUTHZ_ON_CLIENT}=true enables on clients and ${EXT_AUTHZ_ON_SERVER}=true on servers`;

/** What enables filters that are off by default. */
const SWITCHES: ReadonlyMap<string, string> = new Map([
  ['envoy.extensions.filters.http.ext_authz.v3.ExtAuthz', EXT_AUTHZ_SWITCH],
  ['envoy.extensions.filters.http.ext_authz.v3.ExtAuthzPerRoute', EXT_AUTHZ_SWITCH],
  ['envoy.extensions.filters.http.header_mutation.v3.HeaderMutation', ENVOY_SWITCH],
  ['envoy.extensions.filters.http.header_mutation.v3.HeaderMutationPerRoute', ENVOY_SWITCH],
  ['envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit', ENVOY_SWITCH],
]);

function describeUnsupported(kind: string, typeName: string): string {
  const enabled = SWITCHES.get(typeName);
  return `unsupported HTTP ${kind} ${typeName}${enabled === undefined ? '' : `, which ${enabled}`}`;
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
  context: OverrideContext,
  violations: Violations,
): HttpFilterOverrides {
  if (overrides.size === 0 || !checkLength(overrides.size, violations)) return noOverrides;
  const parsed = new Map<string, HttpFilterOverride>();
  for (const [name, config] of overrides) {
    const at = violations.key(name);
    const override = parseOverride(config, context, at);
    if (override !== undefined) parsed.set(name, override);
  }
  return parsed;
}

function parseOverride(
  override: TypedBytes,
  context: OverrideContext,
  violations: Violations,
): HttpFilterOverride | undefined {
  if (typeNameOf(override.typeUrl) !== FILTER_CONFIG) {
    return parseConfig(override, { isOptional: false, disabled: false }, context, violations);
  }
  const wrapper = decodeMessage(FilterConfig, override.value, violations);
  if (wrapper === undefined) return undefined;
  // An override that only disables a filter needs no config.
  if (wrapper.config === undefined && wrapper.disabled) {
    return { config: undefined, disabled: true };
  }
  return parseConfig(wrapper.config, wrapper, context, violations.at('config'));
}

function parseConfig(
  config: TypedBytes | undefined,
  { isOptional, disabled }: { readonly isOptional: boolean; readonly disabled: boolean },
  { extensions: { httpFilters: filters }, server }: OverrideContext,
  violations: Violations,
): HttpFilterOverride | undefined {
  const extension = readExtension(config, violations);
  if (config === undefined || extension === undefined) return undefined;
  if (filters.isOverrideSupported(extension.typeName)) {
    const parsed = filters.parseOverride(config, violations, server);
    return parsed && { config: parsed, disabled };
  }
  if (!isOptional) violations.add(describeUnsupported('filter override', extension.typeName));
  // An optional filter that is switched off stays off.
  return isOptional && disabled ? { config: undefined, disabled } : undefined;
}
