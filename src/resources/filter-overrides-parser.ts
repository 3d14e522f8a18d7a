import { FilterConfig } from '../generated/envoy/config/route/v3/route_components';
import type { Violations } from '../util/violations';
import type { HttpFilterParser, TypedBytes } from './extension-points';
import type { HttpFilterOverride, HttpFilterOverrides } from './route-config';
import { decodeMessage, typeNameOf } from './shared/any';
import { readExtension } from './shared/extension-parser';

const FILTER_CONFIG = 'envoy.config.route.v3.FilterConfig';
const noOverrides: HttpFilterOverrides = new Map();

/**
 * Reads a `typed_per_filter_config` (gRFC A39). A name that no filter has is not an error, nor is an optional
 * override of an unknown type, which is left out.
 */
export function parseFilterOverrides(
  overrides: ReadonlyMap<string, TypedBytes>,
  filters: HttpFilterParser,
  violations: Violations,
): HttpFilterOverrides {
  if (overrides.size === 0) return noOverrides;
  const parsed = new Map<string, HttpFilterOverride>();
  for (const [name, config] of overrides) {
    const at = violations.key(name);
    if (name === '') at.add('the name of a filter must not be empty');
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
  // What only switches a filter off needs no config.
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
  if (!isOptional) violations.add(`unsupported HTTP filter override ${extension.typeName}`);
  // An optional filter that is switched off stays off.
  return isOptional && disabled ? { config: undefined, disabled } : undefined;
}
