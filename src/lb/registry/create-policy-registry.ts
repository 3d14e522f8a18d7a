import { createCdsPolicyType } from '../cds/balancer';
import { createClusterImplPolicyType } from '../cluster-impl/balancer';
import { CallCounterMap } from '../cluster-impl/circuit-breaker';
import { clusterManagerPolicy } from '../cluster-manager/balancer';
import { outlierDetectionPolicies } from '../outlier-detection/balancer';
import { overrideHostPolicy } from '../override-host/balancer';
import { createPriorityPolicyType } from '../priority/balancer';
import { roundRobinPolicy } from '../round-robin/balancer';
import { roundRobinConverter } from '../round-robin/config';
import { weightedTargetPolicy } from '../weighted-target/balancer';
import { wrrLocalityPolicy } from '../wrr-locality/balancer';
import { wrrLocalityConverter } from '../wrr-locality/config';
import { LbPolicyRegistry } from './lb-policy-registry';
import { createPolicies, type PolicyCode, type PolicyEnvironment } from './policy-table';
import { isLoadBalancerNameRegistered } from '../../grpc-js';
import type { LbPolicyLookup } from '../lb-policy';
import type * as GrpcJsPolicy from '../grpc-js-policy/balancer';
import { late } from '../../util/late';

/** The policies without which there is hardly a channel, by their first names. */
const loaded = new Map<string, (environment: PolicyEnvironment) => PolicyCode>([
  ['xds_cluster_manager_experimental', () => ({ types: [clusterManagerPolicy] })],
  ['cds_experimental', () => ({ types: [createCdsPolicyType()] })],
  [
    'xds_cluster_impl_experimental',
    ({ clock }) => ({
      types: [createClusterImplPolicyType({ counters: new CallCounterMap(clock) })],
    }),
  ],
  ['priority_experimental', ({ flags }) => ({ types: [createPriorityPolicyType({ flags })] })],
  [
    'xds_wrr_locality_experimental',
    () => ({ types: [wrrLocalityPolicy], converter: wrrLocalityConverter }),
  ],
  ['weighted_target_experimental', () => ({ types: [weightedTargetPolicy] })],
  ['outlier_detection_experimental', () => ({ types: outlierDetectionPolicies })],
  ['xds_override_host_experimental', () => ({ types: [overrideHostPolicy] })],
  ['round_robin', () => ({ types: [roundRobinPolicy], converter: roundRobinConverter })],
]);

/** Creates the registry of the load-balancing policies of this package and the converters of their xDS configs. */
export function createPolicyRegistry(environment: PolicyEnvironment): LbPolicyRegistry {
  return new LbPolicyRegistry({
    ...createPolicies(environment, loaded),
    fallback: grpcJsPolicyLookup,
  });
}

const loadGrpcJsPolicy = late<typeof GrpcJsPolicy>(() => require('../grpc-js-policy/balancer'));

/** Finds the policies registered with grpc-js, such as those of other packages. */
export const grpcJsPolicyLookup: LbPolicyLookup = {
  get: (policyName) =>
    isRegistered(policyName) ? loadGrpcJsPolicy().createGrpcJsPolicyType(policyName) : undefined,
};

/** grpc-js looks up names in a plain object, in which `constructor` is registered as well. */
function isRegistered(policyName: string): boolean {
  return isLoadBalancerNameRegistered(policyName) && !(policyName in Object.prototype);
}
