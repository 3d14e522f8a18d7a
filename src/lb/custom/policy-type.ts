import type { LbConfig } from '../../resources/extension-points';
import { parseContained } from '../../util/contained';
import type { Violations } from '../../util/violations';
import type { LbPolicyType } from '../lb-policy';
import type { LbConfigConverter } from '../registry/lb-config-converter';
import { createPolicyType } from '../tree/checked-policy';
import { CustomBalancer, CustomConfig } from './balancer';
import type { LbPolicyConfigInput, LbPolicyDefinition } from './definition';

/** A policy of an application, for the registry. */
export interface CustomPolicyType {
  readonly policy: LbPolicyType;
  /** `undefined` if the policy has no `messageType`. */
  readonly converter: LbConfigConverter | undefined;
}

/** Creates a policy from its definition. @throws Error if the name or the `messageType` is empty. */
export function createCustomPolicyType<Config>(
  definition: LbPolicyDefinition<Config>,
): CustomPolicyType {
  const { name, messageType } = definition;
  if (name === '') throw new Error('A load-balancing policy needs a name');
  if (messageType === '') throw new Error(`Load-balancing policy ${name}: messageType is empty`);
  const configs = new WeakSet<LbConfig>();
  const parse = (input: LbPolicyConfigInput, violations: Violations) => {
    const parsed = parseContained(() => definition.parseConfig(input), violations, 'the policy');
    if (parsed === undefined) return undefined;
    const config = new CustomConfig(name, parsed.value, input);
    configs.add(config);
    return config;
  };
  return {
    policy: createPolicyType({
      name,
      isConfig: (config): config is CustomConfig<Config> => configs.has(config),
      parseConfig: (json, violations) => parse({ kind: 'json', typeName: name, json }, violations),
      create: (host) => new CustomBalancer(host, definition),
    }),
    converter: messageType === undefined ? undefined : createConverter(messageType, parse),
  };
}

function createConverter(
  messageType: string,
  parse: (input: LbPolicyConfigInput, violations: Violations) => LbConfig | undefined,
): LbConfigConverter {
  return {
    messageType,
    convert: (bytes, { violations }) =>
      parse({ kind: 'message', typeName: messageType, bytes }, violations),
  };
}
