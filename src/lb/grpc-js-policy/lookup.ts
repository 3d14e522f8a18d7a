import { isLoadBalancerNameRegistered } from '../../grpc-js';
import type { LbPolicyLookup } from '../lb-policy';
import type * as GrpcJsPolicy from './balancer';
import { late } from '../../util/late';

const loadGrpcJsPolicy = late<typeof GrpcJsPolicy>(() => require('./balancer'));

/** Finds the policies registered with grpc-js, such as those of other packages. */
export const grpcJsPolicyLookup: LbPolicyLookup = {
  get: (policyName) =>
    isRegistered(policyName) ? loadGrpcJsPolicy().createGrpcJsPolicyType(policyName) : undefined,
};

/** grpc-js looks up names in a plain object, in which `constructor` is registered as well. */
function isRegistered(policyName: string): boolean {
  return isLoadBalancerNameRegistered(policyName) && !(policyName in Object.prototype);
}
