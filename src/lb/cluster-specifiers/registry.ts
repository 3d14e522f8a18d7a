import type { ClusterSpecifierParser, LbConfig } from '../../resources/extension-points';
import { typeNameOf } from '../../resources/shared/any';
import { readExtension, type ExtensionConfig } from '../../resources/shared/extension-parser';
import { parseContained } from '../../util/contained';
import { lazy } from '../../util/lazy';
import type { Violations } from '../../util/violations';
import { XdsError } from '../../util/xds-error';
import type * as RlsPlugin from '../rls/plugin';
import type { ClusterSpecifierPluginDefinition } from './definition';

const loadRlsPlugin = lazy<typeof RlsPlugin>(() => require('../rls/plugin'));

/** Parses the JSON list of policies that a plugin returns. */
type ParsePolicies = (json: unknown) => LbConfig | undefined;

/**
 * Converts the config of a plugin to that of the load-balancing policy that chooses the clusters of its routes.
 * @returns `undefined` after adding a violation.
 */
type Convert = (
  config: ExtensionConfig,
  violations: Violations,
  parsePolicies: ParsePolicies,
) => LbConfig | undefined;

/** The plugins of this process, by the types of their configs. */
const plugins = new Map<string, Convert>([
  [
    'grpc.lookup.v1.RouteLookupClusterSpecifier',
    (config, violations) => loadRlsPlugin().parseRlsPlugin(config, violations),
  ],
]);

/** Parses the configs of the plugins of this process. */
export const clusterSpecifiers: ClusterSpecifierParser = {
  isSupported: (configType) => plugins.has(configType),
  parseConfig(config, violations, policies) {
    const read = readExtension(config, violations);
    if (read === undefined) return undefined;
    const parsePolicies: ParsePolicies = (json) => policies.fromPlugin?.(json, violations);
    return plugins.get(read.typeName)?.(read, violations, parsePolicies);
  },
};

/**
 * Implements `registerClusterSpecifierPlugin` of the package. A later registration replaces an earlier one, and an application may
 * register its plugins before or after it calls `register`.
 */
export function registerClusterSpecifierPlugin(definition: ClusterSpecifierPluginDefinition): void {
  const types = definition.configTypes.map(typeNameOf);
  if (types.length === 0 || types.includes('')) {
    throw new XdsError(
      'XDS_OPTION_INVALID',
      'registerClusterSpecifierPlugin() needs configTypes that are names of types',
    );
  }
  const convert: Convert = (config, violations, parsePolicies) => {
    const toLbConfig = () => definition.toLbConfig(config);
    const converted = parseContained(toLbConfig, violations, 'the plugin');
    return converted && parsePolicies(converted.value);
  };
  for (const type of types) plugins.set(type, convert);
}
