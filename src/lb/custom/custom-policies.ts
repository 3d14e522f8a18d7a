import type { LbPolicyRegistry } from '../registry/lb-policy-registry';
import { fixedPolicies } from '../registry/policy-table';
import type { LbPolicyDefinition } from './definition';
import type * as PolicyType from './balancer';
import type { LbPolicyType } from '../lb-policy';
import { lazy } from '../../util/lazy';
import { XdsError } from '../../util/xds-error';

const loadPolicyType = lazy<typeof PolicyType>(() => require('./balancer'));

/** The policies of the application, which are added to the registries that exist and those created later. */
export class CustomLbPolicies {
  private readonly types = new Map<string, LbPolicyType>();
  private readonly registries: LbPolicyRegistry[] = [];

  /** @throws XdsError if the name of the definition is empty, or that of a policy that cannot be replaced. */
  register<Config>(definition: LbPolicyDefinition<Config>): void {
    if (fixedPolicies.has(definition.name))
      throw new XdsError(
        'XDS_OPTION_INVALID',
        `registerLbPolicy(): ${definition.name} cannot be replaced`,
      );
    const type = loadPolicyType().createCustomPolicyType(definition);
    this.types.set(definition.name, type);
    for (const registry of this.registries) registry.register(type);
  }

  /** Adds the policies to a registry, including those registered later. */
  addTo(registry: LbPolicyRegistry): void {
    this.registries.push(registry);
    for (const type of this.types.values()) registry.register(type);
  }
}

/** The policies of this process. An application may register them before or after it calls `register`. */
export const processLbPolicies = new CustomLbPolicies();

/** Registers a policy of the application; see the function of that name of the package. */
export function registerLbPolicy<Config>(definition: LbPolicyDefinition<Config>): void {
  processLbPolicies.register(definition);
}
