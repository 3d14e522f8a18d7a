import { isLoadBalancerNameRegistered, parseLoadBalancingConfig } from '../../grpc-js';
import { errorMessage } from '../../util/error-message';
import { createPolicyType, isInstanceOf } from '../checked-policy';
import type { LbPolicyLookup, LbPolicyType } from '../lb-policy';
import { createGrpcJsPolicy } from './balancer';
import { GrpcJsConfig } from './config';

/** Finds the policies registered with grpc-js, so that those of other packages work in our trees. */
export const grpcJsPolicyLookup: LbPolicyLookup = {
  get: (policyName) => (isRegistered(policyName) ? createType(policyName) : undefined),
};

/** grpc-js looks names up in a plain object, and so takes `constructor` for the name of a policy. */
function isRegistered(policyName: string): boolean {
  return isLoadBalancerNameRegistered(policyName) && !(policyName in Object.prototype);
}

function createType(policyName: string): LbPolicyType {
  return createPolicyType({
    name: policyName,
    isConfig: isInstanceOf(GrpcJsConfig),
    parseConfig(json, violations) {
      if (typeof json !== 'object' || json === null) {
        violations.add('must be an object');
        return undefined;
      }
      try {
        return new GrpcJsConfig(policyName, parseLoadBalancingConfig({ [policyName]: json }));
      } catch (error) {
        violations.add(errorMessage(error));
        return undefined;
      }
    },
    create: createGrpcJsPolicy,
  });
}
