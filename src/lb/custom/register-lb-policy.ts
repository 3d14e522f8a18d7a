import type { LbPolicyRegistry } from '../lb-policy-registry';
import type { LbPolicyDefinition } from './definition';
import { createCustomPolicyType, type CustomPolicyType } from './policy-type';

/**
 * The policies the tree itself is made of. Each takes configs that only the tree makes: in place of one of them, no
 * other policy could work.
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

/** The policies of the application, for the registries there are and those to come. */
export class CustomLbPolicies {
  private readonly types = new Map<string, CustomPolicyType>();
  private readonly registries: LbPolicyRegistry[] = [];

  /** @throws Error if the definition has no name, or that of a policy the tree is made of. */
  register<Config>(definition: LbPolicyDefinition<Config>): void {
    if (STRUCTURAL.has(definition.name)) throw new Error(`${definition.name} cannot be replaced`);
    const type = createCustomPolicyType(definition);
    this.types.set(definition.name, type);
    for (const registry of this.registries) addType(registry, type);
  }

  /** Adds the policies to the registry, and those registered from now on as well. */
  attach(registry: LbPolicyRegistry): void {
    this.registries.push(registry);
    for (const type of this.types.values()) addType(registry, type);
  }
}

function addType(registry: LbPolicyRegistry, { policy, converter }: CustomPolicyType): void {
  registry.register(policy);
  if (converter !== undefined) registry.registerConverter(converter);
}

/** The policies of this process. An application may bring them along before or after it calls `register`. */
export const processLbPolicies = new CustomLbPolicies();

/** See the function of that name of the package. */
export function registerLbPolicy<Config>(definition: LbPolicyDefinition<Config>): void {
  processLbPolicies.register(definition);
}
