import type { LoadBalancingPolicy } from '../../wire/generated/envoy/config/cluster/v3/cluster';
import { describeUnsupported } from '../../resources/cluster/cluster-lb-policy-parser';
import type { LbConfig, TypedBytes } from '../../resources/extension-points';
import { readExtension } from '../../resources/shared/extension-parser';
import { Violations } from '../../util/violations';
import type { JsonFields } from '../../util/json-fields';
import type { ConversionContext, LbChildParser } from '../lb-policy';

/**
 * Converts the first supported policy of a list. An error in it is a violation, even if a later policy is valid
 * (gRFC A52).
 *
 * @returns `undefined` after adding a violation.
 */
export function convertPolicyList(
  list: LoadBalancingPolicy,
  { parser, depth, violations }: ConversionContext,
): LbConfig | undefined {
  const unsupported: string[] = [];
  for (const [i, { typedExtensionConfig }] of list.policies.entries()) {
    const at = violations.at('policies').index(i).at('typed_extension_config');
    const typedConfig = typedExtensionConfig?.typedConfig;
    if (typedConfig === undefined) return at.at('typed_config').add('field not present');
    const config = parser.fromProto(typedConfig, depth, at.at('typed_config'));
    if (config !== 'unsupported') return config;
    unsupported.push(nameOf(typedConfig));
  }
  addUnsupported(unsupported, violations.at('policies'));
  return undefined;
}

/** Adds the violation of a list without a supported policy. @param names The names of the policies in the list. */
export function addUnsupported(names: readonly string[], violations: Violations): void {
  violations.add(describeUnsupported(names));
}

/** Returns the type name of a config; that of the content of a TypedStruct. */
function nameOf(config: TypedBytes): string {
  return readExtension(config, Violations.root())?.typeName ?? config.typeUrl;
}

/** Reads the field `childPolicy`; `undefined` after adding a violation, also if it is absent. */
export function readChildPolicy(
  fields: JsonFields,
  violations: Violations,
  parser: LbChildParser,
): LbConfig | undefined {
  return parser.parseList(fields.get('childPolicy'), violations.at('childPolicy'));
}
