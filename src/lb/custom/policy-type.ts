import { abandon, isPromiseLike } from '../../http-filters/promise-like';
import type { LbConfig } from '../../resources/extension-points';
import { errorMessage } from '../../util/error-message';
import type { Violations } from '../../util/violations';
import { createPolicyType } from '../checked-policy';
import type { LbConfigConverter } from '../converters/lb-config-converter';
import type { LbPolicyType } from '../lb-policy';
import { CustomBalancer } from './balancer';
import { CustomConfig } from './config';
import type { LbPolicyConfigInput, LbPolicyDefinition } from './definition';

/** A policy of an application in the form the registry takes. */
export interface CustomPolicyType {
  readonly policy: LbPolicyType;
  /** `undefined` if no message configures the policy. */
  readonly converter: LbConfigConverter | undefined;
}

/**
 * Makes a policy out of its definition.
 *
 * @throws Error if it has no name, or a `messageType` that is none.
 */
export function createCustomPolicyType<Config>(
  definition: LbPolicyDefinition<Config>,
): CustomPolicyType {
  const { name, messageType } = definition;
  if (name === '') throw new Error('A load-balancing policy needs a name');
  if (messageType === '') throw new Error(`Load-balancing policy ${name}: messageType is empty`);
  const configs = new WeakSet<LbConfig>();
  const parse = (input: LbPolicyConfigInput, violations: Violations) => {
    try {
      const value = definition.parseConfig(input);
      if (isPromiseLike<unknown>(value)) {
        abandon(value);
        throw new Error('the policy must parse its config at once, not return a promise');
      }
      const config = new CustomConfig(name, value, input);
      configs.add(config);
      return config;
    } catch (error) {
      for (const reason of reasonsOf(error)) violations.add(reason === '' ? 'is invalid' : reason);
      return undefined;
    }
  };
  return {
    policy: createPolicyType({
      name,
      isConfig: (config): config is CustomConfig<Config> => configs.has(config),
      parseConfig: (json, violations) => parse({ kind: 'json', typeName: name, json }, violations),
      create: (host) => new CustomBalancer({ host, definition }),
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

function reasonsOf(error: unknown): readonly string[] {
  const isList = error instanceof AggregateError && error.errors.length > 0;
  return isList ? error.errors.map(errorMessage) : [errorMessage(error)];
}
