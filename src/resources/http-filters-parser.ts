import type { HttpFilter } from '../generated/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager';
import type { Violations } from '../util/violations';
import type { HttpFilterParser } from './extension-points';
import type { HttpFilterInstance } from './listener';
import { readExtension } from './shared/extension-parser';

/**
 * Validates the filter chain of a listener (gRFC A39). An optional filter of an unknown type is left out; of
 * those that remain exactly the last must be terminal.
 */
export function parseHttpFilters(
  chain: readonly HttpFilter[],
  filters: HttpFilterParser,
  violations: Violations,
): readonly HttpFilterInstance[] {
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
      if (!filter.isOptional) at.at('typed_config').add(`unsupported HTTP filter ${typeName}`);
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

function checkName(name: string, names: Set<string>, violations: Violations): void {
  if (name === '') violations.add('must not be empty');
  else if (names.has(name)) violations.add(`duplicate name ${JSON.stringify(name)}`);
  names.add(name);
}

function readTypedConfig({ configType, isOptional }: HttpFilter, violations: Violations) {
  if (configType?.$case === 'typedConfig') return configType.value;
  if (configType === undefined) violations.at('typed_config').add('field not present');
  // Fetching a filter's config is not supported; an optional filter of that kind can be done without.
  else if (!isOptional) violations.at('config_discovery').add('unsupported: use typed_config');
  return undefined;
}
