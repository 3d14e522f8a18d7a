import type { LoadBalancingPolicy } from '../../generated/envoy/config/cluster/v3/cluster';
import { Violations } from '../../util/violations';
import type { LbConfig, LbConfigParser, TypedBytes } from '../extension-points';
import { typeNameOf } from './any';
import { readExtension } from './extension-parser';

/**
 * Converts the first supported policy of a list (gRFC A52). An error in that one counts, even if a later one
 * would do.
 *
 * @param depth How many policies the list is nested in.
 * @returns `undefined` after adding a violation.
 */
export function parseLbPolicyList(
  { policies }: LoadBalancingPolicy,
  depth: number,
  lbConfigs: Pick<LbConfigParser, 'fromProto'>,
  violations: Violations,
): LbConfig | undefined {
  const policiesAt = violations.at('policies');
  const unsupported: string[] = [];
  for (const [i, { typedExtensionConfig }] of policies.entries()) {
    const at = policiesAt.index(i).at('typed_extension_config').at('typed_config');
    const typedConfig = typedExtensionConfig?.typedConfig;
    if (typedConfig === undefined) {
      at.add('field not present');
      return undefined;
    }
    const config = lbConfigs.fromProto(typedConfig, depth, at);
    if (config !== 'unsupported') return config;
    unsupported.push(nameOf(typedConfig));
  }
  policiesAt.add(
    unsupported.length === 0
      ? 'names no load-balancing policy'
      : `names no supported load-balancing policy, only ${unsupported.join(', ')}`,
  );
  return undefined;
}

/** What the policy is called, in a TypedStruct or as a message of its own. */
function nameOf(config: TypedBytes): string {
  return readExtension(config, Violations.root())?.typeName ?? typeNameOf(config.typeUrl);
}
