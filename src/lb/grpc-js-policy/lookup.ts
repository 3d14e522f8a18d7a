import { isLoadBalancerNameRegistered } from '../../grpc-js';
import type { LbPolicyLookup } from '../lb-policy';
import type * as GrpcJsPolicy from './balancer';

/** Finds the policies registered with grpc-js, such as those of other packages. */
export const grpcJsPolicyLookup: LbPolicyLookup = {
  get: (policyName) =>
    isRegistered(policyName) ? loadGrpcJsPolicy().createGrpcJsPolicyType(policyName) : undefined,
};

/** grpc-js looks up names in a plain object, in which `constructor` is registered as well. */
function isRegistered(policyName: string): boolean {
  return isLoadBalancerNameRegistered(policyName) && !(policyName in Object.prototype);
}

function loadGrpcJsPolicy(): typeof GrpcJsPolicy {
  // eslint-disable-next-line @typescript-eslint/no-require-imports, @typescript-eslint/no-unsafe-return -- loads a module on first use, without waiting; the type is that of the module
  return require('./balancer');
}
