import type { ExtensionConfig } from '../../resources/shared/extension-parser';
import { decodeMessage } from '../../resources/shared/any';
import { ok } from '../../util/result';
import type { Violations } from '../../util/violations';
import { RouteLookupClusterSpecifier } from '../../wire/generated/grpc/lookup/v1/rls_config';
import { CdsConfig } from '../cds/config';
import { RlsConfig, validateLookup, type TargetConfigs } from './config';

/** Children that use the cluster whose name the target is. */
const clusterTargets: TargetConfigs = {
  of: (target) => ok(new CdsConfig(target, true)),
  equals: (other) => other === clusterTargets,
};

/** Converts a RouteLookupClusterSpecifier; `undefined` after adding a violation. */
export function parseRlsPlugin(
  config: ExtensionConfig,
  violations: Violations,
): RlsConfig | undefined {
  if (config.kind === 'json')
    return violations.add(
      `must be a ${config.typeName} itself, not a TypedStruct that stands for one`,
    );
  const message = decodeMessage(RouteLookupClusterSpecifier, config.bytes, violations);
  if (message === undefined) return undefined;
  const at = violations.at('route_lookup_config');
  if (message.routeLookupConfig === undefined) return at.add('field not present');
  const lookup = validateLookup(message.routeLookupConfig, at);
  return lookup && new RlsConfig(lookup, clusterTargets);
}
