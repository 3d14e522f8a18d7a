import type { ClusterSpecifierPlugin } from '../../wire/generated/envoy/config/route/v3/route_components';
import { quoteText } from '../../util/cut-text';
import type { Violations } from '../../util/violations';
import { readExtension } from '../shared/extension-parser';

/**
 * Returns the names of the plugins that routes may refer to. This client has no plugin: one that is not optional is a
 * violation, and routes that use an optional one are left out.
 */
export function parseClusterSpecifierPlugins(
  plugins: readonly ClusterSpecifierPlugin[],
  violations: Violations,
): ReadonlySet<string> {
  const names = new Set<string>();
  for (const [i, { extension, isOptional }] of plugins.entries()) {
    const at = violations.index(i).at('extension');
    if (extension === undefined) {
      at.add('field not present');
      continue;
    }
    const { name, typedConfig } = extension;
    if (names.has(name)) at.at('name').add(`duplicate name ${quoteText(name)}`);
    names.add(name);
    const config = readExtension(typedConfig, at.at('typed_config'));
    if (config !== undefined && !isOptional) {
      at.at('typed_config').add(`unsupported cluster specifier plugin ${config.typeName}`);
    }
  }
  return names;
}
