import { createCdsPolicyType } from '../cds/balancer';
import { createClusterImplPolicyType } from '../cluster-impl/balancer';
import { CallCounterMap } from '../cluster-impl/call-counter';
import { clusterManagerPolicy } from '../cluster-manager/balancer';
import { grpcJsPolicyLookup } from '../grpc-js-policy/lookup';
import type { LbPolicyType } from '../lb-policy';
import { outlierDetectionPolicies } from '../outlier-detection/balancer';
import { overrideHostPolicy } from '../override-host/balancer';
import { createPriorityPolicyType } from '../priority/balancer';
import { roundRobinPolicy } from '../round-robin/balancer';
import { roundRobinConverter } from '../round-robin/config';
import { weightedTargetPolicy } from '../weighted-target/balancer';
import { wrrLocalityPolicy } from '../wrr-locality/balancer';
import { wrrLocalityConverter } from '../wrr-locality/config';
import { latePolicies } from './late-policies';
import { LbPolicyRegistry } from './lb-policy-registry';
import type { PolicyEnvironment } from './policy-environment';

/** Creates the registry of the load-balancing policies of this package and the converters of their xDS configs. */
export function createPolicyRegistry(environment: PolicyEnvironment): LbPolicyRegistry {
  const late = latePolicies(environment);
  const lateConverters = late.flatMap(({ converter }) => converter ?? []);
  return new LbPolicyRegistry({
    policies: [...structure(environment), roundRobinPolicy, ...late.flatMap(({ types }) => types)],
    converters: [roundRobinConverter, wrrLocalityConverter, ...lateConverters],
    fallback: grpcJsPolicyLookup,
  });
}

/** Returns the policies above those that choose among endpoints. */
function structure({ clock, flags }: PolicyEnvironment): readonly LbPolicyType[] {
  return [
    clusterManagerPolicy,
    createCdsPolicyType({ flags }),
    createClusterImplPolicyType({ counters: new CallCounterMap(clock) }),
    createPriorityPolicyType({ flags }),
    wrrLocalityPolicy,
    weightedTargetPolicy,
    ...(flags.outlierDetection ? outlierDetectionPolicies : []),
    ...(flags.overrideHost ? [overrideHostPolicy] : []),
  ];
}
