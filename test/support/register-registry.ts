import { DEFAULT_LIMITS } from '../../src/bootstrap/limits';
import { ConnectionAttempts } from '../../src/lb/connections/connection-attempts';
import { RegistryRoots, type SharedLbEnvironment } from '../../src/lb/tree/grpc-js-root';
import type { LbPolicyRegistry } from '../../src/lb/registry/lb-policy-registry';
import { registerLbPolicies } from '../../src/lb/registry/register-lb-policies';
import { TimeSlices } from '../../src/util/time-slices';

/** Makes the policies of a registry known to grpc-js. @returns The names that were taken. */
export function registerRegistry(
  registry: LbPolicyRegistry,
  shared: () => Omit<SharedLbEnvironment, 'connectionAttempts' | 'timeSlices'>,
): readonly string[] {
  const names = Array.from(registry.registered(), ({ name }) => name);
  return registerLbPolicies(names, () => {
    const environment = shared();
    const connectionAttempts = new ConnectionAttempts({ ...environment, ...DEFAULT_LIMITS });
    const timeSlices = new TimeSlices(environment.clock);
    return new RegistryRoots(registry, { ...environment, connectionAttempts, timeSlices });
  });
}
