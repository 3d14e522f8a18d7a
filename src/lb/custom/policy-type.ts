import { abandon, isPromiseLike } from '../../http-filters/call-filter';
import type { LbConfig } from '../../resources/extension-points';
import { errorMessage } from '../../util/error-message';
import type { Violations } from '../../util/violations';
import type { LbPolicyType } from '../lb-policy';
import type { LbConfigConverter } from '../registry/lb-config-converter';
import type { LbPolicyRegistry } from '../registry/lb-policy-registry';
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

function reasonsOf(error: unknown): readonly string[] {
  const isList = error instanceof AggregateError && error.errors.length > 0;
  return isList ? error.errors.map(errorMessage) : [errorMessage(error)];
}

/**
 * The policies above the endpoints. Their configs are created by each other, so that no other policy can replace them.
 */
const STRUCTURAL = new Set([
  'cds_experimental',
  'outlier_detection_experimental',
  'priority_experimental',
  'weighted_target_experimental',
  'xds_cluster_impl_experimental',
  'xds_cluster_manager_experimental',
  'xds_override_host_experimental',
  'xds_wrr_locality_experimental',
]);

/** The policies of the application, which are added to the registries that exist and those created later. */
export class CustomLbPolicies {
  private readonly types = new Map<string, CustomPolicyType>();
  private readonly registries: LbPolicyRegistry[] = [];

  /** @throws Error if the name of the definition is empty, or that of a policy that cannot be replaced. */
  register<Config>(definition: LbPolicyDefinition<Config>): void {
    if (STRUCTURAL.has(definition.name)) throw new Error(`${definition.name} cannot be replaced`);
    const type = createCustomPolicyType(definition);
    this.types.set(definition.name, type);
    for (const registry of this.registries) addType(registry, type);
  }

  /** Adds the policies to a registry, including those registered later. */
  addTo(registry: LbPolicyRegistry): void {
    this.registries.push(registry);
    for (const type of this.types.values()) addType(registry, type);
  }
}

function addType(registry: LbPolicyRegistry, { policy, converter }: CustomPolicyType): void {
  registry.register(policy);
  if (converter !== undefined) registry.registerConverter(converter);
}

/** The policies of this process. An application may register them before or after it calls `register`. */
export const processLbPolicies = new CustomLbPolicies();

/** Registers a policy of the application; see the function of that name of the package. */
export function registerLbPolicy<Config>(definition: LbPolicyDefinition<Config>): void {
  processLbPolicies.register(definition);
}
